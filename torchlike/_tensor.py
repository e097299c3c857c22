"""``torch._tensor``: where PyTorch keeps the class ``Tensor``."""

from torchlike._core.tensor import Tensor

__all__ = ["Tensor"]
