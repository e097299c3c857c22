"""Writing at index tensors: scatter, scatter_reduce, index_add, index_copy, index_fill, put."""

from __future__ import annotations

from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import core

from torchlike._core import casts, dtypes, errors
from torchlike._core.dispatch.registry import OPS, composite, op
from torchlike._core.dispatch.schema import Bool, Element, Input, Int, Kind, OwnFactor, Str
from torchlike._ops.checks import scalar_type_of
from torchlike._ops.indexing.gathering import (
    check_along,
    check_flat,
    extent,
    out_of_bounds,
    require_index,
)
from torchlike._ops.indexing.masking import fill_value
from torchlike._ops.indexing.overwrite import accumulate as add_at
from torchlike._ops.indexing.overwrite import along, on_axis, overwrite
from torchlike._ops.promotion import in_float32
from torchlike._ops.value_checks import refuse_outside, refuse_unfit
from torchlike.tensor import Tensor

# -- scatter ---------------------------------------------------------------------------------------


def _check_scatter(input: Any, dim: int, index: Any, *rest: Any) -> None:
    check_along(index, input, dim)


def _target(x: Any, dim: int, index: Any, src: Any, name: str) -> tuple[Any, Any, Any]:
    """Return (input of at least one dimension, the index of the places written, the part of src
    that is written). Errors in PyTorch's words."""
    d = errors.wrap_dim(dim, x.ndim)
    require_index(index, f"{name}(): Expected dtype int32/int64 for index")
    x, index = jnp.atleast_1d(x), jnp.atleast_1d(index)
    if index.ndim != x.ndim and index.size:
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    beyond: Any = False
    if src is not None:
        src = jnp.atleast_1d(src)
        if index.size and src.ndim != index.ndim:
            raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
        if src.dtype != x.dtype:
            raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
        if index.size:
            beyond = any(n > m for n, m in zip(index.shape, src.shape, strict=True))
    if index.size:
        larger = any(k != d and n > x.shape[k] for k, n in enumerate(index.shape))
        if larger or beyond:
            also = "" if src is None else f" and to be no larger size than src {list(src.shape)}"
            raise RuntimeError(
                f"Expected index {list(index.shape)} to be no larger than self {list(x.shape)} "
                f"apart from dimension {d}{also}"
            )
    if src is not None:
        if index.size:  # a plain slice whatever the sizes: indexing's gradient adds to zeros
            src = jax.lax.slice(src, (0,) * src.ndim, index.shape)
        else:
            src = src[tuple(slice(n) for n in index.shape)]
    return x, along(index, d), src


@op(
    "scatter_src",
    namespaces=(),
    method=False,
    inplace=True,
    check=_check_scatter,
    reorders=True,
    needs={"input": ["index"], "src": ["index"]},
    grad_name="ScatterBackward0",
)
def scatter_src(input: Input, dim: Int, index: Input, src: Input):
    """Return ``input`` with the values of ``src`` written at ``index`` along ``dim``."""
    x, at, values = _target(input, dim, index, src, "scatter")
    return overwrite(x, at, values).reshape(input.shape) if index.size else input


@op(
    "scatter_value",
    namespaces=(),
    method=False,
    inplace=True,
    check=_check_scatter,
    reorders=True,
    needs={"input": ["index"], "value": ["index"]},
    grad_name="ScatterBackward1",
)
def scatter_value(input: Input, dim: Int, index: Input, value: Element):
    """Return ``input`` with a number written at ``index`` along ``dim``."""
    x, at, _ = _target(input, dim, index, None, "scatter")
    if not index.size:
        return input
    return overwrite(x, at, fill_value(value, x, "scatter")).reshape(input.shape)


_OLD_REDUCES = {"add": "sum", "multiply": "prod"}


@op(
    "scatter_reduce_value",
    namespaces=(),
    method=False,
    inplace=True,
    check=_check_scatter,
    grad_name="ScatterBackward3",
    reorders=True,
)
def scatter_reduce_value(input: Input, dim: Int, index: Input, value: Element, reduce: Str):
    """Return ``input`` with a number added, or multiplied in, at ``index`` along ``dim``."""
    x, at, _ = _target(input, dim, index, None, "scatter")
    if not index.size:
        return input
    values = jnp.broadcast_to(fill_value(value, x, "scatter"), index.shape)
    return reduced(x, at, values, reduce, True).reshape(input.shape)


def _scatter(in_place: Any) -> Any:
    def function(
        input: Tensor,
        dim: int,
        index: Tensor,
        src: Any = None,
        *,
        value: Any = None,
        reduce: Any = None,
        out: Any = None,
    ) -> Tensor:
        source = value if src is None else src
        tensor = isinstance(source, Tensor)
        name = "scatter_src" if tensor else "scatter_value"
        rest = ()
        if reduce is not None:
            if reduce not in _OLD_REDUCES:
                raise RuntimeError("reduce argument must be either add or multiply.")
            name = "scatter_reduce_src" if tensor else "scatter_reduce_value"
            rest = (_OLD_REDUCES[reduce],) + ((True,) if tensor else ())
        if in_place:
            return OPS[name].in_place(input, dim, index, source, *rest)
        return _FUNCTIONS[name](input, dim, index, source, *rest, out=out)

    function.__doc__ = """Write values of ``src`` (a tensor or number) at ``index`` along ``dim``:
    ``out[index[i][j]][j] = src[i][j]`` for ``dim`` 0; ``reduce`` "add" or "multiply" combines
    instead. RuntimeError for an index out of range."""
    return function


#: What the last two are called besides, in PyTorch as well.
_REDUCES = {name: name for name in ("sum", "prod", "mean", "amax", "amin")} | {
    "max": "amax",
    "min": "amin",
}


@op(
    "scatter_reduce_src",
    namespaces=(),
    method=False,
    inplace=True,
    check=_check_scatter,
    grad_name="ScatterReduceBackward0",
    reorders=True,
)
def scatter_reduce_src(
    input: Input, dim: Int, index: Input, src: Input, reduce: Str, include_self: Bool = True
):
    """Return ``input`` with the values of ``src`` combined into it at ``index`` along ``dim``."""
    if reduce not in _REDUCES:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    reduce = _REDUCES[reduce]
    kind = dtypes.kind_of(src.dtype)
    if (reduce in ("amax", "amin") and kind == "c") or (reduce == "mean" and kind == "b"):
        raise NotImplementedError(
            f'"scatter_gather_tensor_cpu_reduce_{reduce}" not implemented for '
            f"'{scalar_type_of(src)}'"
        )
    x, at, values = _target(input, dim, index, src, "scatter_reduce")
    return (
        reduced(x, at, values, reduce, include_self).reshape(input.shape) if index.size else (input)
    )


_FUNCTIONS = {
    "scatter_src": scatter_src,
    "scatter_value": scatter_value,
    "scatter_reduce_src": scatter_reduce_src,
    "scatter_reduce_value": scatter_reduce_value,
}
composite("scatter")(_scatter(False))
composite("scatter_", namespaces=())(_scatter(True))


@composite()
def scatter_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    *,
    include_self: Any = True,
    out: Any = None,
) -> Tensor:
    """Combine values of ``src`` at ``index`` along ``dim`` by "sum", "prod", "mean", "amax" or
    "amin"; with ``include_self`` the old value takes part."""
    return scatter_reduce_src(input, dim, index, src, reduce, include_self, out=out)


@composite(namespaces=())
def scatter_reduce_(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: Any = True
) -> Tensor:
    """Combine values of ``src`` into ``input`` in place, as ``scatter_reduce``."""
    return OPS["scatter_reduce_src"].in_place(input, dim, index, src, reduce, include_self)


@op(
    inplace=True,
    check=_check_scatter,
    needs={"input": [], "src": ["index"]},
    reorders=True,
    autocast={"cuda": "widest"},
)
def scatter_add(input: Input, dim: Int, index: Input, src: Input):
    """Add values of ``src`` at ``index`` along ``dim``."""
    x, at, values = _target(input, dim, index, src, "scatter_add")
    if not index.size:
        return input
    return in_float32(lambda x, v: add_at(x, at, v))(x, values).reshape(input.shape)


# -- reductions at an index ------------------------------------------------------------------------


def reduced(x: Any, at: Any, values: Any, reduce: str, include_self: Any) -> jax.Array:
    """Combine ``values`` into ``x`` at an index; places not written keep their value."""
    before = x
    if not include_self:
        written = jnp.zeros(x.shape, bool).at[at].set(True, mode="drop")
        x = jnp.where(written, _identity(reduce, x.dtype), x)
    if reduce == "sum":
        return in_float32(lambda x, v: add_at(x, at, v))(x, values)
    if reduce == "mean":
        total = in_float32(lambda x, v: x.at[at].add(v, mode="drop"))(x, values)
        ones = jnp.ones(values.shape, np.int64)
        count = jnp.full(x.shape, int(include_self), np.int64).at[at].add(ones, mode="drop")
        count = jnp.maximum(count, 1).astype(x.dtype)
        return total / count if dtypes.kind_of(x.dtype) in "fc" else total // count
    if reduce == "prod":
        return x.at[at].min(values, mode="drop") if x.dtype == np.bool_ else _product(at, x, values)
    return _extremum(at, reduce == "amax", x, values, before)


def _identity(reduce: str, dtype: Any) -> jax.Array:
    if reduce in ("sum", "mean"):
        return jnp.zeros((), dtype)
    if reduce == "prod":
        return jnp.ones((), dtype)
    if dtype == np.bool_:
        return jnp.asarray(reduce == "amin")
    if dtypes.kind_of(dtype) == "f":
        return jnp.asarray(-jnp.inf if reduce == "amax" else jnp.inf, dtype)
    limits = jnp.iinfo(dtype)
    return jnp.asarray(limits.min if reduce == "amax" else limits.max, dtype)


def _extremum(at: Any, largest: bool, x: Any, values: Any, before: Any) -> jax.Array:
    """Take the maximum or minimum at an index; the gradient is shared evenly by all that attain it.

    What was there ``before`` counts among them, as in PyTorch, also where it takes no part.
    """

    @jax.custom_jvp
    def put(x: Any, values: Any, before: Any) -> jax.Array:
        place = x.at[at]
        return place.max(values, mode="drop") if largest else place.min(values, mode="drop")

    @put.defjvp
    def _(primals: Any, tangents: Any) -> tuple[Any, ...]:
        (x, values, before), (dx, dvalues, _) = primals, tangents
        result = put(x, values, before)
        old = (before == result).astype(x.dtype)
        new = (values == result[at]).astype(x.dtype)
        # None where the result is NaN, which then is the gradient too, as in PyTorch.
        ties = old.at[at].add(new, mode="drop")
        change = (old * dx).at[at].add(new * dvalues, mode="drop")
        return result, change / ties

    return put(x, values, before)


def _product(at: Any, x: Any, values: Any) -> jax.Array:
    """Multiply ``values`` into ``x`` at an index; the gradient is right where one factor is
    zero."""

    @jax.custom_jvp
    def put(x: Any, values: Any) -> jax.Array:
        return x.at[at].multiply(values, mode="drop")

    @put.defjvp
    def _(primals: Any, tangents: Any) -> tuple[Any, ...]:
        (x, values), (dx, dvalues) = primals, tangents
        x_zero, zero = x == 0, values == 0
        zeros = x_zero.astype(np.int64).at[at].add(zero.astype(np.int64), mode="drop")
        safe_x, safe = jnp.where(x_zero, 1, x), jnp.where(zero, 1, values)
        rest = put(safe_x, safe)  # the product of the factors that are not zero

        # The one zero of a place that has one: a number that is 0, but whose derivative is not.
        nought = jnp.where(x_zero, x, 0).at[at].add(jnp.where(zero, values, 0), mode="drop")

        def others(
            is_zero: Any, own: Any, factor: Any, count: Any, product: Any, z: Any
        ) -> jax.Array:
            """Return the product of all the other factors of a place."""
            among = count - is_zero.astype(count.dtype)
            left = product / factor
            z = z - jnp.where(is_zero, own, 0)
            return jnp.where(among == 0, left, jnp.where(among == 1, z * left, 0))

        change = (
            (others(x_zero, x, safe_x, zeros, rest, nought) * dx)
            .at[at]
            .add(others(zero, values, safe, zeros[at], rest[at], nought[at]) * dvalues, mode="drop")
        )
        return put(x, values), change

    return put(x, values)


# -- whole slices of one dimension -----------------------------------------------------------------


def _check_slices(x: Any, dim: int, index: Any, source: Any, name: str) -> tuple[Any, Any, Any]:
    """Return (input, index on its dimension, source), each of at least one dimension."""
    d = errors.wrap_dim(dim, x.ndim)
    require_index(
        index, f"{name}(): Expected dtype int32/int64 for index but got: {scalar_type_of(index)}"
    )
    if index.ndim > 1:
        raise IndexError(
            f"{name}(): Index is supposed to be a vector, but got dim: {index.ndim} with type: "
            f"{scalar_type_of(index)} and size: {list(index.shape)}"
        )
    if x.dtype != source.dtype:
        raise RuntimeError(
            f"{name}(): self ({scalar_type_of(x)}) and source ({scalar_type_of(source)}) must have "
            "the same scalar type"
        )
    shapes = [list(s.shape) for s in (x, source)]
    x, index, source = jnp.atleast_1d(x), jnp.atleast_1d(index), jnp.atleast_1d(source)
    rest = [s.shape[:d] + s.shape[d + 1 :] for s in (x, source)]
    flat = len(shapes[0]) != len(shapes[1]) and name != "index_copy_"  # one of them is a number
    if rest[0] != rest[1] or flat:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {shapes[0]} source.shape = {shapes[1]}"
        )
    if index.size != source.shape[d]:
        raise RuntimeError(
            f"{name}(): Number of indices ({index.size}) should be equal to source.size(dim): "
            f"({source.shape[d]}), for dim: {d}"
        )
    return x, on_axis(index, d), source


@op(inplace=True, check=_check_scatter, needs={"input": [], "source": ["index"]}, reorders=True)
def index_add(input: Input, dim: Int, index: Input, source: Input, *, alpha: OwnFactor = 1):
    """Add ``alpha * source`` to the slices of a dimension at the positions in a vector."""
    x, at, values = _check_slices(input, dim, index, source, "index_add_")
    factor = jnp.asarray(alpha).astype(x.dtype)
    scaled = values & factor if x.dtype == np.bool_ else values * factor
    return add_at(x, at, scaled).reshape(input.shape)


def _check_index_copy(input: Any, dim: int, index: Any, *rest: Any) -> None:
    d, size = extent(input, dim)
    words = f"index_copy_(): {out_of_bounds(d, size)}"
    refuse_outside(index, 0, size, IndexError, words)


@op(
    inplace=True,
    check=_check_index_copy,
    needs={"input": ["index"], "source": ["index"]},
    reorders=True,
    autocast="widest",
)
def index_copy(input: Input, dim: Int, index: Input, source: Input):
    """Write ``source`` over the slices of a dimension at the positions in a vector."""
    if input.dtype != source.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{scalar_type_of(input)} and (source) {scalar_type_of(source)}"
        )
    d = errors.wrap_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if source.ndim and index.size != source.shape[d]:
        raise IndexError(
            f"index_copy_(): Number of indices ({index.size}) should be equal to source.size(dim) "
            f"({source.shape[d]})"
        )
    shapes = [s.shape[:d] + s.shape[d + 1 :] for s in (input, source)]
    if shapes[0] != shapes[1] and source.ndim:
        slices = [" ".join(map(str, s)) for s in shapes]
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination "
            f"slice shape: {slices[0]} at dimension {d} and source slice shape: {slices[1]} at "
            f"dimension {d}."
        )
    x, at, values = _check_slices(input, dim, index, source, "index_copy_")
    return overwrite(x, at, values).reshape(input.shape)


def _check_fill_of_kind(value: Any, among: Any) -> None:
    if (isinstance(value, complex) or jnp.iscomplexobj(value)) and not jnp.iscomplexobj(among):
        raise RuntimeError(
            "index_fill_(): Converting complex Scalar to non-complex type is not supported"
        )
    casts.check_fits(value, among.dtype)


_FillOfKind = Annotated[
    Any, Kind("Tensor", operand=True, number=True, element=True, check=_check_fill_of_kind)
]


def _check_index_fill(input: Any, dim: int, index: Any, value: Any) -> None:
    if jnp.ndim(value) == 0 and hasattr(value, "item"):
        if isinstance(value, core.Tracer):
            refuse_unfit(value, input.dtype)
        else:
            _check_fill_of_kind(value.item(), input)
    d, size = extent(input, dim)
    refuse_outside(index, -size, size, IndexError, out_of_bounds(d, size))


@op(
    inplace=True,
    check=_check_index_fill,
    needs={"input": ["index"], "value": ["index"]},
    reorders=True,
)
def index_fill(input: Input, dim: Int, index: Input, value: _FillOfKind):
    """Write a number over the slices of a dimension at the positions in a vector."""
    d = errors.wrap_dim(dim, input.ndim)
    if index.dtype != np.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.ndim > 1:
        raise IndexError("Index is supposed to be a vector")
    x = jnp.atleast_1d(input)
    # A mask rather than a scatter: a repeated index must give the value one gradient, not several.
    chosen = jnp.zeros(x.shape[d], bool).at[jnp.atleast_1d(index)].set(True, mode="drop")
    chosen = chosen.reshape([-1 if k == d else 1 for k in range(x.ndim)])
    filled = fill_value(value, x, "index_fill_")
    return jnp.where(chosen, filled, x).reshape(input.shape)


def _check_index_reduce(input: Any, dim: int, index: Any, *rest: Any) -> None:
    size = extent(input, dim)[1]
    refuse_outside(index, 0, size, IndexError, "index out of range in self")


@op(inplace=True, check=_check_index_reduce, reorders=True)
def index_reduce(
    input: Input, dim: Int, index: Input, source: Input, reduce: Str, *, include_self: Bool = True
):
    """Combine slices of ``source`` into a dimension by "prod", "mean", "amax" or "amin"."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}."
        )
    x, at, values = _check_slices(input, dim, index, source, "index_reduce")
    return reduced(x, at, values, reduce, include_self).reshape(input.shape)


@op(inplace=True, check=check_flat, needs={"input": ["index"], "source": ["index"]}, reorders=True)
def put(input: Input, index: Input, source: Input, accumulate: Bool = False):
    """Write (or add) ``source`` at positions of the flattened tensor; negative ones wrap."""
    if index.dtype != np.int64:
        raise IndexError(
            f"put_(): Expected a long tensor for index, but got {scalar_type_of(index)}"
        )
    if input.dtype != source.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{scalar_type_of(input)} and source.dtype = {scalar_type_of(source)}"
        )
    if index.size != source.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source.size}, index.numel() = {index.size}"
        )
    flat, at, values = input.reshape(-1), (index.reshape(-1),), source.reshape(-1)
    if accumulate:
        return add_at(flat, at, values).reshape(input.shape)
    return overwrite(flat, at, values).reshape(input.shape)
