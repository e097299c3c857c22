"""Reductions: within parts, along the ragged dimension, or over everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike._core import dtypes, errors
from torchlike._runtime.function_objects import name_of
from torchlike.nested._internal.nested_tensor import NestedTensor
from torchlike.nested._internal.rules.padding import to_padded
from torchlike.nested._internal.rules.table import inner_dim, rule, sums_of_parts
from torchlike.tensor import Tensor


def _lowest(input: NestedTensor) -> float:
    dtype = input.dtype
    if dtype is dtypes.bool:
        return 0
    return dtypes.finfo(dtype).min if dtype.category >= 2 else dtypes.iinfo(dtype).min


def _highest(input: NestedTensor) -> float:
    dtype = input.dtype
    if dtype is dtypes.bool:
        return 1
    return dtypes.finfo(dtype).max if dtype.category >= 2 else dtypes.iinfo(dtype).max


#: What stands beyond the end of a part.
_IDENTITIES: dict[str, Callable[[NestedTensor], Any]] = {
    "sum": lambda input: 0,
    "prod": lambda input: 1,
    "any": lambda input: False,
    "all": lambda input: True,
    "max": _lowest,
    "amax": _lowest,
    "argmax": _lowest,
    "min": _highest,
    "amin": _highest,
    "argmin": _highest,
}
_MEANING = "reducing along the batch dimension but not the ragged dimension is not supported for "


def each(result: Any, change: Callable[[Tensor], Any]) -> Any:
    """Apply ``change`` to the tensors of a result."""
    if isinstance(result, tuple):
        parts = [change(r) for r in result]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    return change(result)


def _summed(input: NestedTensor, keepdim: bool, **options: Any) -> Any:
    """Sum each part, from the values: nothing is padded."""
    at = input._ragged_idx
    values: Any = input._held.movedim(at - 1, 0)  # type: ignore[attr-defined]
    if options.get("dtype") is not None:
        values = values.to(options["dtype"])
    elif values.dtype.category < 2:
        values = values.long()
    totals = sums_of_parts(input, values)
    return totals.unsqueeze(1).movedim(1, at) if keepdim else totals


@rule("sum", "prod", "any", "all", "max", "min", "amax", "amin", "argmax", "argmin")
def reduce(func: Callable[..., Any], input: NestedTensor, *args: Any, **kwargs: Any) -> Any:
    """Reduce over dimensions. Raises RuntimeError, in PyTorch's words, for those that leave no
    tensor of this kind."""
    name = name_of(func)
    dim, keepdim, options = _arguments(args, kwargs)
    if isinstance(dim, Tensor):
        raise NotImplementedError(f"{name}() of a nested tensor and another: use maximum, minimum")
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        found = func(input._held, **options)
        return each(found, lambda t: t.unsqueeze(input._ragged_idx)) if keepdim else found
    outer, inner = _dims(input, dim)
    along = input._ragged_idx in outer
    if along and input._lengths is not None:
        raise RuntimeError(
            f"{name}(): reducing across the ragged dimension is not supported for non-contiguous "
            "nested tensors with holes"
        )
    asked: Any = inner if isinstance(dim, (tuple, list)) else inner[0]
    if along and 0 in outer:
        found = func(input._held, asked, keepdim=keepdim, **options)
        return each(found, lambda t: t.unsqueeze(0)) if keepdim else found
    if along:
        if len(outer) > 1:
            raise RuntimeError(
                f"{name}(): reducing along a ragged and non-batch dimension is not supported for "
                "nested tensors"
            )
        if name == "sum":
            return _summed(input, keepdim, **options)
        padded = to_padded(input, _IDENTITIES[name](input), input._get_max_seqlen())
        at: Any = [input._ragged_idx] if isinstance(dim, (tuple, list)) else input._ragged_idx
        return func(padded, at, keepdim=keepdim, **options)
    if 0 in outer:
        raise RuntimeError(f"{name}(): {_MEANING}nested tensors")
    found = func(input._held, asked, keepdim=keepdim, **options)
    return each(found, lambda t: input._like(t, _left(input, inner, keepdim)))


def _arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, bool, dict[str, Any]]:
    options = dict(kwargs)
    dim = args[0] if args else options.pop("dim", options.pop("axis", None))
    keepdim = args[1] if len(args) > 1 else options.pop("keepdim", False)
    if options.get("dtype") is None:
        options.pop("dtype", None)
    return dim, bool(keepdim), options


def _dims(input: NestedTensor, dim: Any) -> tuple[list[int], list[int]]:
    """Return the given dimensions of the tensor, and the values' dimensions for them, each once."""
    given = dim if isinstance(dim, (tuple, list)) else (dim,)
    outer = [errors.wrap_dim(d, input.dim()) for d in given]
    return outer, list(dict.fromkeys(inner_dim(input, d) for d in outer))


def _left(input: NestedTensor, inner: list[int], keepdim: bool) -> int:
    """Return which dimension is ragged once some of the values' dimensions are gone."""
    at = input._ragged_idx
    return at if keepdim else at - sum(d < at - 1 for d in inner)


@rule("mean")
def mean(func: Callable[..., Any], input: NestedTensor, *args: Any, **kwargs: Any) -> Any:
    """Compute the mean; along the ragged dimension each part's sum is divided by its length."""
    dim, keepdim, options = _arguments(args, kwargs)
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        found = func(input._held, **options)
        return found.unsqueeze(input._ragged_idx) if keepdim else found
    outer, inner = _dims(input, dim)
    if input._ragged_idx not in outer:
        if 0 in outer:
            raise RuntimeError(f"mean(): {_MEANING}nested tensors")
        found = func(input._held, inner, keepdim=keepdim, **options)
        return input._like(found, _left(input, inner, keepdim))
    if input._lengths is not None:
        raise RuntimeError(
            "mean(): reducing across the ragged dimension is not supported for non-contiguous "
            "nested tensors with holes"
        )
    if 0 in outer:
        found = func(input._held, inner, keepdim=keepdim, **options)
        return found.unsqueeze(0) if keepdim else found
    if len(outer) > 1:
        raise AssertionError(
            "Cannot reduce on both ragged and non-batch dimensions without also reducing on batch"
        )
    total = _summed(input, True, **options)
    lengths: Any = input.all_lengths()
    divided = total / lengths.reshape(-1, *[1] * (total.dim() - 1))
    return divided if keepdim else divided.squeeze(input._ragged_idx)


@rule("equal")
def equal(func: Callable[..., Any], input: Any, other: Any) -> bool:
    """Return whether both have the same size and values."""
    if not (isinstance(input, NestedTensor) and isinstance(other, NestedTensor)):
        raise NotImplementedError("equal() of a nested and a dense tensor: compare their values()")
    same = tuple(input.shape) == tuple(other.shape)
    return same and func(input._held, other._held)


@rule("is_same_size")
def is_same_size(func: Any, input: NestedTensor, other: Any) -> bool:
    """Return whether both have the same size, ragged dimensions by their offsets."""
    return tuple(input.shape) == tuple(other.shape)
