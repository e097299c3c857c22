"""What a call of ``vmap`` does: it takes the mapped dimension away, and gives it to the results.

The three steps are functions of PyTorch's names and arguments, looked up in this module at each
call. tensordict puts others in their place, which take apart its dictionaries.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

from torchlike._core import modes
from torchlike._extensions.boxed import VmapLevel
from torchlike._functorch.batch_dims import _add_batch_dim as _add_batch_dim  # for libraries
from torchlike._functorch.batch_dims import _remove_batch_dim, one_example, same_for_all, whole
from torchlike._ops.shape.joining import cat
from torchlike.random.generator import accelerators, default_generator
from torchlike.tensor import Tensor
from torchlike.utils._pytree import (
    TreeSpec,
    _broadcast_to_and_flatten,
    tree_flatten,
    tree_leaves,
    tree_structure,
    tree_unflatten,
)

__all__ = ["Tensor", "tree_flatten", "tree_unflatten", "vmap_impl"]


def vmap_impl(
    func: Callable[..., Any],
    in_dims: Any,
    out_dims: Any,
    randomness: str,
    chunk_size: int | None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Call ``vmap(func, in_dims, out_dims, randomness, chunk_size=chunk_size)`` once."""
    _check_out_dims_is_int_or_int_pytree(out_dims, func)
    size, dims, flat_args, spec = _process_batched_inputs(in_dims, args, func)
    if chunk_size is None or chunk_size >= size:
        return _flat_vmap(func, size, dims, flat_args, spec, out_dims, randomness, **kwargs)
    chunks = []
    again = _drawing_again() if randomness == "same" else None
    for start in range(0, size, chunk_size):
        if again is not None:
            again()
        n = min(chunk_size, size - start)
        part = [
            x if d is None else x.narrow(d, start, n) for x, d in zip(flat_args, dims, strict=True)
        ]
        chunks.append(_flat_vmap(func, n, dims, part, spec, out_dims, randomness, **kwargs))
    return _joined(chunks, out_dims, func)


def _flat_vmap(
    func: Callable[..., Any],
    batch_size: int,
    flat_in_dims: list[int | None],
    flat_args: list[Any],
    args_spec: Any,
    out_dims: Any,
    randomness: str,
    **kwargs: Any,
) -> Any:
    """Run the function once over all examples."""
    level = VmapLevel(batch_size, randomness)
    with level:
        number = level.depth + 1
        args = _create_batched_inputs(flat_in_dims, flat_args, number, args_spec)
        outputs = func(*args, **kwargs)
        results = _unwrap_batched(outputs, out_dims, number, batch_size, func)
        written = [(x, d, whole(level, t)) for x, d, t in level.entered if t._storage.version]
    for x, dim, value in written:  # in place: so is the user's tensor
        x.movedim(dim, 0).copy_(value)
    return results


def _drawing_again() -> Callable[[], Any]:
    """Return a function that resets the default generators to their present states, so that they
    draw the same numbers once more."""
    modes.running_capture().refuse('vmap(randomness="same") in chunks', "chunk_size=None")
    state, on_accelerators = default_generator.get_state(), accelerators.states()

    def reset() -> None:
        default_generator.set_state(state)
        accelerators.restore(on_accelerators)

    return reset


def _get_name(func: Callable[..., Any]) -> str:
    """Return the name of a function for errors."""
    if hasattr(func, "__name__"):
        return func.__name__
    if isinstance(func, functools.partial):
        return f"functools.partial({_get_name(func.func)}, ...)"
    return repr(func)


# -- arguments -------------------------------------------------------------------------------------


def _process_batched_inputs(
    in_dims: Any, args: tuple[Any, ...], func: Callable[..., Any]
) -> tuple[int, list[int | None], list[Any], Any]:
    """Return how many examples there are, the mapped dimension of each leaf of the arguments
    counted from the front, the leaves, and their structure. Raises ValueError in PyTorch's words
    for what does not fit."""
    where = f"vmap({_get_name(func)}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{where}: expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({_get_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or "
            "you are trying to vmap over a function with no inputs. The latter is unsupported."
        )
    flat_args, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{where}: in_dims is not compatible with the structure of `inputs`. in_dims has "
            f"structure {tree_structure(in_dims)} but inputs has structure {spec}."
        )
    found = [_checked_dim(where, dim, x) for dim, x in zip(dims, flat_args, strict=True)]
    return _validate_and_get_batch_size(found, flat_args), found, flat_args, spec


def _checked_dim(where: str, dim: Any, x: Any) -> int | None:
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(
            f"{where}: Got in_dim={dim} for an input but in_dim must be either an integer "
            "dimension or None."
        )
    if not isinstance(x, Tensor):
        raise ValueError(
            f"{where}: Got in_dim={dim} for an input but the input is of type {type(x)}. We "
            "cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
        )
    n = x.dim()
    if not -n <= dim < n:
        raise ValueError(
            f"{where}: Got in_dim={dim} for some input, but that input is a Tensor of "
            f"dimensionality {n} so expected in_dim to satisfy -{n} <= in_dim < {n}."
        )
    return dim % n


def _validate_and_get_batch_size(dims: list[int | None], flat_args: list[Any]) -> int:
    """Return how many examples there are. Raises ValueError for none, or for different numbers of
    them."""
    sizes = [x.shape[d] for x, d in zip(flat_args, dims, strict=True) if d is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(s != sizes[0] for s in sizes):
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return sizes[0]


def _create_batched_inputs(
    flat_in_dims: list[int | None], flat_args: list[Any], vmap_level: int, args_spec: Any
) -> Any:
    """Return the arguments as the function gets them: one example of each mapped tensor."""
    return tree_unflatten(
        [
            x if d is None else one_example(x, d, vmap_level)
            for x, d in zip(flat_args, flat_in_dims, strict=True)
        ],
        args_spec,
    )


# -- results ---------------------------------------------------------------------------------------


def _check_out_dims_is_int_or_int_pytree(out_dims: Any, func: Callable[..., Any]) -> None:
    if not all(d is None or isinstance(d, int) for d in tree_leaves(out_dims)):
        raise ValueError(
            f"vmap({_get_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None "
            "or a python collection of ints representing where in the outputs the vmapped "
            "dimension should appear."
        )


def _unwrap_batched(
    batched_outputs: Any,
    out_dims: Any,
    vmap_level: int,
    batch_size: int,
    func: Callable[..., Any],
) -> Any:
    """Return the function's results with the mapped dimension. Raises ValueError in PyTorch's words
    for what is no tensor, or where ``out_dims`` do not fit."""
    outputs, spec = tree_flatten(batched_outputs)
    places = _places(batched_outputs, spec, out_dims, func)
    name = _get_name(func)
    return tree_unflatten(
        [
            _maybe_remove_batch_dim(name, x, vmap_level, batch_size, d)
            for x, d in zip(outputs, places, strict=True)
        ],
        spec,
    )


def _places(outputs: Any, spec: TreeSpec, out_dims: Any, func: Callable[..., Any]) -> list[Any]:
    """Return where the mapped dimension goes in each leaf of the results."""

    def incompatible() -> NoReturn:
        raise ValueError(
            f"vmap({_get_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not "
            f"compatible with the structure of `outputs`. out_dims has structure "
            f"{tree_structure(out_dims)} but outputs has structure {spec}."
        )

    if isinstance(outputs, Tensor):  # PyTorch takes a tuple of one for one output, too
        if isinstance(out_dims, tuple) and len(out_dims) == 1:
            return list(out_dims)
        if out_dims is not None and not isinstance(out_dims, int):
            incompatible()
        return [out_dims]
    places = _broadcast_to_and_flatten(out_dims, spec)
    if places is None:
        incompatible()
    return places


def _maybe_remove_batch_dim(
    name: str, batched_output: Any, vmap_level: int, batch_size: int, out_dim: int | None
) -> Any:
    """Return one result, with the mapped dimension at ``out_dim``, or as it is where that is None.
    Raises ValueError in PyTorch's words for another pair of them."""
    if out_dim is None:
        if not isinstance(batched_output, Tensor):
            return batched_output
        shared = same_for_all(vmap_level, batched_output)
        if shared is None:
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
            )
        return shared
    if not isinstance(batched_output, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type "
            f"{type(batched_output)}. Did you mean to set out_dims= to None for output?"
        )
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)


def _joined(chunks: list[Any], out_dims: Any, func: Callable[..., Any]) -> Any:
    """Join the results of all chunks."""
    spec = tree_structure(chunks[0])
    places = _places(chunks[0], spec, out_dims, func)
    columns = zip(*map(tree_leaves, chunks), strict=True)
    return tree_unflatten(
        [
            column[0] if d is None else cat(list(column), d)
            for column, d in zip(columns, places, strict=True)
        ],
        spec,
    )
