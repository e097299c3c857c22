"""``torch.utils.dlpack``: arrays shared with other libraries."""

from __future__ import annotations

from typing import Any

from torchlike._ops import functions
from torchlike.tensor import Tensor

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """Return the tensor's memory as a capsule (a versioned one, which says that it may be
    written)."""
    return tensor.__dlpack__(max_version=(1, 0))


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: Any = None) -> Tensor:
    """Make a tensor of what another library offers (an object with ``__dlpack__``, or a
    capsule)."""
    return functions.from_dlpack(ext_tensor, device=device, copy=copy)
