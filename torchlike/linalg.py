"""torch.linalg: linear algebra: decompositions, solvers, norms."""

from torchlike import ops as _ops  # noqa: F401 - registers the functions
from torchlike.dispatch.registry import NAMESPACES as _NAMESPACES

globals().update(_NAMESPACES["linalg"])
