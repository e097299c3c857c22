"""torch.linalg: linear algebra: decompositions, solvers, norms.

It holds nothing: the functions are registered in ``_ops/linalg/``, and this file gives them their
place. Imports `_ops` alone.
"""

from torchlike import _ops as _ops
from torchlike._core.dispatch.registry import NAMESPACES as _NAMESPACES

globals().update(_NAMESPACES["linalg"])
