"""``torch._subclasses``: fake tensors by name only; a tensor without values is on "meta"."""

from torchlike._subclasses import fake_tensor
from torchlike._subclasses.fake_tensor import FakeTensor, FakeTensorMode

__all__ = ["FakeTensor", "FakeTensorMode", "fake_tensor"]
