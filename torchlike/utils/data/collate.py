"""Collation: a list of samples becomes one batch."""

from __future__ import annotations

import collections.abc
from typing import Any

import numpy as np

from torchlike.ops.creation import as_tensor, tensor
from torchlike.ops.joining import stack
from torchlike.storage import device_array
from torchlike.tensor import Tensor, wrap

_MISFIT = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def default_collate(batch: list[Any]) -> Any:
    """Stack samples: tensors and arrays along a new first dimension, numbers into a tensor, and
    dictionaries, tuples and lists element by element. TypeError for anything else."""
    first = batch[0]
    if isinstance(first, Tensor):
        return _stacked(batch)
    if isinstance(first, np.ndarray):
        if first.dtype.kind in "SUO":
            raise TypeError(_MISFIT.format(first.dtype))
        return as_tensor(np.stack(batch))
    if isinstance(first, np.generic):
        return as_tensor(np.array(batch))
    if isinstance(first, float):
        return tensor(np.array(batch, np.float64))
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, collections.abc.Mapping):
        merged = {key: default_collate([d[key] for d in batch]) for key in first}
        return type(first)(merged) if type(first) is not dict else merged  # type: ignore[call-arg]
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(list(s)) for s in zip(*batch, strict=True)))
    if isinstance(first, (tuple, list)):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return [default_collate(list(s)) for s in zip(*batch, strict=True)]
    raise TypeError(_MISFIT.format(type(first)))


def _stacked(batch: list[Tensor]) -> Tensor:
    """Many small tensors on the host are stacked by NumPy: one transfer, not one per sample."""
    if any(t.requires_grad for t in batch) or not all(t.is_cpu for t in batch):
        return stack(batch)
    first = batch[0]
    if any(t.shape != first.shape for t in batch):
        return stack(batch)  # raises, naming the shapes
    return wrap(device_array(np.stack([t._value("DataLoader") for t in batch])))


def default_convert(data: Any) -> Any:
    """NumPy arrays as tensors, in nested containers too; the rest as it is."""
    if isinstance(data, np.ndarray) and data.dtype.kind not in "SUO":
        return as_tensor(data)
    return data
