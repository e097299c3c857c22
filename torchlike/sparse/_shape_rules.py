"""Tensors in coordinate form joined, cut and given another size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from torchlike._core import errors
from torchlike._core.dispatch.copying import check_expandable
from torchlike._core.dispatch.registry import NAMESPACES, composite
from torchlike._core.dispatch.schema import ints
from torchlike._core.tape import check_in_place
from torchlike._ops.creation.from_data import tensor as make_tensor
from torchlike._ops.shape.joining import cat
from torchlike.sparse._rule_table import rule
from torchlike.sparse._tensor import SparseTensor
from torchlike.tensor import Tensor, add_method

_torch = NAMESPACES[""]
_INSTEAD = "the operation outside the jit"


# -- joined ----------------------------------------------------------------------------------------


@rule("cat_op")
def _(tensors: Any, dim: int) -> SparseTensor:
    """Concatenate along a dimension. Raises RuntimeError for tensors that do not fit, and for dense
    ones among them."""
    first = tensors[0]
    for at, t in enumerate(tensors):
        if not isinstance(t, SparseTensor):
            raise RuntimeError(
                f"Concatenating sparse tensors, but a dense tensor was found at position {at}."
            )
        if t.sparse_dim() != first.sparse_dim() or t.dense_dim() != first.dense_dim():
            raise RuntimeError(
                "All tensors must have the same sparse_dim and dense_dim: "
                f"{first.sparse_dim()}, {first.dense_dim()}, but tensor at position {at} has "
                f"{t.sparse_dim()}, {t.dense_dim()}."
            )
    dim = errors.wrap_dim(dim, first.dim())
    rest = [(*t.shape[:dim], *t.shape[dim + 1 :]) for t in tensors]
    if len(set(rest)) > 1:
        at = next(i for i, r in enumerate(rest) if r != rest[0])
        raise RuntimeError(
            f"All tensors must have the same shape: {list(first.shape)} (except in the "
            f"concatenating dimension), but found shape: {list(tensors[at].shape)} at position "
            f"{at}."
        )
    size = [*first.shape]
    size[dim] = sum(t.shape[dim] for t in tensors)
    n = first.sparse_dim()
    places, values, start = [], [], 0
    for t in tensors:
        at, held = t._at, t._held
        if dim < n:
            at = at.clone()
            at[dim] += start
        else:
            d = dim - n + 1
            before, behind = (list(held.shape) for _ in range(2))
            before[d], behind[d] = start, size[dim] - start - t.shape[dim]
            held = cat([held.new_zeros(before), held, held.new_zeros(behind)], d)
        start += t.shape[dim]
        places.append(at)
        values.append(held)
    return SparseTensor(cat(places, 1), cat(values), size, False)


@rule("stack")
def _(tensors: Any, dim: int) -> SparseTensor:
    """Stack along a new dimension."""
    first: Any = tensors[0]
    if any(tuple(t.shape) != tuple(first.shape) for t in tensors):
        raise RuntimeError("stack expects each tensor to be equal size")
    at = errors.wrap_dim(dim, first.dim() + 1)
    joined: Any = cat([t.unsqueeze(at) for t in tensors], at)
    return joined


@composite("_sparse_broadcast_to", method=False)
def broadcast_sparse(input: Any, size: Any) -> SparseTensor:
    """Broadcast a sparse tensor to a size: sparse in the dimensions that come before its own.
    Raises RuntimeError for a size that it does not fit, and under a jit where elements are
    repeated."""
    shape = ints(size)
    check_expandable(tuple(input.shape), shape)
    n, lead = input.sparse_dim(), len(shape) - input.dim()
    held = input._held
    wanted = (held.shape[0], *shape[lead + n :])
    held = held if tuple(held.shape) == wanted else held.expand(wanted)
    before = (1,) * lead + tuple(input.shape[:n])
    repeats = [a if b != a else 1 for a, b in zip(shape[: lead + n], before, strict=True)]
    known = input._at._value("_sparse_broadcast_to", _INSTEAD)
    at = np.concatenate([np.zeros((lead, held.shape[0]), np.int64), known])
    times = math.prod(repeats)
    if times == 1:
        return SparseTensor(make_tensor(at), held, shape, input.is_coalesced())
    # Each element stands once for every place along the dimensions that are broadcast.
    offsets = np.indices(repeats).reshape(len(repeats), 1, times)
    whole = (at[:, :, None] + offsets).reshape(len(at), -1)
    values = held.repeat_interleave(times, 0)
    made = SparseTensor(make_tensor(whole.astype(np.int64)), values, shape, False)
    return made.coalesce() if input.is_coalesced() else made


# -- cut -------------------------------------------------------------------------------------------


@rule("index_select")
def _(input: SparseTensor, dim: int, index: Any) -> SparseTensor:
    """Select indices of a dimension. Raises JitCaptureError under a jit for a dimension with
    indices: how many elements there are depends on values."""
    d, n = errors.wrap_dim(dim, input.dim()), input.sparse_dim()
    size = [*input.shape]
    size[d] = index.numel()
    if d >= n:
        values = input._held.index_select(d - n + 1, index)
        return SparseTensor(input._at, values, size, input.is_coalesced())
    wanted = index._value("index_select", _INSTEAD).reshape(-1)
    length = input.shape[d]
    outside = wanted[(wanted < -length) | (wanted >= length)]
    if outside.size:
        raise IndexError(
            f"index_select(): index contains {outside[0]} that is out of range for tensor of size "
            f"{list(input.shape)} at dimension {d}"
        )
    wanted = np.where(wanted < 0, wanted + length, wanted)
    here = input._at[d]._value("index_select", _INSTEAD)
    order = np.argsort(here, kind="stable")
    begins = np.searchsorted(here[order], wanted)
    counts = np.searchsorted(here[order], wanted, side="right") - begins
    to = np.repeat(np.arange(wanted.size), counts)
    chosen = order[np.arange(to.size) + np.repeat(begins - (np.cumsum(counts) - counts), counts)]
    return _chosen(input, d, chosen, to, size, False)


def _chosen(
    input: SparseTensor, dim: int, chosen: np.ndarray, to: np.ndarray, size: Any, coalesced: bool
) -> SparseTensor:
    """Return some of the elements, with new indices along a dimension."""
    where = make_tensor(chosen.astype(np.int64))
    at = input._at[:, where]
    at[dim] = make_tensor(to.astype(np.int64))
    return SparseTensor(at, input._held[where], size, coalesced)


def _narrow_copy(input: SparseTensor, dim: int, start: int, length: int) -> SparseTensor:
    """Return ``length`` indices of a dimension from ``start`` on. Raises RuntimeError out of
    range."""
    if not 0 <= dim < input.dim():
        raise RuntimeError(f"Dimension {dim} out of range. Expecting 0 <= dim < {input.dim()}.")
    d, n = dim, input.sparse_dim()
    begin = start + input.shape[d] if start < 0 else start
    if length < 0 or begin < 0 or begin + length > input.shape[d]:
        raise RuntimeError(
            f"Invalid dimension size. start ({start}) + length ({length}) exceeds dimension size "
            f"({input.shape[d]})"
        )
    size = [*input.shape]
    size[d] = length
    if d >= n:
        held = input._held.narrow(d - n + 1, begin, length).clone()
        return SparseTensor(input._at.clone(), held, size, input.is_coalesced())
    here = input._at[d]._value("narrow_copy", _INSTEAD)
    chosen = np.flatnonzero((here >= begin) & (here < begin + length))
    return _chosen(input, d, chosen, here[chosen] - begin, size, input.is_coalesced())


# -- another size ----------------------------------------------------------------------------------


def _sparse_resize_(self: SparseTensor, size: Any, sparse_dim: int, dense_dim: int) -> SparseTensor:
    """Resize in place, with the elements there are. Raises RuntimeError where they would not fit.

    Differs from PyTorch: values grow by zeros behind them in each dense dimension. PyTorch moves
    them, in the order of their memory, to other places, and the rest is what memory holds.
    """
    shape = ints(size)
    if sparse_dim + dense_dim != len(shape):
        raise RuntimeError(
            "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = "
            f"{len(shape)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}"
        )
    if self._nnz():
        _check_resized(self, shape, sparse_dim, dense_dim)
        held = self._held
        if tuple(held.shape[1:]) != shape[sparse_dim:]:
            held = _enlarged(held, (held.shape[0], *shape[sparse_dim:]))
        made = SparseTensor(self._at, held, shape, self.is_coalesced())
    else:
        made = _without_elements(self, shape, sparse_dim)
    return _become(self, made)


def _check_resized(t: SparseTensor, shape: tuple[int, ...], sparse: int, dense: int) -> None:
    for name, before, after in (
        ("sparse", t.sparse_dim(), sparse),
        ("dense", t.dense_dim(), dense),
    ):
        if before != after:
            raise RuntimeError(
                f"changing the number of {name} dimensions (from {before} to {after}) on a "
                "non-empty sparse tensor is not supported."
            )
    n = t.sparse_dim()
    for name, before, after in (
        ("sparse", t.shape[:n], shape[:n]),
        ("dense", t.shape[n:], shape[n:]),
    ):
        if any(b < a for a, b in zip(before, after, strict=True)):
            raise RuntimeError(
                f"shrinking the size of {name} dimensions (from {list(before)} to {list(after)}) "
                "on a non-empty sparse tensor is not supported."
            )


def _enlarged(held: Tensor, size: tuple[int, ...]) -> Any:
    """Extend values with zeros behind them in dense dimensions."""
    whole = held.new_zeros(size)
    whole[tuple(slice(n) for n in held.shape)] = held
    return whole


def _sparse_resize_and_clear_(
    self: SparseTensor, size: Any, sparse_dim: int, dense_dim: int
) -> SparseTensor:
    """Resize in place and remove all elements. Raises RuntimeError for sizes that do not fit each
    other."""
    shape = ints(size)
    if sparse_dim + dense_dim != len(shape):
        raise RuntimeError(
            "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = "
            f"{len(shape)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}"
        )
    return _become(self, _without_elements(self, shape, sparse_dim))


def _resize_as_sparse_(self: SparseTensor, the_template: Any) -> SparseTensor:
    """Resize in place to the size of another tensor in coordinate form."""
    return _sparse_resize_(
        self, the_template.shape, the_template.sparse_dim(), the_template.dense_dim()
    )


def _without_elements(like: SparseTensor, shape: tuple[int, ...], sparse_dim: int) -> SparseTensor:
    at = like._at.new_empty((sparse_dim, 0))
    return SparseTensor(at, like._held.new_empty((0, *shape[sparse_dim:])), shape, True)


def _copy_(self: SparseTensor, source: Any, non_blocking: Any = False) -> SparseTensor:
    """Take over indices, values and size of another sparse tensor. RuntimeError for a dense one,
    and where the elements there are would not fit."""
    if not isinstance(source, SparseTensor):
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found self type = "
            f"{self.type()} and src type = {source.type()}"
        )
    if self._nnz() and source is not self:
        _check_resized(self, tuple(source.shape), source.sparse_dim(), source.dense_dim())
    return _become(self, source.clone().to(self.dtype))


def _become(t: SparseTensor, other: SparseTensor) -> SparseTensor:
    check_in_place(t)
    t._storage.write(other._storage.cell)
    return t


for _name, _method in (
    ("copy_", _copy_),
    ("narrow_copy", _narrow_copy),
    ("sparse_resize_", _sparse_resize_),
    ("sparse_resize_and_clear_", _sparse_resize_and_clear_),
    ("resize_as_sparse_", _resize_as_sparse_),
    ("resize_as_", _resize_as_sparse_),
):
    add_method(_name, _method, SparseTensor)
