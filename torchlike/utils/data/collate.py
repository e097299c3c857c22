"""Collation: a list of samples becomes one batch."""

from __future__ import annotations

import copy
from collections import abc
from collections.abc import Callable
from typing import Any

import numpy as np

from torchlike._core.storage import host_value
from torchlike._ops.creation.from_data import as_tensor, tensor
from torchlike._ops.shape.joining import stack
from torchlike.tensor import Tensor, wrap

_MISFIT = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def collate(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Collate samples into a batch: by the function that ``collate_fn_map`` has for the first one's
    type (or a base of it), called with the batch and ``collate_fn_map=``; mappings and sequences
    element by element. TypeError for anything else."""
    first = batch[0]
    table = {} if collate_fn_map is None else collate_fn_map
    function = table.get(type(first))
    if function is None:
        function = next((f for kind, f in table.items() if isinstance(first, kind)), None)
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, abc.Mapping):
        found = {key: collate([d[key] for d in batch], collate_fn_map=table) for key in first}
        return _mapping_like(first, found)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        parts = [collate(s, collate_fn_map=table) for s in zip(*batch, strict=True)]
        return type(first)(*parts)
    if isinstance(first, abc.Sequence) and not isinstance(first, (str, bytes)):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = [collate(s, collate_fn_map=table) for s in zip(*batch, strict=True)]
        return _sequence_like(first, parts)
    raise TypeError(_MISFIT.format(type(first)))


def default_collate(batch: Any) -> Any:
    """Stack samples: tensors and arrays along a new first dimension, numbers into a tensor, and
    mappings and sequences element by element. Strings stay as they are; a tuple becomes a list.
    TypeError for anything else."""
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Stack arrays along a new first dimension, as a tensor; strings and objects are refused
    (TypeError)."""
    first = batch[0]
    if first.dtype.kind in "SUO":
        raise TypeError(_MISFIT.format(first.dtype))
    if all(type(a) is np.ndarray and a.shape == first.shape for a in batch):
        return as_tensor(_together(batch))
    return stack([as_tensor(a) for a in batch])  # raises, naming what does not fit


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Turn NumPy's numbers into a tensor."""
    return as_tensor(np.array(batch))


def collate_float_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Turn Python's floats into a tensor, float64."""
    return tensor(np.array(batch, np.float64))


def collate_int_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Turn Python's integers into a tensor."""
    return tensor(list(batch))


def collate_str_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Return strings as they are."""
    return batch


def _mapping_like(model: Any, values: dict[Any, Any]) -> Any:
    """Return a mapping of the model's type with other values; what else the model holds is kept
    where it can be copied and changed (a defaultdict's factory). The result is a plain dictionary
    where it cannot be made.
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
    """Return a sequence of the model's type, as _mapping_like does; a list for a tuple or a
    range."""
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


def collate_tensor_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    """Stack tensors along a new first dimension. Many small ones on the host are stacked by NumPy:
    one transfer, not one per sample."""
    first = batch[0]
    if not all(isinstance(t, Tensor) and t.shape == first.shape for t in batch):
        return stack(batch)  # raises, naming what does not fit
    if any(t.requires_grad or not t.is_cpu or t.dtype is not first.dtype for t in batch):
        return stack(batch)
    return wrap(host_value(_together([t._value("DataLoader") for t in batch])))


#: In a worker process: leases a block of memory that it shares with the process that reads batches.
allocate: Callable[[int], Any] | None = None
#: Batches below this are sent, not shared.
_LEAST_SHARED = 1 << 14


def _together(arrays: list[np.ndarray]) -> np.ndarray:
    """Stack arrays of one shape along a new first dimension."""
    first = arrays[0]
    nbytes = first.nbytes * len(arrays)
    if allocate is None or nbytes < _LEAST_SHARED or any(a.dtype != first.dtype for a in arrays):
        return np.stack(arrays)
    return np.stack(arrays, out=allocate(nbytes).array(first.dtype, (len(arrays), *first.shape)))


#: Type -> how its samples become a batch; users add their own. NumPy's float64 and bool come before
#: Python's, whose subclasses they may be.
default_collate_fn_map: dict[Any, Any] = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_convert(data: Any) -> Any:
    """Convert NumPy's arrays and numbers to tensors, in nested containers too; the rest is returned
    as it is."""
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
