"""Views, parts and joins of ragged tensors."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from torchlike._core import errors
from torchlike._core.layouts import contiguous_format
from torchlike.nested._internal.nested_tensor import NestedTensor
from torchlike.nested._internal.rules.table import (
    raggedness_matches,
    regular_dim,
    require_contiguous,
    rule,
    torch,
)
from torchlike.tensor import Tensor


def _ints(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return sizes that were given one by one, or as one sequence, as one tuple."""
    return tuple(given[0]) if len(given) == 1 and isinstance(given[0], (tuple, list)) else given


# -- parts -----------------------------------------------------------------------------------------


@rule("unbind")
def unbind(func: Any, input: NestedTensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Return the parts, views of the values. Raises RuntimeError along another dimension, and for
    offsets that do not fit."""
    if dim != 0:
        raise RuntimeError("unbind(): only supported for NestedTensor on dim=0")
    at, values = input._ragged_idx - 1, input.values()
    total = values.shape[at]
    offsets, sizes = input.places()
    if any(
        n < 0 or start < 0 or start + n > total for start, n in zip(offsets, sizes, strict=True)
    ):
        raise RuntimeError(
            "unbind(): nested tensor offsets and lengths do not match ragged_idx dimension"
        )
    return tuple(
        torch["narrow"](values, at, start, n) for start, n in zip(offsets, sizes, strict=True)
    )


@rule("select")
def select(func: Callable[..., Any], input: NestedTensor, dim: int, index: int) -> Tensor:
    """Select a part of the batch, or one index in each part."""
    wrapped = errors.wrap_dim(dim, input.dim())
    if wrapped == 0:
        return unbind(func, input)[index]
    at = regular_dim(input, dim, "select")
    if input._lengths is not None:
        raise ValueError(
            "select(): not yet supported on dim != 0 for non-contiguous nested tensor with holes"
        )
    return input._like(
        func(input._held, at, index), input._ragged_idx - (wrapped < input._ragged_idx)
    )


@rule("narrow")
def narrow(func: Callable[..., Any], input: Any, dim: int, start: Any, length: Any) -> Tensor:
    at = regular_dim(require_contiguous(input, "narrow"), dim, "narrow")
    return input._with(func(input._held, at, start, length))


@rule("__getitem__")
def getitem(func: Callable[..., Any], input: NestedTensor, index: Any) -> Tensor:
    """Index by integers, slices of regular dimensions, None and an ellipsis."""
    given = list(index) if isinstance(index, tuple) else [index]
    if any(isinstance(i, (Tensor, list)) for i in given):
        raise NotImplementedError("a nested tensor is indexed by numbers and slices: use values()")
    if Ellipsis in given:
        at = given.index(Ellipsis)
        rest = sum(i is not None for i in given) - 1
        given[at : at + 1] = [slice(None)] * (input.dim() - rest)
    found: Any = input
    dim = 0
    for i in given:
        if i is None:
            add = unsqueeze if isinstance(found, NestedTensor) else _called
            found, dim = add(torch["unsqueeze"], found, dim), dim + 1
        elif isinstance(i, slice):
            if i != slice(None):
                if not isinstance(found, NestedTensor):
                    found = found[(slice(None),) * dim + (i,)]
                else:
                    inner = regular_dim(require_contiguous(found, "slice"), dim, "slice")
                    found = found._with(found._held[(slice(None),) * inner + (i,)])  # type: ignore[index]
            dim += 1
        elif isinstance(found, NestedTensor):
            found = select(torch["select"], found, dim, i)
        else:
            found = found.select(dim, i)
    return found


def _called(func: Callable[..., Any], input: Any, dim: int) -> Any:
    return func(input, dim)


@rule("diff")
def diff(func: Callable[..., Any], input: Any, n: int = 1, dim: int = -1, **ends: Any) -> Tensor:
    """Compute differences along a regular dimension, without ``prepend`` and ``append``."""
    if any(end is not None for end in ends.values()):
        raise NotImplementedError("diff(prepend=, append=) of a nested tensor: use its values()")
    at = regular_dim(require_contiguous(input, "diff"), dim, "diff")
    return input._with(func(input._held, n, at))


@rule("tensor_split")
def tensor_split(func: Callable[..., Any], input: Any, parts: Any, dim: int = 0) -> Any:
    at = regular_dim(require_contiguous(input, "tensor_split"), dim, "tensor_split")
    return tuple(input._with(t) for t in func(input._held, parts, at))


@rule("dsplit")
def dsplit(func: Callable[..., Any], input: Any, parts: Any) -> Any:
    return tensor_split(torch["tensor_split"], input, parts, 2)


@rule("split", "split_with_sizes")
def split(
    func: Callable[..., Any], input: Any, sizes: Any = None, dim: int = 0, **kwargs: Any
) -> Any:
    given = kwargs.get("split_size", kwargs.get("split_sizes", sizes))
    named = "split_with_sizes" if isinstance(given, (tuple, list)) else "split"
    at = regular_dim(require_contiguous(input, named), dim, named)
    return tuple(input._with(t) for t in func(input._held, given, at))


@rule("chunk")
def chunk(func: Callable[..., Any], input: Any, chunks: int, dim: int = 0) -> Any:
    """Split into chunks: along the batch the parts are dealt out; else each part is cut."""
    require_contiguous(input, "chunk")
    if errors.wrap_dim(dim, input.dim()) != 0:
        at = regular_dim(input, dim, "chunk")
        return tuple(input._with(t) for t in func(input._held, chunks, at))
    found, start = [], 0
    sizes = input.places()[1]
    for lengths in func(input.all_lengths(), chunks):
        ends = lengths.cumsum(0)
        offsets = torch["cat"]([ends.new_zeros(1), ends])
        own, sizes = sizes[: lengths.shape[0]], sizes[lengths.shape[0] :]
        n = sum(own)
        found.append(NestedTensor(input.values()[start : start + n], offsets))  # type: ignore[index]
        start += n
    return tuple(found)


# -- dimensions ------------------------------------------------------------------------------------


@rule("transpose", "swapaxes", "swapdims")
def transpose(func: Callable[..., Any], input: NestedTensor, dim0: int, dim1: int) -> Tensor:
    """Swap two dimensions: the ragged one may go anywhere but to the batch's place."""
    pair = [errors.wrap_dim(d, input.dim()) for d in (dim0, dim1)]
    at = input._ragged_idx
    if at in pair:
        if 0 in pair:
            raise ValueError("Transpose is not supported on the batch dimension for jagged NT")
        moved = input._held.transpose(pair[0] - 1, pair[1] - 1)  # type: ignore[attr-defined]
        return input._like(moved, pair[1] if pair[0] == at else pair[0])
    a, b = (regular_dim(input, d, "transpose") for d in pair)
    return input._with(func(input._held, a, b))


@rule("adjoint")
def adjoint(func: Callable[..., Any], input: NestedTensor) -> Tensor:
    """Swap the last two dimensions and conjugate."""
    swapped = transpose(torch["transpose"], input, -2, -1)
    return swapped._with(swapped._held.conj()) if input.is_complex() else swapped  # type: ignore[attr-defined]


@rule("movedim", "moveaxis")
def movedim(func: Callable[..., Any], input: NestedTensor, source: Any, destination: Any) -> Tensor:
    """Move dimensions to new places, the others keeping their order."""
    froms, tos = ([d] if isinstance(d, int) else [*d] for d in (source, destination))
    froms, tos = ([errors.wrap_dim(d, input.dim()) for d in ds] for ds in (froms, tos))
    placed = dict(zip(tos, froms, strict=True))
    rest = iter([d for d in range(input.dim()) if d not in froms])
    order = [placed[d] if d in placed else next(rest) for d in range(input.dim())]
    return permute(torch["permute"], input, order)


@rule("atleast_1d", "atleast_2d", "atleast_3d")
def atleast(func: Callable[..., Any], *tensors: Any) -> Any:
    """Return the tensors as they are: a nested tensor has two dimensions or more. Raises
    NotImplementedError for a third one."""
    for t in tensors:
        if isinstance(t, NestedTensor) and t.dim() < int(func.__name__[-2]):
            raise NotImplementedError(
                f"{func.__name__}() of a nested tensor with {t.dim()} dimensions"
            )
    return tensors[0] if len(tensors) == 1 else tensors


@rule("permute")
def permute(func: Callable[..., Any], input: NestedTensor, *dims: Any) -> Tensor:
    given = _ints(dims)
    if len(given) != input.dim():
        raise ValueError(
            f"permute(): number of dimensions in the tensor input ({input.dim()}) does not match "
            f"the length of the desired ordering of dimensions ({len(given)})."
        )
    order = [errors.wrap_dim(d, input.dim()) for d in given]
    if len(set(order)) != len(order):
        raise ValueError("permute(): duplicate dims are not allowed.")
    if input._lengths is not None:
        raise ValueError("permute(): not supported on jagged layout nested tensor with holes")
    if order[0] != 0:
        raise ValueError("Permute is not supported on the batch dimension for jagged NT")
    moved = func(input._held, [d - 1 for d in order[1:]])
    return input._like(moved, order.index(input._ragged_idx))


@rule("unsqueeze")
def unsqueeze(func: Callable[..., Any], input: NestedTensor, dim: int) -> Tensor:
    at = regular_dim(input, dim, "unsqueeze", 1)
    return input._like(func(input._held, at), input._ragged_idx + (at < input._ragged_idx))


@rule("squeeze")
def squeeze(func: Callable[..., Any], input: Any, dim: Any = None) -> Tensor:
    if dim is None:
        raise NotImplementedError("squeeze() of a nested tensor takes a dimension")
    at = regular_dim(require_contiguous(input, "squeeze"), dim, "squeeze")
    return input._with(func(input._held, at))


@rule("view", "reshape", "_unsafe_view")
def view(func: Callable[..., Any], input: NestedTensor, *size: Any, **kwargs: Any) -> Tensor:
    """View regular dimensions anew; the batch and the ragged one stay. Raises RuntimeError
    otherwise."""
    shape = _ints(size or (kwargs.get("size", kwargs.get("shape")),))
    if input._ragged_idx != 1 and tuple(input.shape) != tuple(shape):
        raise RuntimeError(
            f"view(): does not support ragged_idx != 1 except when inp._size == size. inp._size is "
            f"({tuple(input.shape)}) and size is ({list(shape)})."
        )
    if len(shape) < 3 or not raggedness_matches(input, shape):
        raise RuntimeError(f"view(): cannot view shape {tuple(input.shape)} as {list(shape)}")
    at = input._ragged_idx - 1
    inner = [input._held.shape[d] if d == at else n for d, n in enumerate(shape[1:])]
    return input._with(func(input._held, inner))


@rule("view_as", "reshape_as")
def view_as(func: Callable[..., Any], input: NestedTensor, other: Any) -> Tensor:
    return view(torch["reshape"], input, tuple(other.shape))


@rule("flatten")
def flatten(func: Any, input: NestedTensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Join regular dimensions."""
    for d in (start_dim, end_dim):
        regular_dim(input, d, "flatten")
    first, last = (errors.wrap_dim(d, input.dim()) for d in (start_dim, end_dim))
    if first == last:
        return input
    joined = functools.reduce(operator.mul, input.shape[first : last + 1])
    size = (*input.shape[:first], joined, *input.shape[last + 1 :])
    return view(torch["reshape"], input, size)


@rule("unflatten")
def unflatten(
    func: Callable[..., Any], input: NestedTensor, dim: int, sizes: Sequence[int]
) -> Tensor:
    """Split a regular dimension into several."""
    at = regular_dim(input, dim, "unflatten")
    more = len(sizes) - 1 if at < input._ragged_idx - 1 else 0
    return input._like(func(input._held, at, sizes), input._ragged_idx + more)


@rule("expand", "broadcast_to")
def expand(func: Callable[..., Any], input: NestedTensor, *size: Any) -> Tensor:
    shape = _ints(size)
    if not raggedness_matches(input, shape):
        raise RuntimeError(f"expand(): cannot expand shape {tuple(input.shape)} -> {list(shape)}")
    inner = [-1 if d == input._ragged_idx else shape[d] for d in range(1, input.dim())]
    return input._with(func(input._held, inner))


@rule("expand_as")
def expand_as(func: Callable[..., Any], input: Any, other: Any) -> Tensor:
    if isinstance(input, NestedTensor):
        return expand(torch["broadcast_to"], input, tuple(other.shape))
    require_contiguous(other, "expand_as", "other")
    return other._with(func(input, other._held))


# -- joins and copies ------------------------------------------------------------------------------


@rule("cat")
def cat(func: Callable[..., Any], tensors: Any, dim: int = 0) -> Tensor:
    """Concatenate along a regular dimension; dense tensors are expanded."""
    first = next(t for t in tensors if isinstance(t, NestedTensor))
    at = regular_dim(first, dim, "cat")
    parts = [t._held if isinstance(t, NestedTensor) else t.expand_as(first._held) for t in tensors]
    if not all(raggedness_matches(first, t.shape) for t in tensors if isinstance(t, NestedTensor)):
        raise RuntimeError("cat(): expected all nested tensors to have the same nested structure")
    return first._with(func(parts, at))


@rule("stack")
def stack(func: Callable[..., Any], tensors: Any, dim: int = 0) -> Tensor:
    """Stack tensors that are divided alike along a new regular dimension."""
    first = tensors[0]
    for t in tensors:
        if not isinstance(t, NestedTensor):
            raise RuntimeError("stack(): expected all nested tensors inputs")
        if t.dim() != first.dim():
            raise RuntimeError("stack(): expected all nested tensors to have the same dim")
        if not raggedness_matches(t, first.shape):
            raise RuntimeError(
                "stack(): expected all nested tensors to have the same nested structure"
            )
    wrapped = errors.wrap_dim(dim, first.dim() + 1)
    if wrapped == first._ragged_idx:
        raise RuntimeError("stack(): not supported for NestedTensor on ragged dim")
    at = regular_dim(first, dim, "stack", 1)
    joined = func([t._held for t in tensors], at)
    return first._like(joined, first._ragged_idx + (at < first._ragged_idx - 1))


@rule("clone")
def clone(func: Callable[..., Any], input: NestedTensor, *, memory_format: Any = None) -> Tensor:
    """Return a copy; with ``contiguous_format`` one without holes."""
    if input._lengths is None or memory_format is not contiguous_format:
        return input._with(func(input._held, memory_format=memory_format))
    if input._ragged_idx != 1:
        raise AssertionError("NJT with ragged_idx != 1 not supported for contiguous clone")
    return joined(unbind(None, input), 1)


@rule("contiguous")
def contiguous(func: Callable[..., Any], input: NestedTensor, memory_format: Any = None) -> Tensor:
    """Return the tensor itself, or a copy without holes."""
    if input.is_contiguous():
        return input
    if input._lengths is not None:
        return clone(torch["clone"], input, memory_format=contiguous_format)
    return input._with(input._held.contiguous())  # type: ignore[attr-defined]


def joined(tensors: Sequence[Any], ragged_idx: int, offsets: Tensor | None = None) -> NestedTensor:
    """Join tensors as the parts of one that is ragged along a dimension."""
    sizes = [t.shape[ragged_idx - 1] for t in tensors]
    values = torch["cat"](list(tensors), ragged_idx - 1)
    ends = torch["tensor"]([0, *sizes]).cumsum(0) if offsets is None else offsets
    return NestedTensor(
        values,
        ends,
        _ragged_idx=ragged_idx,
        _metadata_cache={"min_seqlen": min(sizes), "max_seqlen": max(sizes)},
    )
