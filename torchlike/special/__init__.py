"""torch.special: special functions."""

from torchlike import _ops as _ops
from torchlike._core.dispatch.registry import NAMESPACES as _NAMESPACES

globals().update(_NAMESPACES["special"], __all__=[*_NAMESPACES["special"]])
