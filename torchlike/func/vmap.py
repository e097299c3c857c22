"""``vmap``: a function of one example, run on all of them at once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torchlike._core import modes
from torchlike._core.boxes import Batched
from torchlike._core.tensor import Tensor, wrap
from torchlike._dispatch.boxed import VmapLevel
from torchlike._dispatch.record import still
from torchlike._ops.shape.joining import cat
from torchlike.func import trees
from torchlike.random.generator import default_generator


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that maps ``func`` over a dimension of its tensor arguments.

    Each op inside is run once for all examples, by ``jax.vmap`` of the op.

    Args:
      func: takes tensors without the mapped dimension; returns tensors (in tuples, lists, dicts).
      in_dims: the mapped dimension of each positional argument, None for one that is the same for
        all examples; a tuple matching the arguments, or one for all. Keyword arguments are not
        mapped: all examples get the same.
      out_dims: where the mapped dimension goes in the results; None for a result that is no tensor.
      randomness: "error", "different" numbers for each example, or the "same".
      chunk_size: how many examples to do at a time (memory), None for all.

    ValueError for arguments without the dimension, or of different sizes there; RuntimeError inside
    for values of one example asked for by Python, and for writing them into outside tensors.

    Differs from PyTorch: with randomness="different" the numbers are those of a loop over the
    examples. ``stride()`` and ``is_contiguous()`` of an example are those of a tensor of its own;
    ``as_strided`` is refused where the examples lie otherwise in memory. Under ``torchlike.jit``
    randomness="same" in chunks is refused.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )
    if chunk_size is not None and not (isinstance(chunk_size, int) and chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    name = getattr(func, "__name__", type(func).__name__)

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        inputs, structure = trees.flatten(args)
        dims = _input_dims(name, in_dims, args, inputs, structure)
        size = _mapped_size(name, in_dims, inputs, dims)

        def run(values: list[Any], size: int) -> Any:
            level = VmapLevel(size, randomness)
            return _run(name, func, level, values, kwargs, structure, dims, out_dims)

        if chunk_size is None or chunk_size >= size:
            return run(inputs, size)
        chunks = []
        again = _drawing_again() if randomness == "same" else None
        for start in range(0, size, chunk_size):
            if again is not None:
                again()
            n = min(chunk_size, size - start)
            chunks.append(run(
                [x if d is None else x.narrow(d, start, n)
                 for x, d in zip(inputs, dims, strict=True)], n,
            ))  # fmt: skip
        return _joined(chunks, out_dims, name)

    return mapped


def _drawing_again() -> Callable[[], Any]:
    """What lets the default generator draw what it draws from now on once more."""
    capture = modes.current.capture
    if capture is not None:
        capture.refuse('vmap(randomness="same") in chunks', "chunk_size=None")
    state = default_generator.get_state()
    return functools.partial(default_generator.set_state, state)


def _input_dims(
    name: str, in_dims: Any, args: tuple[Any, ...], inputs: list[Any], structure: Any
) -> list[Any]:
    """The mapped dimension of each leaf of the arguments, counted from the front."""
    where = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{where}: expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are "
            "trying to vmap over a function with no inputs. The latter is unsupported."
        )
    dims = trees.broadcast(
        in_dims, structure,
        lambda: f"{where}: in_dims is not compatible with the structure of `inputs`. in_dims has "
        f"structure {_shape_of(in_dims)} but inputs has structure {_shape_of(args)}.",
    )  # fmt: skip
    found = []
    for dim, x in zip(dims, inputs, strict=True):
        if dim is None:
            found.append(None)
            continue
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
        found.append(dim % n)
    return found


def _shape_of(tree: Any) -> str:
    return trees.describe(trees.flatten(tree)[1])


def _mapped_size(name: str, in_dims: Any, inputs: list[Any], dims: list[Any]) -> int:
    sizes = [x.shape[d] for x, d in zip(inputs, dims, strict=True) if d is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(s != sizes[0] for s in sizes):
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return sizes[0]


def _run(
    name: str, func: Callable[..., Any], level: VmapLevel, inputs: list[Any],
    kwargs: dict[str, Any], structure: Any, dims: list[Any], out_dims: Any,
) -> Any:  # fmt: skip
    """One pass over all examples of a level."""
    with level:
        # (the user's tensor, its mapped dimension, what the function gets for it)
        seen: list[tuple[Tensor, int, Tensor]] = []

        def enter(x: Any, dim: Any) -> Tensor:
            if dim is None:
                return x
            moved = x.movedim(dim, 0)
            level.reordered = level.reordered or not moved.is_contiguous()
            inside = wrap(Batched(level, still(moved)))
            seen.append((x, dim, inside))
            return inside

        entered = [enter(x, d) for x, d in zip(inputs, dims, strict=True)]
        result = func(*trees.unflatten(structure, entered), **kwargs)
        outputs, structure = trees.flatten(result)
        places = _output_dims(name, out_dims, outputs, structure)
        left = [_leave(level, o, d, name) for o, d in zip(outputs, places, strict=True)]
        written = [(x, d, _outside(level, t)) for x, d, t in seen if t._storage.version]
    for x, dim, value in written:  # in place: so is the user's tensor
        x.movedim(dim, 0).copy_(value)
    return trees.unflatten(structure, left)


def _output_dims(name: str, out_dims: Any, outputs: list[Any], structure: Any) -> list[Any]:
    if not _only_ints(out_dims):
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python "
            "collection of ints representing where in the outputs the vmapped dimension should "
            "appear."
        )
    alone = structure == trees.flatten(None)[1]
    if alone and isinstance(out_dims, tuple) and len(out_dims) == 1:
        (out_dims,) = out_dims  # PyTorch takes a tuple of one for one output, too
    places = trees.broadcast(
        out_dims, structure,
        lambda: f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not "
        f"compatible with the structure of `outputs`. out_dims has structure {_shape_of(out_dims)} "
        f"but outputs has structure {trees.describe(structure)}.",
    )  # fmt: skip
    for o, d in zip(outputs, places, strict=True):
        if not isinstance(o, Tensor) and d is not None:
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(o)}. Did "
                "you mean to set out_dims= to None for output?"
            )
    return places


def _only_ints(dims: Any) -> bool:
    return all(d is None or isinstance(d, int) for d in trees.leaves(dims))


def _outside(level: VmapLevel, t: Tensor) -> Tensor:
    """What is inside a tensor of the level, with the examples first."""
    cell = t._read()
    if type(cell) is Batched and cell.level is level:
        t = cell.value
        if cell.batched:
            return t
    return t.expand(level.size, *t.shape)


def _leave(level: VmapLevel, output: Any, dim: Any, name: str) -> Tensor:
    if not isinstance(output, Tensor):
        return output
    if dim is None:
        cell = output._read()
        if type(cell) is Batched and cell.level is level:
            if cell.batched:
                raise ValueError(
                    f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is "
                    "None"
                )
            return cell.value
        return output
    whole = _outside(level, output)
    n = whole.dim()
    if not -n <= dim < n:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})"
        )
    return whole.movedim(0, dim) if dim else whole


def _joined(chunks: list[Any], out_dims: Any, name: str) -> Any:
    outputs, structure = trees.flatten(chunks[0])
    places = _output_dims(name, out_dims, outputs, structure)
    columns = zip(*(trees.leaves(c) for c in chunks), strict=True)
    return trees.unflatten(structure, [
        column[0] if d is None else cat(list(column), d)
        for column, d in zip(columns, places, strict=True)
    ])  # fmt: skip
