"""Joining tensors: cat, stack and their short forms, block_diag, products of lists."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import jax.numpy as jnp
from jax import lax

from torchlike._core import dtypes, errors, overrides, views
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Inputs, Int, require_tensor, require_tensors
from torchlike._core.size import Size
from torchlike._ops.creation.from_data import tensor as make_tensor
from torchlike._ops.memory_order import common_order, of_all
from torchlike._ops.promotion import result_dtype
from torchlike.tensor import Tensor


@op(
    "cat_op",
    casts_out=True,
    namespaces=(),
    method=False,
    needs="nothing",
    memory_order=of_all,
    grad_name="CatBackward0",
    reorders=True,
    autocast={"xla": "widest"},
)
def cat_op(tensors: Inputs, dim: Int = 0):
    """Join tensors one after the other along a dimension; 1-D tensors without elements are
    skipped."""
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for i, x in enumerate(tensors):
        if not x.ndim:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    dtype = result_dtype(*tensors).numpy
    # torch.cat([x, torch.tensor([])]) is x whatever its rank: an old convention of PyTorch's.
    whole = [(i, x) for i, x in enumerate(tensors) if x.shape != (0,)]
    if not whole:  # along any dimension
        return jnp.zeros((0,), dtype)
    first = whole[0][1]
    d = errors.wrap_dim(dim, first.ndim)
    for i, x in whole:
        if x.ndim != first.ndim:
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {first.ndim} and {x.ndim}"
            )
        for k in range(first.ndim):
            if k != d and x.shape[k] != first.shape[k]:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {d}. Expected size "
                    f"{first.shape[k]} but got size {x.shape[k]} for tensor number {i} in the list."
                )
    # lax's: jnp's looks at all dtypes and ranks again, which is most of a trace of a hundred.
    return lax.concatenate([_of_dtype(x, dtype) for _, x in whole], d)


def _of_dtype(x: Any, dtype: Any) -> Any:
    return x if x.dtype == dtype else x.astype(dtype)


@composite(method=False, aliases=("concat", "concatenate"))
def cat(tensors: Any, dim: int = 0, *, out: Any = None, axis: Any = None) -> Tensor:
    """Join tensors one after the other along ``dim``; dtypes are promoted.

    ValueError for an empty list; RuntimeError when other sizes differ. 1-D tensors without elements
    are skipped.

    Example:
      >>> torch.cat([torch.zeros(1, 2), torch.ones(2, 2)])
      tensor([[0., 0.],
              [1., 1.],
              [1., 1.]])
    """
    return cat_op(tensors, dim if axis is None else axis, out=out)


def _of_stacked(result: Any, operands: Any, spec: Any, statics: Any) -> None:
    """Set the result's strides as PyTorch's are: joined along an old dimension which is then split
    in two."""
    size = result._storage.shape
    d = errors.wrap_dim(statics[0], len(size))
    geometries = [o._geometry for o in operands]
    if d == len(size) - 1:
        joined = size
        geometries = [views.Geometry((*g.size, 1), (*g.stride, 1), 0) for g in geometries]
    else:
        joined = (*size[:d], size[d] * size[d + 1], *size[d + 2 :])
    order = common_order(geometries)
    if order is not None:
        strides = views.dense_strides(joined, order)
        if joined != size:
            strides = views.view_strides(joined, strides, size)
        result._storage.strides = strides


@op(
    casts_out=True,
    method=False,
    needs="nothing",
    memory_order=_of_stacked,
    autocast={"xla": "widest"},
)
def stack(tensors: Inputs, dim: Int = 0):
    """Join tensors of one size along a new dimension. RuntimeError when sizes differ.

    Example:
      >>> torch.stack([torch.zeros(2), torch.ones(2)], dim=1)
      tensor([[0., 1.],
              [0., 1.]])
    """
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0]
    d = errors.wrap_dim(dim, first.ndim + 1)
    for i, x in enumerate(tensors):
        if x.shape != first.shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first.shape)} at entry "
                f"0 and {list(x.shape)} at entry {i}"
            )
    dtype = result_dtype(*tensors).numpy
    return jnp.stack([_of_dtype(x, dtype) for x in tensors], d)


def _checked_list(tensors: Any, name: str) -> list[Tensor]:
    if not isinstance(tensors, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not "
            f"{type(tensors).__name__}"
        )
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    for k, x in enumerate(tensors):
        if not isinstance(x, Tensor):
            raise overrides.no_tensor(
                x, f"expected Tensor as element {k} in argument 0, but got {type(x).__name__}"
            )
    return list(tensors)


def _spread(tensors: tuple[Any, ...]) -> Any:
    """Return the tensors of ``f(a, b)`` and ``f([a, b])`` alike. TypeError for other than
    tensors."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        return require_tensors(tensors[0])
    return require_tensors(tensors)


def _at_least(name: str, to: Any) -> Any:
    def function(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return to(tensors[0])
        return tuple(to(t) for t in _spread(tensors))

    function.__doc__ = (
        f"Return tensors with at least {name[-2]} dimensions (views); a tuple for several."
    )
    composite(name, method=False, python_signature=True, tags="maybe_aliasing_or_mutating")(
        function
    )
    return to


def to_1d(t: Tensor) -> Tensor:
    """Return a view of one dimension of a 0-dim tensor; others as they are."""
    return t if t.dim() else t.reshape(1)


def _to_2d(t: Tensor) -> Tensor:
    return t if t.dim() > 1 else to_1d(t).unsqueeze(0)


def _to_3d(t: Tensor) -> Tensor:
    return t if t.dim() > 2 else _to_2d(t).unsqueeze(-1)


_at_least("atleast_1d", to_1d)
_at_least("atleast_2d", _to_2d)
_at_least("atleast_3d", _to_3d)


@composite(method=False)
def hstack(tensors: Any, *, out: Any = None) -> Tensor:
    """Join tensors along dimension 1 (0 for vectors)."""
    parts = [to_1d(t) for t in _checked_list(tensors, "hstack")]
    return cat(parts, 0 if parts[0].dim() == 1 else 1, out=out)


@composite(method=False, aliases=("row_stack",))
def vstack(tensors: Any, *, out: Any = None) -> Tensor:
    """Join tensors along dimension 0; vectors are rows."""
    return cat([_to_2d(t) for t in _checked_list(tensors, "vstack")], 0, out=out)


@composite(method=False)
def dstack(tensors: Any, *, out: Any = None) -> Tensor:
    """Join tensors along dimension 2."""
    return cat([_to_3d(t) for t in _checked_list(tensors, "dstack")], 2, out=out)


@composite(method=False)
def column_stack(tensors: Any, *, out: Any = None) -> Tensor:
    """Join tensors along dimension 1; vectors are columns."""
    parts = _checked_list(tensors, "column_stack")
    return cat([t if t.dim() > 1 else t.reshape(t.numel(), 1) for t in parts], 1, out=out)


@op("block_diag_op", namespaces=(), method=False, needs="nothing", grad_name="BlockDiagBackward0")
def block_diag_op(tensors: Inputs):
    """Place matrices along the diagonal of a zero matrix."""
    for i, x in enumerate(tensors):
        if x.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has "
                f"{x.ndim} dimensions"
            )
    dtype = result_dtype(*tensors).numpy
    blocks = [jnp.atleast_2d(x).astype(dtype) for x in tensors]
    rows, columns = sum(b.shape[0] for b in blocks), sum(b.shape[1] for b in blocks)
    whole = jnp.zeros((rows, columns), dtype)
    r = c = 0
    for b in blocks:
        whole = whole.at[r : r + b.shape[0], c : c + b.shape[1]].set(b)
        r, c = r + b.shape[0], c + b.shape[1]
    return whole


@composite(method=False, python_signature=True)
def block_diag(*tensors: Tensor) -> Tensor:
    """Place matrices along the diagonal of a zero matrix; vectors are rows."""
    return block_diag_op(list(tensors)) if tensors else make_tensor([[]])


@composite(method=False, overridable=False)
def broadcast_shapes(*shapes: Any) -> Size:
    """Return the shape that tensors of these shapes broadcast to.

    RuntimeError when they do not, and for other than numbers and sequences of numbers; ValueError
    for negative sizes.
    """
    result: list[int] = []
    for shape in shapes:
        sizes: list[Any]
        if hasattr(shape, "__index__"):
            sizes = [shape]
        elif isinstance(shape, (tuple, list)):
            sizes = list(shape)
        else:
            raise RuntimeError(
                "Input shapes should be of type ints, a tuple of ints, or a list of "
                f"ints, got {shape}"
            )
        if any(n < 0 for n in sizes):
            raise ValueError("Attempting to broadcast a dimension with negative length!")
        result = [1] * (len(sizes) - len(result)) + result
        for d in range(1, len(sizes) + 1):
            n = sizes[-d].__index__()
            if n == 1 or n == result[-d]:
                continue
            if result[-d] != 1:
                raise RuntimeError("Shape mismatch: objects cannot be broadcast to a single shape")
            result[-d] = n
    return Size(result)


def _common_shape(tensors: Any) -> tuple[int, ...]:
    shape: tuple[int, ...] = ()
    for t in tensors:
        size = tuple(t.shape)
        if size != shape:
            shape = _broadcast(shape, size)
    return shape


@functools.lru_cache(maxsize=1 << 10)
def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    for d, (m, n) in enumerate(zip(reversed(a), reversed(b), strict=False)):
        if m != n and 1 not in (m, n):
            raise errors.size_mismatch(m, n, max(len(a), len(b)) - 1 - d)
    return tuple(broadcast_shapes(a, b))


@composite(method=False, python_signature=True)
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Return the tensors expanded to one shape, as views; those that have it are returned as they
    are."""
    parts = _spread(tensors)
    shape = _common_shape(parts)
    return tuple(t if t.shape == shape else t.expand(shape) for t in parts)


@composite(method=False, python_signature=True)
def meshgrid(*tensors: Any, indexing: Any = None) -> tuple[Tensor, ...]:
    """Return the coordinate grids of vectors, as views; ``indexing`` "ij" (matrix, the default) or
    "xy".

    UserWarning, once, where it is left out.

    Example:
      >>> x, y = torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij")
      >>> x.tolist(), y.shape
      ([[0, 0, 0], [1, 1, 1]], torch.Size([2, 3]))
    """
    parts = list(_spread(tensors))
    if not parts:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing is None:
        errors.warn_user_once(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing "
            "argument."
        )
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(
            'torch.meshgrid: indexing must be one of "xy" or "ij", but received: ' + str(indexing)
        )
    for t in parts:
        if t.dim() > 1:
            raise RuntimeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t!r}"
            )
        if t.dtype is not parts[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    shape = tuple(t.numel() for t in parts)
    grids = [
        t.view((1,) * i + (-1,) + (1,) * (len(parts) - i - 1)).expand(shape)
        for i, t in enumerate(parts)
    ]
    if indexing == "xy" and len(parts) > 1:
        grids = [g.swapdims(0, 1) for g in grids]
    return tuple(grids)


@composite(method=False, python_signature=True, tags="maybe_aliasing_or_mutating")
def cartesian_prod(*tensors: Any) -> Tensor:
    """Return all combinations of one element of each vector, as rows."""
    parts = _spread(tensors)
    for t in parts:
        if t.dim() != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(parts) == 1:
        return parts[0]
    return stack([g.flatten() for g in meshgrid(*parts, indexing="ij")], 1)


@composite()
def combinations(input: Tensor, r: int = 2, with_replacement: Any = False) -> Tensor:
    """Return all selections of ``r`` elements of a vector, as rows."""
    require_tensor(input, "combinations")
    if input.dim() != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty(0)
    choose = (
        itertools.combinations_with_replacement if with_replacement else (itertools.combinations)
    )
    chosen = list(choose(range(input.numel()), r))
    if not chosen:
        return input.new_empty((0, r))
    return input[make_tensor(chosen, dtype=dtypes.int64)]
