"""``torch.utils.data._utils.pin_memory``."""

from __future__ import annotations

from typing import Any

from torchlike._runtime.trees import flatten
from torchlike.tensor import Tensor

__all__ = ["pin_memory"]


def pin_memory(data: Any, device: Any = None) -> Any:
    """Return the batch itself: JAX manages transfers. RuntimeError for a tensor that is not on the
    CPU, as ``Tensor.pin_memory`` says."""
    for leaf in flatten(data)[0]:
        if isinstance(leaf, Tensor):
            leaf.pin_memory()
    return data
