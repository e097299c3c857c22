"""torch.special: special functions.

It holds nothing: the functions are registered in ``_ops/special/``, and this file gives them their
place. Imports `_ops` alone.
"""

from torchlike import _ops as _ops
from torchlike._core.dispatch.registry import NAMESPACES as _NAMESPACES

globals().update(_NAMESPACES["special"], __all__=[*_NAMESPACES["special"]])
