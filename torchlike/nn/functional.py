"""``torch.nn.functional``: every function that the op families registered for it."""

from collections.abc import Callable
from typing import Any

from torchlike import _ops as _ops
from torchlike._dispatch import registry as _registry
from torchlike._ops.linalg.low_bit import ScalingType as ScalingType
from torchlike._ops.linalg.low_bit import SwizzleType as SwizzleType
from torchlike.nn import grad as grad  # as PyTorch's has it

globals().update(_registry.NAMESPACES["nn.functional"])
#: As graphs name it.
_threshold = _registry.NAMESPACES["nn.functional"]["threshold"]


def __getattr__(name: str) -> Callable[..., Any]:
    raise AttributeError(f"module 'torchlike.nn.functional' has no attribute '{name}'")
