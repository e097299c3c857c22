"""A batch cut into microbatches, and what the microbatches gave put together again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike._ops.shape.joining import cat
from torchlike._ops.shape.views.splitting import tensor_split
from torchlike._runtime.trees import flatten, tree_map, unflatten
from torchlike.tensor import Tensor


class TensorChunkSpec:
    """Along which dimension a tensor is cut."""

    def __init__(self, split_dim: int) -> None:
        self.split_dim = split_dim

    def __repr__(self) -> str:
        return f"torch.distributed.pipelining.microbatch.TensorChunkSpec({self.split_dim})"

    def __str__(self) -> str:
        return f"TensorChunkSpec({self.split_dim})"

    @staticmethod
    def from_tuple(chunk_dims: tuple[int, ...]) -> Any:
        """Return a spec for each positional argument."""
        return tree_map(TensorChunkSpec, chunk_dims)

    @staticmethod
    def from_dict(chunk_dims: dict[str, int]) -> Any:
        """Return a spec for each keyword argument."""
        return tree_map(TensorChunkSpec, chunk_dims)


class _Replicate:
    """Each microbatch gets the whole value."""


class _CustomReducer:
    """How an output of microbatches becomes one value: folded from ``init_value``."""

    def __init__(self, init_value: Any, reduce_fn: Callable[[Any, Any], Any]) -> None:
        self.init_value, self.reduce_fn = init_value, reduce_fn


def split_tensor(tensor: Tensor, dim: int, chunks: int) -> list[Tensor]:
    """Split a tensor in ``chunks`` parts along a dimension, the first ones larger where it does not
    divide. AssertionError where the dimension is smaller than that."""
    if tensor.size(dim) < chunks:
        raise AssertionError(f"Tensor size {tensor.size(dim)} is smaller than num_chunks")
    return list(tensor_split(tensor, chunks, dim))


def _default(value: Any) -> Any:
    return TensorChunkSpec(0) if isinstance(value, Tensor) else _Replicate()


def _is_whole(spec: Any) -> bool:
    return spec is _Replicate or isinstance(spec, _Replicate)


def split_args_kwargs_into_chunks(
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    chunks: int,
    args_chunk_spec: Any = None,
    kwargs_chunk_spec: Any = None,
) -> tuple[list[tuple[Any, ...]], list[dict[str, Any]]]:
    """Return the arguments of each microbatch. Tensors are cut along dimension 0 where nothing else
    is said, other values are given to each; fewer microbatches where a tensor is too small.

    Raises:
        AssertionError: the specs are not as many as the arguments.
        ValueError: a spec does not fit its value.
    """
    given = (args, kwargs or {})
    default = tree_map(_default, given)
    spec = (
        default[0] if args_chunk_spec is None else tuple(args_chunk_spec),
        default[1] if kwargs_chunk_spec is None else dict(kwargs_chunk_spec),
    )
    if len(spec[0]) != len(args) or spec[1].keys() != given[1].keys():
        raise AssertionError(
            f"args_dict.keys() = {[*range(len(args)), *given[1]]} "
            f"args_chunk_spec.keys() = {[*range(len(spec[0])), *spec[1]]}"
        )
    values, structure = flatten(given)
    specs, _ = flatten(spec)
    if len(specs) != len(values):
        raise AssertionError(f"{len(values)} values in the arguments, {len(specs)} chunk specs")
    count = chunks
    for value, one in zip(values, specs, strict=True):
        if _is_whole(one):
            continue
        if not (isinstance(value, Tensor) and isinstance(one, TensorChunkSpec)):
            raise ValueError(f"Unsupported chunk spec: {one} and value: {value} combination.")
        count = min(count, value.size(one.split_dim))
    columns = [
        [value] * count if _is_whole(one) else split_tensor(value, one.split_dim, count)
        for value, one in zip(values, specs, strict=True)
    ]
    made = [unflatten(structure, [column[i] for column in columns]) for i in range(count)]
    return [a for a, _ in made], [k for _, k in made]


def merge_chunks(chunks: list[Any], chunk_spec: Any) -> Any:
    """Merge the outputs of microbatches into one: tensors joined along the spec's dimension (0
    where there is no spec), others as they are. AssertionError where they do not agree."""
    columns = list(zip(*(flatten(chunk)[0] for chunk in chunks), strict=True))
    if chunk_spec is None:
        structure = flatten(chunks[0])[1]
        specs: list[Any] = [TensorChunkSpec(0)] * len(columns)
    else:
        specs, structure = flatten(chunk_spec)
    if len(specs) != len(columns):
        raise ValueError(f"Chunk {chunks[0]} did not match chunk spec {chunk_spec}")
    return unflatten(structure, [_merged(c, s) for c, s in zip(columns, specs, strict=True)])


def _merged(values: tuple[Any, ...], spec: Any) -> Any:
    if isinstance(spec, _CustomReducer):
        total = spec.init_value
        for value in values:
            total = spec.reduce_fn(total, value)
        return total
    if isinstance(spec, TensorChunkSpec) and isinstance(values[0], Tensor):
        return cat(list(values), spec.split_dim)
    for value in values[1:]:
        if value is not values[0] and value != values[0]:
            raise AssertionError(f"Expected {values[0]}, got {value}")
    return values[0]


def check_is_cut(
    args: tuple[Any, ...], kwargs: dict[str, Any], target: Any, cut: dict[str, Any], n: int
) -> None:
    """Check a batch that the caller has cut into ``n``: ``cut`` has lists by names of arguments,
    or None.

    Raises:
        ValueError: a part of the batch is given whole as well, or in another number of parts.
        TypeError: what is given is no list, or its parts are no tuples or dictionaries.
    """
    if args:
        raise ValueError(
            "When using pre-split inputs, pass pre-split positional inputs through arg_mbs=... "
            "instead of positional args."
        )
    if kwargs:
        raise ValueError(
            f"Unexpected keyword arguments with pre-split inputs: {', '.join(sorted(kwargs))}. "
            "Pass pre-split keyword inputs through kwarg_mbs=..."
        )
    if target is not None:
        raise ValueError(
            "When using pre-split inputs, pass pre-split targets through target_mbs=... instead of "
            "target=..."
        )
    for name, parts in cut.items():
        if parts is None:
            continue
        if not isinstance(parts, list):
            raise TypeError(f"{name} must be a list but got a {type(parts)}")
        if len(parts) != n:
            raise ValueError(f"Expecting {n} {name} but got {len(parts)}")
    for name, kind in (("arg_mbs", tuple), ("kwarg_mbs", dict)):
        for i, part in enumerate(cut[name] or ()):
            if not isinstance(part, kind):
                raise TypeError(
                    f"{name} must be a list of {kind.__name__}s, but {name}[{i}] is a {type(part)}"
                )
