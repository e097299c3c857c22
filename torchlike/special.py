"""torch.special: special functions."""

from torchlike import ops as _ops  # noqa: F401 - registers the functions
from torchlike.dispatch.registry import NAMESPACES as _NAMESPACES

globals().update(_NAMESPACES["special"])
