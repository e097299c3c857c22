"""``torch._C._functorch``: what is inside the tensors of a running transform."""

from __future__ import annotations

from typing import Any

from torchlike._extensions.boxes import BOXES as _BOXES
from torchlike._extensions.boxes import Batched as _Batched
from torchlike._functorch.batch_dims import _add_batch_dim, _remove_batch_dim
from torchlike.tensor import Tensor

__all__ = [
    "_add_batch_dim",
    "_remove_batch_dim",
    "get_unwrapped",
    "is_batchedtensor",
    "is_functorch_wrapped_tensor",
    "is_legacy_batchedtensor",
]


def is_batchedtensor(tensor: Tensor) -> bool:
    """Return whether a running ``vmap`` has a value of the tensor for each example."""
    held = tensor._read()
    return type(held) is _Batched and held.batched


def is_legacy_batchedtensor(tensor: Tensor) -> bool:
    """Return False: there is no second ``vmap``."""
    return False


def is_functorch_wrapped_tensor(tensor: Tensor) -> bool:
    """Return whether the tensor belongs to a running transform of ``torch.func``."""
    return type(tensor._read()) in _BOXES


def get_unwrapped(tensor: Tensor) -> Any:
    """Return the tensor one level below. RuntimeError when it belongs to no transform."""
    held = tensor._read()
    if type(held) not in _BOXES:
        raise RuntimeError("No wrappers present!")
    return held.value
