"""``torch._subclasses``: fake tensors, which have a size, a dtype and a device, and no values."""

from torchlike._subclasses import fake_tensor
from torchlike._subclasses.fake_tensor import (
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedFakeTensorException,
)

CrossRefFakeMode = FakeTensorMode

__all__ = [
    "CrossRefFakeMode",
    "DynamicOutputShapeException",
    "FakeTensor",
    "FakeTensorMode",
    "UnsupportedFakeTensorException",
    "fake_tensor",
]
