"""Order: sort, argsort, topk, kthvalue, median, mode."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import dtypes, errors
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Bool, Input, Int
from torchlike._ops.checks import real_only
from torchlike._ops.outputs import write_out
from torchlike._ops.reduce.reduction import _named as named
from torchlike._runtime import targets
from torchlike._runtime.function_objects import signed_as
from torchlike.tensor import Tensor

#: Whose order is that of 32-bit integers.
_PACKED = frozenset(
    ("float32", "float16", "bfloat16", "int32", "int16", "int8", "uint8", "uint16", "bool")
)


def _as_integers(x: Any) -> jax.Array:
    """Return int64 in the order of ``x``, of 32 bits: zeros are equal, all NaN the largest.

    XLA's comparison of floats brings both about at each step of a sort, and a second operand beside
    the first costs more. Elements and their places as one integer each, 256 rows of 256 float32,
    are sorted in a quarter of the time (11.7 and 2.7 ms).
    """
    if x.dtype.kind in "iub":
        return x.astype(np.int64)
    bits = lax.bitcast_convert_type(x.astype(np.float32), np.int32)
    magnitude = bits & np.int32(0x7FFFFFFF)
    key = jnp.where(bits < 0, -magnitude, magnitude)
    return jnp.where(magnitude > 0x7F800000, np.int32(0x7FFFFFFF), key).astype(np.int64)


def _taken(x: Any, index: Any, dim: int) -> jax.Array:
    """Return the elements along an axis at an index that a sort has given: none is out of
    bounds, or counted from the end."""
    beside = tuple([d for d in range(x.ndim) if d != dim])
    numbers = lax.GatherDimensionNumbers((), (dim,), (dim,), beside, beside)
    ones = (1,) * x.ndim
    return lax.gather(x, index[..., None], numbers, ones, mode="promise_in_bounds")


def sorted_with_index(x: Any, dim: int, descending: Any) -> tuple[Any, Any]:
    """Sort along an axis and return the values and their indices; stable, NaN counts as the
    largest.

    Differentiable: the values are a gather at the index.
    """
    order = lax.stop_gradient(x)
    positions = lax.broadcasted_iota(np.int64, x.shape, dim)
    if targets.is_xla_cpu() and str(order.dtype) in _PACKED:
        keys = _as_integers(order)
        packed = lax.shift_left(~keys if descending else keys, np.int64(32)) | positions
        found = lax.sort(packed, dimension=dim, is_stable=False)
        index = lax.bitwise_and(found, np.int64(0xFFFFFFFF))
        return _taken(x, index, dim), index
    if descending:
        # Reversed before and after: NaN comes first, and ties keep their order.
        order, positions = jnp.flip(order, dim), jnp.flip(positions, dim)
    _, index = lax.sort((order, positions), dimension=dim, is_stable=True, num_keys=1)
    if descending:
        index = jnp.flip(index, dim)
    return _taken(x, index, dim), index


#: How PyTorch refuses ``out=`` of another dtype, for values and indices.
_UNLIKE = (
    "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type "
    "torch.{found}Tensor does not equal torch.{wanted}Tensor (while checking arguments for median)",
    "Expected tensor for argument #1 'indices' to have scalar type {wanted}; but got "
    "torch.{found}Tensor instead (while checking arguments for median)",
)


@op(
    "sort_op",
    namespaces=(),
    method=False,
    residuals=True,
    returns=named("sort"),
    elementwise=True,
    casts_out=False,
    grad_name="SortBackward0",
)
def sort_op(input: Input, dim: Int = -1, descending: Bool = False):
    """Sort along a dimension and return the values and their indices."""
    if input.dtype.kind == "c":
        raise RuntimeError("Sort does not support complex dtypes on CPU")
    d = errors.wrap_dim(dim, input.ndim)
    if not input.ndim:
        return input, jnp.zeros((), np.int64)
    return sorted_with_index(input, d, descending)


def _sort_arguments(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int, Any]:
    """Return ``(dim, descending)`` from keywords or positions; a leading bool is ``stable``, always
    so here."""
    if args and isinstance(args[0], bool):
        args = args[1:]
    if len(args) > 2:
        raise TypeError(
            f"{name}() takes from 1 to 3 positional arguments but {len(args) + 1} were given"
        )
    kwargs.pop("stable", None)
    found = {"dim": -1, "descending": False}
    found.update(zip(("dim", "descending"), args, strict=False))
    if "axis" in kwargs:
        kwargs["dim"] = kwargs.pop("axis")
    unknown = set(kwargs) - set(found)
    if unknown:
        raise TypeError(f"{name}() got an unexpected keyword argument '{unknown.pop()}'")
    found.update(kwargs)
    return found["dim"], found["descending"]


def _as_sort(
    input: Tensor,
    dim: int = -1,
    descending: bool = False,
    *,
    stable: bool = False,
    out: Any = None,
) -> Any: ...


@composite()
@signed_as(_as_sort)
def sort(input: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    """Sort as ``sort(input, dim=-1, descending=False, *, stable=False)``: values and indices, a
    named pair.

    Always stable; NaN counts as the largest value.

    Example:
      >>> values, indices = torch.sort(torch.tensor([3, 1, 2]))
      >>> values.tolist(), indices.tolist()
      ([1, 2, 3], [1, 2, 0])
    """
    return sort_op(input, *_sort_arguments("sort", args, kwargs), out=out)


@op(
    "argsort_op",
    namespaces=(),
    method=False,
    differentiable=False,
    elementwise=True,
    casts_out=False,
)
def argsort_op(input: Input, dim: Int, descending: Bool):
    """Return the indices that sort along a dimension."""
    return sort_op.spec.fn(input, dim, descending)[1]


@composite()
@signed_as(_as_sort)
def argsort(input: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Tensor:
    """Return the indices that sort, as ``argsort(input, dim=-1, descending=False, *,
    stable=False)``."""
    return argsort_op(input, *_sort_arguments("argsort", args, kwargs), out=out)


@composite()
def msort(input: Tensor, *, out: Any = None) -> Tensor:
    """Return the values in order along the first dimension."""
    values = sort_op(input, 0, False)[0]
    return write_out(out, values)


@op(residuals=True, returns=named("topk"))
def topk(input: Input, k: Int, dim: Int = -1, largest: Bool = True, sorted: Bool = True):
    """Return the ``k`` largest (or smallest) values along a dimension, in order, and their indices.

    RuntimeError when ``k`` is larger than the dimension.

    Differs from PyTorch: of equal values the earlier ones are chosen and come first (0 before -0);
    PyTorch's order of them is its algorithm's. ``sorted=False`` is in order, too.

    Example:
      >>> values, indices = torch.tensor([3.0, 1.0, 2.0]).topk(2)
      >>> values.tolist(), indices.tolist()
      ([3.0, 2.0], [0, 2])
    """
    if input.dtype.kind == "c":
        raise RuntimeError("topk(): does not support complex dtypes on CPU")
    d = errors.wrap_dim(dim, input.ndim)
    if not 0 <= k <= (input.shape[d] if input.ndim else 1):
        raise RuntimeError("selected index k out of range")
    if not input.ndim:
        return input, jnp.zeros((), np.int64)
    key = lax.stop_gradient(input)
    if key.dtype == np.bool_:
        key = key.astype(np.uint8)
    if key.dtype.kind in "iu":
        # Bits inverted reverse the order of any integer.
        key = key if largest else ~key
    else:
        # XLA orders NaN by its sign, which 0 / 0 sets and log(-1) does not; here it is the largest.
        unknown = jnp.copysign(jnp.asarray(np.nan, key.dtype), 1.0 if largest else -1.0)
        key = jnp.where(jnp.isnan(key), unknown, key if largest else -key)
    _, index = lax.top_k(jnp.moveaxis(key, d, -1), k)
    index = jnp.moveaxis(index, -1, d).astype(np.int64)
    return _taken(input, index, d), index


@op(
    residuals=True,
    returns=named("kthvalue"),
    reorders=True,
    out_refusal=(
        "output values must be of same type as input",
        "output indices must be of scalar type {wanted}",
    ),
)
@real_only("kthvalue_cpu")
def kthvalue(input: Input, k: Int, dim: Int = -1, keepdim: Bool = False):
    """Return the ``k``-th smallest value along a dimension (k counts from 1), and its index.

    Differs from PyTorch: equal values are counted in the order of their places, so ``indices`` may
    name another of them.
    """
    d = errors.wrap_dim(dim, input.ndim)
    size = input.shape[d] if input.ndim else 1
    if size == 0:
        raise IndexError(f"kthvalue(): Expected reduction dim {d} to have non-zero size.")
    if not 1 <= k <= size:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {d}")
    return _at_rank(input, d, k - 1, keepdim)


def _at_rank(x: Any, d: int, rank: Any, keepdim: Any) -> tuple[Any, Any]:
    """Return the value of a rank (a number, or an array with size 1 along ``d``), and its index."""
    if not x.ndim:
        return x, jnp.zeros((), np.int64)
    _, index = sorted_with_index(x, d, False)
    at = jnp.broadcast_to(jnp.asarray(rank), (*x.shape[:d], 1, *x.shape[d + 1 :]))
    index = _taken(index, at, d)
    values = _taken(x, index, d)
    return (values, index) if keepdim else (values.squeeze(d), index.squeeze(d))


def _median_rank(x: Any, d: int, ignore_nan: Any) -> jax.Array:
    """Return the rank of the lower median; of the last element (a NaN) where there is one."""
    n = x.shape[d]
    if dtypes.kind_of(x.dtype) != "f":
        return (n - 1) // 2
    nans = jnp.sum(jnp.isnan(x), d, keepdims=True)
    if ignore_nan:
        return jnp.where(nans == n, 0, (n - nans - 1) // 2)
    return jnp.where(nans > 0, n - nans, (n - 1) // 2)


def _median_along(x: Any, dim: int, keepdim: Any, ignore_nan: Any) -> tuple[Any, ...]:
    d = errors.wrap_dim(dim, x.ndim)
    if not x.ndim:
        return x, jnp.zeros((), np.int64)
    if x.shape[d] == 0:
        raise IndexError(f"median(): Expected reduction dim {d} to have non-zero size.")
    return _at_rank(x, d, _median_rank(lax.stop_gradient(x), d, ignore_nan), keepdim)


@op(
    "median_dim",
    namespaces=(),
    method=False,
    residuals=True,
    returns=named("median"),
    grad_name="MedianBackward1",
    out_refusal=_UNLIKE,
)
@real_only("median_out")
def median_dim(input: Input, dim: Int, keepdim: Bool = False):
    """Return the lower median along a dimension, and its index."""
    return _median_along(input, dim, keepdim, False)


@op(
    "nanmedian_dim",
    namespaces=(),
    method=False,
    residuals=True,
    returns=named("nanmedian"),
    grad_name="NanmedianBackward1",
    out_refusal=_UNLIKE,
)
@real_only("median_out")
def nanmedian_dim(input: Input, dim: Int, keepdim: Bool = False):
    """Return the lower median of the elements that are not NaN along a dimension, and its index."""
    return _median_along(input, dim, keepdim, True)


@op("median_all", namespaces=(), method=False, residuals=True, grad_name="MedianBackward0")
@real_only("median_cpu")
def median_all(input: Input):
    """Return the lower median of all elements (NaN for none)."""
    return _median_all(input, False)


@op("nanmedian_all", namespaces=(), method=False, residuals=True, grad_name="NanmedianBackward0")
@real_only("median_cpu")
def nanmedian_all(input: Input):
    """Return the lower median of all elements that are not NaN."""
    return _median_all(input, True)


def _median_all(x: Any, ignore_nan: Any) -> jax.Array:
    if not x.size:
        return jnp.full((), jnp.nan if dtypes.kind_of(x.dtype) == "f" else 0, x.dtype)

    @jax.custom_jvp
    def of(flat: Any) -> jax.Array:
        return _median_along(flat, 0, False, ignore_nan)[0]

    @of.defjvp
    def _(primals: Any, tangents: Any) -> tuple[Any, ...]:
        # PyTorch shares the gradient evenly between all elements equal to the median.
        (flat,), (dflat,) = primals, tangents
        found = of(flat)
        same = (flat == found) | (jnp.isnan(flat) & jnp.isnan(found))
        return found, jnp.sum(jnp.where(same, dflat, 0)) / jnp.sum(same).astype(flat.dtype)

    return of(x.reshape(-1))


def _median(name: str, whole: Any, along: Any) -> None:
    def function(input: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        if not args and not kwargs:
            return whole(input, out=out)
        return along(input, *args, out=out, **kwargs)

    function.__doc__ = (
        f"Return the {name} (the lower of two) of all elements; with ``dim``, values and indices "
        "along it."
    )
    composite(name)(function)


_median("median", median_all, median_dim)
_median("nanmedian", nanmedian_all, nanmedian_dim)


@op(
    residuals=True,
    returns=named("mode"),
    out_refusal="expected scalar type '{wanted}' but got '{found}' for {which} output",
)
@real_only("mode_cpu")
def mode(input: Input, dim: Int = -1, keepdim: Bool = False):
    """Return the most frequent value along a dimension (the smallest of several), and the index
    where it last is.

    Differs from PyTorch: each NaN is a value by itself, and the largest; PyTorch sorts with a
    comparison that NaN breaks, so there the result depends on where it stands.
    """
    d = errors.wrap_dim(dim, input.ndim)
    if not input.ndim:
        return input, jnp.zeros((), np.int64)
    if input.shape[d] == 0:
        raise IndexError(f"mode(): Expected reduction dim {d} to have non-zero size.")
    values, index = sorted_with_index(lax.stop_gradient(input), d, False)
    rank = lax.broadcasted_iota(np.int64, input.shape, d)
    starts = values != jnp.roll(values, 1, d)
    starts = starts | (rank == 0)
    start = lax.cummax(jnp.where(starts, rank, 0), d)
    run = rank - start  # how many equal values stand before this one
    best = jnp.argmax(run, d, keepdims=True)  # the end of the first longest run
    at = jnp.take_along_axis(index, best, d)
    found = jnp.take_along_axis(input, at, d)
    return (found, at) if keepdim else (found.squeeze(d), at.squeeze(d))
