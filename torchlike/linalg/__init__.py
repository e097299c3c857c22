"""torch.linalg: linear algebra: decompositions, solvers, norms."""

from torchlike import _ops as _ops
from torchlike._core.dispatch.registry import NAMESPACES as _NAMESPACES

globals().update(_NAMESPACES["linalg"])
