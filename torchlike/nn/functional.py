"""``torch.nn.functional``: every function that the op families registered for it."""

from collections.abc import Callable
from typing import Any

from torchlike import _ops as _ops
from torchlike._core.dispatch import registry as _registry
from torchlike._ops.linalg.low_bit import ScalingType as ScalingType
from torchlike._ops.linalg.low_bit import SwizzleType as SwizzleType
from torchlike._ops.nn.attention.multihead import _canonical_mask as _canonical_mask
from torchlike._ops.nn.attention.multihead import _in_projection as _in_projection
from torchlike._ops.nn.attention.multihead import _in_projection_packed as _in_projection_packed
from torchlike._ops.nn.attention.multihead import _mha_shape_check as _mha_shape_check
from torchlike._ops.nn.attention.multihead import _none_or_dtype as _none_or_dtype
from torchlike._runtime.lazy import LazyModule as _LazyModule
from torchlike.nn import _reduction as _Reduction  # noqa: F401
from torchlike.nn import grad as grad  # as PyTorch's has it

globals().update(_registry.NAMESPACES["nn.functional"])
#: As graphs name it.
_threshold = _registry.NAMESPACES["nn.functional"]["threshold"]


#: Imported when it is asked, since it lets functions ask classes and modes.
_overrides = _LazyModule("torchlike.overrides")


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith(("has_torch_function", "handle_torch_function")):
        return getattr(_overrides, name)
    raise AttributeError(f"module 'torchlike.nn.functional' has no attribute '{name}'")
