"""Values put into ragged tensors at indices, and new tensors beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike._core import modes
from torchlike.nested._internal.nested_tensor import NestedTensor
from torchlike.nested._internal.rules.padding import from_padded, to_padded
from torchlike.nested._internal.rules.shapes import expand_as, getitem
from torchlike.nested._internal.rules.table import require_contiguous, rule, torch
from torchlike.tensor import Tensor


@rule("index_put", "index_put_")
def index_put(
    func: Callable[..., Any],
    input: NestedTensor,
    indices: Any,
    values: Tensor,
    accumulate: Any = False,
) -> NestedTensor:
    """Write at indices of the batch and further dimensions. Those of the ragged one count within
    each part.

    IndexError (eagerly) for one that is not in its part.
    """
    at = input._ragged_idx
    in_place = func.__name__.endswith("_")
    if len(indices) <= at:
        require_contiguous(input, "index_put")
        padded = to_padded(input, 0, input._get_max_seqlen())
        padded = padded.index_put(tuple(indices), values, accumulate)
        found = from_padded(padded, input._offsets, at, input._held.shape[at - 1])
        if not in_place:
            return input._with(found)
        input._held.copy_(found)  # type: ignore[attr-defined]
        return input
    n, lengths = input.shape[0], input.all_lengths()
    batch: Any = torch["where"](indices[0] < 0, indices[0] + n, indices[0])
    own: Any = lengths[batch]  # type: ignore[index]
    place: Any = torch["where"](indices[at] < 0, indices[at] + own, indices[at])
    if not modes.is_capturing() and bool(((place < 0) | (place >= own)).any()):
        raise IndexError("index_put(): an index in the ragged dimension is not in its part")
    offsets: Any = input._offsets
    inner = (*indices[1:at], offsets[:-1][batch] + place, *indices[at + 1 :])
    found = func(input._held, inner, values, accumulate)
    return input if in_place else input._with(found)


@rule("__setitem__")
def setitem(func: Callable[..., Any], input: NestedTensor, index: Any, value: Any) -> None:
    """Write at tensors of indices, at a mask divided as the tensor is, or at numbers and slices."""
    if isinstance(index, NestedTensor):
        func(input._held, index._held, value._held if isinstance(value, NestedTensor) else value)
        return
    given = index if isinstance(index, tuple) else (index,)
    if any(isinstance(i, Tensor) for i in given):
        if not all(isinstance(i, Tensor) for i in given):
            raise NotImplementedError(
                "a nested tensor is written by tensors of indices alone, or by numbers and slices"
            )
        found = value if isinstance(value, Tensor) else torch["tensor"](value, dtype=input.dtype)
        index_put(Tensor.index_put_, input, given, found)  # type: ignore[attr-defined]
        return
    part: Any = getitem(torch["select"], input, index)
    if isinstance(value, (int, float, bool, complex)):
        part.fill_(value)
    else:
        part.copy_(value)


@rule("broadcast_tensors")
def broadcast_tensors(func: Callable[..., Any], *tensors: Any) -> list[Any]:
    """Expand dense tensors to the first nested one's size."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    first = next(t for t in given if isinstance(t, NestedTensor))
    return [
        t if isinstance(t, NestedTensor) else expand_as(torch["expand"], t, first) for t in given
    ]


@rule("new_empty", "new_zeros", "new_ones", "new_full", "new_tensor")
def new(func: Callable[..., Any], input: NestedTensor, *args: Any, **kwargs: Any) -> Tensor:
    """Return a dense tensor of the values' dtype and device. Raises RuntimeError for a ragged
    size."""
    return func(input._held, *args, **kwargs)


@rule("type")
def of_type(func: Callable[..., Any], input: NestedTensor, dtype: Any = None, **kwargs: Any) -> Any:
    """Return the name of the tensor's class, or the tensor in another dtype."""
    return func(input) if dtype is None else input.to(dtype)
