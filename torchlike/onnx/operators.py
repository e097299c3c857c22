"""``torch.onnx.operators``: shapes as tensors."""

from __future__ import annotations

from collections.abc import Sequence

from torchlike._core.dispatch.registry import NAMESPACES
from torchlike.tensor import Tensor


def shape_as_tensor(x: Tensor) -> Tensor:
    """Return the sizes of a tensor, int64."""
    return NAMESPACES[""]["tensor"](list(x.shape))


def reshape_from_tensor_shape(x: Tensor, shape: Sequence[int]) -> Tensor:
    """Do ``x.reshape`` to sizes that a tensor holds."""
    sizes = shape.tolist() if isinstance(shape, Tensor) else list(shape)
    return x.reshape(sizes)
