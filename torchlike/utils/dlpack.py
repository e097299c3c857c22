"""``torch.utils.dlpack``: arrays shared with other libraries."""

from __future__ import annotations

from typing import Any

from torchlike import functions
from torchlike.tensor import Tensor

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """The tensor's array as a capsule."""
    return tensor.__dlpack__()


def from_dlpack(ext_tensor: Any) -> Tensor:
    """A tensor of what another library offers (an object with ``__dlpack__``)."""
    return functions.from_dlpack(ext_tensor)
