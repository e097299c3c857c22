"""Collation: a list of samples becomes one batch."""

from __future__ import annotations

import copy
from collections import abc
from typing import Any

import numpy as np

from torchlike.ops.creation import as_tensor, tensor
from torchlike.ops.joining import stack
from torchlike.storage import device_array
from torchlike.tensor import Tensor, wrap

_MISFIT = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def default_collate(batch: Any) -> Any:
    """Stack samples: tensors and arrays along a new first dimension, numbers into a tensor, and
    mappings and sequences element by element. Strings stay as they are; a tuple becomes a list.
    TypeError for anything else."""
    first = batch[0]
    if isinstance(first, Tensor):
        return _stacked(batch)
    if isinstance(first, np.ndarray):
        if first.dtype.kind in "SUO":
            raise TypeError(_MISFIT.format(first.dtype))
        if all(type(a) is np.ndarray and a.shape == first.shape for a in batch):
            return as_tensor(np.stack(batch))
        return stack([as_tensor(a) for a in batch])  # raises, naming what does not fit
    if isinstance(first, (np.bool_, np.number)):
        return as_tensor(np.array(batch))
    if isinstance(first, float):
        return tensor(np.array(batch, np.float64))
    if isinstance(first, int):
        return tensor(list(batch))
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, abc.Mapping):
        return _mapping_like(
            first, {key: default_collate([d[key] for d in batch]) for key in first}
        )
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*map(default_collate, zip(*batch, strict=True)))
    if isinstance(first, abc.Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return _sequence_like(first, [default_collate(s) for s in zip(*batch, strict=True)])
    raise TypeError(_MISFIT.format(type(first)))


def _mapping_like(model: Any, values: dict[Any, Any]) -> Any:
    """A mapping of the model's type with other values; what else the model holds is kept where it
    can be copied and changed (a defaultdict's factory). A plain dictionary where it cannot be made.
    """
    if type(model) is dict:
        return values
    try:
        if not isinstance(model, abc.MutableMapping):
            return type(model)(values)  # type: ignore[call-arg]
        made = copy.copy(model)
        made.update(values)
        return made
    except TypeError:
        return values


def _sequence_like(model: Any, values: list[Any]) -> Any:
    """A sequence of the model's type, as _mapping_like; a list for a tuple or a range."""
    if type(model) is list or isinstance(model, tuple):
        return values
    try:
        if not isinstance(model, abc.MutableSequence):
            return type(model)(values)  # type: ignore[call-arg]
        made = copy.copy(model)
        for i, value in enumerate(values):
            made[i] = value
        return made
    except TypeError:
        return values


def _stacked(batch: Any) -> Tensor:
    """Many small tensors on the host are stacked by NumPy: one transfer, not one per sample."""
    first = batch[0]
    if not all(isinstance(t, Tensor) and t.shape == first.shape for t in batch):
        return stack(batch)  # raises, naming what does not fit
    if any(t.requires_grad or not t.is_cpu or t.dtype is not first.dtype for t in batch):
        return stack(batch)
    return wrap(device_array(np.stack([t._value("DataLoader") for t in batch])))


def default_convert(data: Any) -> Any:
    """NumPy's arrays and numbers as tensors, in nested containers too; the rest as it is."""
    if isinstance(data, np.ndarray):
        return data if data.dtype.kind in "SUO" else as_tensor(data)
    if isinstance(data, np.generic) and not isinstance(data, np.str_):
        return as_tensor(np.asarray(data))
    if isinstance(data, (Tensor, str, bytes)):
        return data
    if isinstance(data, abc.Mapping):
        return _mapping_like(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, abc.Sequence):
        return _sequence_like(data, [default_convert(d) for d in data])
    return data
