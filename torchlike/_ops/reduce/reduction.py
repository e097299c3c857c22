"""Reductions: sums, means, extrema, norms, statistics, cumulative ops."""

from __future__ import annotations

import collections
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import casts, dtypes, errors, overrides
from torchlike._core.dispatch.registry import NAMESPACES, composite, op
from torchlike._core.dispatch.schema import (
    Bool,
    Dims,
    DType,
    Input,
    Int,
    Number,
    OptInt,
    require_tensor,
)
from torchlike._ops.checks import floats_only, real_only, scalar_type_of
from torchlike._ops.elementwise import division
from torchlike._ops.elementwise.subgradients import absolute, log_of_complex_sum
from torchlike._ops.loops import scan
from torchlike._ops.outputs import write_out
from torchlike._ops.promotion import in_float32, promoted_float
from torchlike._ops.reduce.extrema import (
    extreme_size,
    extremum,
    extremum_of_all,
    reduced_extremum,
)
from torchlike._ops.reduce.running import (
    by_rows,
    folded,
    recurrence,
    running_product,
    running_sum,
)
from torchlike._ops.reduce.spread import variance
from torchlike._ops.reduce.sums import added
from torchlike._ops.unfused import settled
from torchlike.tensor import Tensor

#: PyTorch notes the dimensions in the bits of a number.
_MOST_REDUCED = 64


def axes(dim: Any, ndim: int) -> tuple[int, ...]:
    """Return the canonical axes of a ``dim`` argument: None and () mean all. Errors in PyTorch's
    words."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    if ndim > _MOST_REDUCED:
        raise RuntimeError(f"only tensors with up to {_MOST_REDUCED} dims are supported")
    dims = (dim,) if isinstance(dim, int) else dim
    wrapped = tuple(errors.wrap_dim(d, ndim) for d in dims)
    for d in wrapped:
        if wrapped.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return wrapped if ndim else ()


def _axes_or_none(dim: Any, ndim: int) -> tuple[int, ...]:
    """Return the canonical axes as `axes` does, for the reductions that take () to mean no axes."""
    return () if dim == () else axes(dim, ndim)


def _accumulated(x: Any, dtype: Any) -> jax.Array:
    """Convert to the dtype of a sum or product: integers and bools are summed in int64 unless a
    dtype is given."""
    if dtype is not None:
        return casts.convert(x, dtype)
    return x.astype(np.int64) if x.dtype.kind in "iub" else x


def _total(reduce: Any, input: Any, dim: Any, keepdim: bool, dtype: Any) -> jax.Array:
    """Return a sum or product in the dtype asked for; JAX's of bools are integers."""
    x = _accumulated(input, dtype)
    return reduce(x, axes(dim, x.ndim), keepdims=keepdim).astype(x.dtype)


@op(
    casts_out="dtype",
    needs="nothing",
    autocast={"cuda": "float32"},
    tags="reduction.IntList_out|default|dim_IntList",
)
def sum(input: Input, dim: Dims = None, keepdim: Bool = False, *, dtype: DType = None):
    """Return the sum over ``dim`` (all by default); integers are summed in int64.

    ``dim`` is a number or a tuple; ``keepdim`` leaves those dimensions with size 1. IndexError for
    a dimension out of range.

    Example:
      >>> torch.tensor([[1, 2], [3, 4]]).sum(0), torch.tensor([True, True]).sum()
      (tensor([4, 6]), tensor(2))
    """
    return _total(added, input, dim, keepdim, dtype)


@op(casts_out="kernel", tags="reduction.default|out")
@real_only("nansum on CPU does not support complex inputs", RuntimeError)
def nansum(input: Input, dim: Dims = None, keepdim: Bool = False, *, dtype: DType = None):
    """Return the sum over ``dim`` with NaN taken as zero."""
    return _total(jnp.nansum, input, dim, keepdim, dtype)


def _no_mean(name: str, given: str, x: Any) -> str:
    return (
        f"{name}(): could not infer output dtype. {given} dtype must be either a floating point or "
        f"complex dtype. Got: {dtypes.scalar_type(x.dtype)}"
    )


@op(casts_out=True, needs="nothing", tags="reduction.default|dim|dtype_out|out")
def mean(input: Input, dim: Dims = None, keepdim: Bool = False, *, dtype: DType = None):
    """Return the mean over ``dim``. RuntimeError for integers unless a float ``dtype`` is given.

    ``dim`` is a number or a tuple; ``keepdim`` leaves those dimensions with size 1. IndexError for
    a dimension out of range; NaN of no elements.

    Example:
      >>> torch.tensor([[1.0, 3.0], [5.0, 7.0]]).mean(dim=1, keepdim=True)
      tensor([[2.],
              [6.]])
    """
    x = input if dtype is None else casts.convert(input, dtype)
    if x.dtype.kind in "iub":
        raise RuntimeError(_no_mean("mean", "Input" if dtype is None else "Optional", x))
    return division.mean(x, axes(dim, x.ndim), keepdims=keepdim)


@op(casts_out="kernel")
@real_only("nansum on CPU does not support complex inputs", RuntimeError)
def nanmean(input: Input, dim: Dims = None, keepdim: Bool = False, *, dtype: DType = None):
    """Return the mean of the elements that are not NaN. RuntimeError for integers unless a float
    ``dtype`` is given."""
    if input.dtype.kind in "iub":
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{dtypes.scalar_type(input.dtype)}"
        )
    x = input if dtype is None else casts.convert(input, dtype)
    if x.dtype.kind in "iub":
        raise RuntimeError(_no_mean("nanmean", "Optional", x))
    # jnp.nanmean adds 16-bit numbers up in 16 bits.
    if dtypes.is_half(x.dtype):
        wide = x.astype(np.float32)
        return jnp.nanmean(wide, axes(dim, x.ndim), keepdims=keepdim).astype(x.dtype)
    return jnp.nanmean(x, axes(dim, x.ndim), keepdims=keepdim)


@op(casts_out="dtype", autocast="float32", tags="reduction.default|dim_int|int_out")
def prod(input: Input, dim: OptInt = None, keepdim: Bool = False, *, dtype: DType = None):
    """Return the product along one ``dim``, or of all elements."""
    return _total(jnp.prod, input, dim, keepdim, dtype)


def _nonzero(x: Any) -> jax.Array:
    return x if x.dtype == np.bool_ else x != 0


@op(differentiable=False, casts_out="truth", tags="reduction.all_out|default|dim|dims|out")
def all(input: Input, dim: Dims = None, keepdim: Bool = False):
    """Return whether all elements are nonzero (uint8 for uint8); each by itself for ``dim=()``.

    IndexError for a dimension out of range.

    Example:
      >>> x = torch.tensor([[1, 0], [1, 1]])
      >>> x.all(), x.all(dim=1)
      (tensor(False), tensor([False,  True]))
    """
    found = jnp.all(_nonzero(input), _axes_or_none(dim, input.ndim), keepdims=keepdim)
    return found.astype(np.uint8) if input.dtype == np.uint8 else found


@op(differentiable=False, casts_out="truth", tags="reduction.all_out|default|dim|dims|out")
def any(input: Input, dim: Dims = None, keepdim: Bool = False):
    """Return whether any element is nonzero (uint8 for uint8); each by itself for ``dim=()``.

    IndexError for a dimension out of range.

    Example:
      >>> torch.tensor([[0, 0], [1, 0]]).any(dim=1)
      tensor([False,  True])
    """
    found = jnp.any(_nonzero(input), _axes_or_none(dim, input.ndim), keepdims=keepdim)
    return found.astype(np.uint8) if input.dtype == np.uint8 else found


@op(differentiable=False, tags="reduction.default|dim_IntList")
def count_nonzero(input: Input, dim: Dims = None):
    """Return how many elements are nonzero, as int64."""
    return jnp.sum(_nonzero(input), axes(dim, input.ndim), dtype=np.int64)


# -- extrema ---------------------------------------------------------------------------------------


def _require_elements(x: Any, name: str, dim: Any = None) -> None:
    if dim is not None and dim != ():
        for d in axes(dim, x.ndim):
            if x.shape[d] == 0:
                raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")
    elif x.size == 0:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the 'dim' argument."
        )


@op(residuals=True, tags="reduction")
@real_only("max_values_cpu")
def amax(input: Input, dim: Dims = None, keepdim: Bool = False):
    """Return the maximum over ``dim``; the gradient is shared evenly between ties."""
    _require_elements(input, "amax", dim)
    return reduced_extremum(settled(input), axes(dim, input.ndim), True, keepdim)


@op(residuals=True, tags="reduction")
@real_only("min_values_cpu")
def amin(input: Input, dim: Dims = None, keepdim: Bool = False):
    """Return the minimum over ``dim``; the gradient is shared evenly between ties."""
    _require_elements(input, "amin", dim)
    return reduced_extremum(settled(input), axes(dim, input.ndim), False, keepdim)


def _check_order(x: Any, name: str) -> None:
    if x.dtype.kind == "c":
        raise RuntimeError(f"{name}(): does not support complex input")


def _extremum_along(x: Any, dim: int, keepdim: Any, largest: Any, name: str) -> tuple[Any, ...]:
    d = errors.wrap_dim(dim, x.ndim)
    _check_order(x, name)
    if x.ndim == 0:
        return x, jnp.zeros((), np.int64)
    _require_elements(x, name, (d,))
    values, index = extremum(x, d, largest)
    return (values, index) if keepdim else (values.squeeze(d), index.squeeze(d))


#: Every class of named results, by name: what ``torch.return_types`` has.
RETURN_TYPES: dict[str, Any] = {}


def _named(name: str, fields: str = "values indices") -> type:
    made = collections.namedtuple(name, fields)
    made.__module__ = "torchlike.return_types"
    made.__new__ = _return_type_new  # type: ignore[method-assign]
    made.__repr__ = _return_type_repr  # type: ignore[method-assign]
    RETURN_TYPES[name] = made
    return made


def _return_type_new(cls: Any, *parts: Any) -> Any:
    """Make the named tuple from its parts, or, as users of PyTorch's have to, from one sequence of
    them."""
    if len(parts) == 1:
        parts = tuple(parts[0])
    if len(parts) != len(cls._fields):
        raise TypeError(
            f"torch.return_types.{cls.__name__}() takes a {len(cls._fields)}-sequence "
            f"({len(parts)}-sequence given)"
        )
    return tuple.__new__(cls, parts)


def _return_type_repr(self: Any) -> str:
    fields = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"torch.return_types.{type(self).__name__}(\n{fields})"


@op(
    "max_dim",
    namespaces=(),
    method=False,
    residuals=True,
    returns=_named("max"),
    grad_name="MaxBackward0",
)
def max_dim(input: Input, dim: Int, keepdim: Bool = False):
    """Return the largest values along a dimension, and their indices."""
    return _extremum_along(input, dim, keepdim, True, "max")


@op(
    "min_dim",
    namespaces=(),
    method=False,
    residuals=True,
    returns=_named("min"),
    grad_name="MinBackward0",
)
def min_dim(input: Input, dim: Int, keepdim: Bool = False):
    """Return the smallest values along a dimension, and their indices."""
    return _extremum_along(input, dim, keepdim, False, "min")


@op(
    "max_all", casts_out=True, namespaces=(), method=False, residuals=True, grad_name="MaxBackward1"
)
@real_only("max_all")
def max_all(input: Input):
    """Return the largest element."""
    _require_elements(input, "max")
    return extremum_of_all(input, True)


@op(
    "min_all", casts_out=True, namespaces=(), method=False, residuals=True, grad_name="MinBackward1"
)
@real_only("min_all")
def min_all(input: Input):
    """Return the smallest element."""
    _require_elements(input, "min")
    return extremum_of_all(input, False)


def _extremum(name: str, whole: Any, along: Any, elementwise: Any) -> None:
    def function(input: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        if "axis" in kwargs:
            kwargs["dim"] = kwargs.pop("axis")
        other = args[0] if args else kwargs.get("other")
        if not isinstance(input, Tensor):
            raise overrides.no_tensor(
                input,
                f"{name}(): argument 'input' (position 1) must be Tensor, not "
                f"{type(input).__name__}",
            )
        if isinstance(other, Tensor):
            return elementwise(input, other, out=out)
        if not args and not kwargs:
            return whole(input, out=out)
        return along(input, *args, out=out, **kwargs)

    function.__doc__ = f"""Return the {name}imum of all elements; with ``dim``, values and indices
    there; with another tensor, elementwise.

    RuntimeError, or IndexError with ``dim``, where there are no elements.

    Example:
      >>> x = torch.tensor([[1, 5], [7, 2]])
      >>> x.{name}() == x.{name}(dim=0).values.{name}()
      tensor(True)
    """
    composite(name, tags="reduction.default|dim")(function)


_extremum("max", max_all, max_dim, NAMESPACES[""]["maximum"])
_extremum("min", min_all, min_dim, NAMESPACES[""]["minimum"])


@op(differentiable=False, tags="reduction.default|out")
def argmax(input: Input, dim: Dims = None, keepdim: Bool = False):
    """Return the index of the maximum (first of ties; of the flattened tensor without ``dim``),
    int64.

    IndexError for a dimension out of range, and where there are no elements.

    Example:
      >>> torch.tensor([[1, 9], [8, 2]]).argmax(dim=1)
      tensor([1, 0])
    """
    return _arg(input, dim, keepdim, True, "argmax")


@op(differentiable=False, tags="reduction.default|out")
def argmin(input: Input, dim: Dims = None, keepdim: Bool = False):
    """Return the index of the minimum (first of ties; of the flattened tensor without ``dim``),
    int64."""
    return _arg(input, dim, keepdim, False, "argmin")


def _arg(x: Any, dim: Any, keepdim: Any, largest: Any, name: str) -> jax.Array:
    _check_order(x, name)
    if dim is None:
        if x.size == 0:
            raise IndexError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0."
            )
        index = extremum(x.reshape(-1), 0, largest)[1]
        return index.reshape((1,) * x.ndim if keepdim else ())
    d = errors.wrap_dim(dim, x.ndim)
    if x.ndim == 0:
        return jnp.zeros((), np.int64)
    _require_elements(x, name, (d,))
    index = extremum(x, d, largest)[1]
    return index if keepdim else index.squeeze(d)


@composite(tags="reduction")
def aminmax(input: Tensor, *, dim: Any = None, keepdim: Any = False, out: Any = None) -> Any:
    """Return the minimum and the maximum, as a named pair."""
    require_tensor(input, "aminmax")
    if input.is_complex():
        kind = scalar_type_of(input._value_now())
        raise NotImplementedError(f"\"aminmax_cpu\" not implemented for '{kind}'")
    return write_out(out, _AMINMAX(amin(input, dim, keepdim), amax(input, dim, keepdim)))


_AMINMAX = _named("aminmax", "min max")


# -- statistics ------------------------------------------------------------------------------------


@op("var_op", casts_out=True, namespaces=(), method=False, grad_name="VarBackward0")
def var_op(input: Input, dim: Dims = None, correction: Number = 1, keepdim: Bool = False):
    """Return the variance over ``dim`` with ``correction`` degrees of freedom taken off."""
    return _variance(input, dim, correction.value, keepdim).astype(input.real.dtype)


@op("std_op", casts_out=True, namespaces=(), method=False, grad_name="StdBackward0")
def std_op(input: Input, dim: Dims = None, correction: Number = 1, keepdim: Bool = False):
    """Return the square root of the variance; where that is 0, the gradient is 0 too."""
    spread = _variance(input, dim, correction.value, keepdim)
    zero = spread == 0
    root = jnp.where(zero, 0, jnp.sqrt(jnp.where(zero, 1, spread)))
    return root.astype(input.real.dtype)


def _variance(x: Any, dim: Any, correction: Any, keepdim: Any) -> jax.Array:
    if dtypes.kind_of(x.dtype) not in "fc":
        raise RuntimeError("std and var only support floating point and complex dtypes")
    x = x.astype(np.float32) if dtypes.is_half(x.dtype) else x
    return variance(x, axes(dim, x.ndim), correction, keepdims=keepdim)


def _warn_of_freedom(name: str, input: Tensor, dim: Any, correction: Any) -> None:
    """Warn, with UserWarning, where no more numbers are spread than are taken off: the result is
    NaN."""
    shape = input.shape
    count = math.prod(shape[d] for d in axes(dim, len(shape))) if input.numel() else 0
    if count <= correction:
        errors.warn_user(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the "
            "reduction factor (input numel divided by output numel).",
            UserWarning,
        )


def _spread(name: str, spec: Any) -> None:
    def function(
        input: Tensor,
        dim: Any = None,
        unbiased: Any = None,
        keepdim: Any = False,
        *,
        correction: Any = None,
        out: Any = None,
        axis: Any = None,
    ) -> Tensor:
        require_tensor(input, name)
        dim = axis if dim is None else dim
        if isinstance(dim, bool):  # std(unbiased)
            dim, unbiased = None, dim
        _plain_bool(unbiased, name, "unbiased", 3)
        if correction is None:
            correction = 1 if unbiased is None or unbiased else 0
        _warn_of_freedom(name, input, dim, correction)
        complex_out = isinstance(out, Tensor) and out.dtype.is_complex > input.dtype.is_complex
        if complex_out and input.numel() and len(axes(dim, input.dim())) < input.dim():
            # PyTorch casts only where it reduces everything; its other kernel has real dtypes.
            raise NotImplementedError(
                f"\"std_cpu\" not implemented for '{dtypes.scalar_type(out.dtype)}'"
            )
        return spec(input, dim, correction, keepdim, out=out)

    function.__doc__ = f"""Return the {name} over ``dim``; ``correction`` 1 (or ``unbiased``) by
    default.

    ``dim`` is a number, a tuple, or None for all. NaN, with a warning, where there are no more
    elements than ``correction``.

    Example:
      >>> torch.tensor([1.0, 3.0]).{name}(correction=0)
      tensor(1.)
    """
    composite(name, tags="reduction.correction|correction_out|default|dim|out")(function)


_spread("var", var_op)
_spread("std", std_op)


@composite(method=False, tags="reduction.correction|default|dim")
def var_mean(
    input: Tensor,
    dim: Any = None,
    unbiased: Any = None,
    keepdim: Any = False,
    *,
    correction: Any = None,
) -> tuple[Tensor, Tensor]:
    """Return the variance and the mean."""
    require_tensor(input, "var_mean")
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return (input.var(dim, unbiased, keepdim, correction=correction), input.mean(dim, keepdim))


@composite(method=False, tags="reduction.correction|default|dim")
def std_mean(
    input: Tensor,
    dim: Any = None,
    unbiased: Any = None,
    keepdim: Any = False,
    *,
    correction: Any = None,
) -> tuple[Tensor, Tensor]:
    """Return the standard deviation and the mean."""
    require_tensor(input, "std_mean")
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return (input.std(dim, unbiased, keepdim, correction=correction), input.mean(dim, keepdim))


@op(casts_out=True, autocast={"cuda": "float32"}, tags="reduction.default|out")
def logsumexp(input: Input, dim: Dims, keepdim: Bool = False):
    """Return ``log(sum(exp(input)))`` over ``dim``, without overflow."""
    (x,) = promoted_float(input)
    over = axes(dim, x.ndim)
    return in_float32(lambda x: jax.scipy.special.logsumexp(x, over, keepdims=keepdim))(x)


# -- cumulative ------------------------------------------------------------------------------------


@op(casts_out="dtype", needs="nothing", inplace=True, autocast={"cuda": "float32"})
def cumsum(input: Input, dim: Int, *, dtype: DType = None):
    """Return the running sum along ``dim``.

    The result has the input's shape; integers are summed in int64. IndexError for a dimension out
    of range.

    Example:
      >>> torch.tensor([1, 2, 3]).cumsum(0)
      tensor([1, 3, 6])
    """
    x = _accumulated(input, dtype)
    d = errors.wrap_dim(dim, x.ndim)
    if not x.ndim or not x.size:
        return x
    if x.dtype == np.bool_:
        raise NotImplementedError("\"cumsum_out_cpu\" not implemented for 'Bool'")
    return in_float32(lambda x: running_sum(x, d))(x)


@op(casts_out="dtype", inplace=True, autocast={"cuda": "float32"})
def cumprod(input: Input, dim: Int, *, dtype: DType = None):
    """Return the running product along ``dim``."""
    x = _accumulated(input, dtype)
    d = errors.wrap_dim(dim, x.ndim)
    if not x.ndim or not x.size:
        return x
    if x.dtype == np.bool_:
        raise NotImplementedError("\"cumprod_out_cpu\" not implemented for 'Bool'")
    return in_float32(lambda x: running_product(x, d))(x)


@op()
def logcumsumexp(input: Input, dim: Int):
    """Return the running log-sum-exp along ``dim``."""
    d = errors.wrap_dim(dim, input.ndim)
    if input.dtype.kind != "c":
        floats_only(input, "logcumsumexp_out_cpu")
    if not input.ndim or not input.size:
        return input
    if input.dtype.kind != "c":
        return in_float32(lambda x: _running_logsumexp(x, d))(input)
    return jnp.moveaxis(_running_complex_logsumexp(jnp.moveaxis(input, d, 0)), 0, d)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _running_logsumexp(x: Any, axis: int) -> jax.Array:
    if by_rows(x.shape, axis):
        return folded(jnp.logaddexp, x, axis, -jnp.inf)
    return lax.cumlogsumexp(x, axis)


@_running_logsumexp.defjvp
def _running_logsumexp_jvp(axis: int, primals: Any, tangents: Any) -> tuple[Any, ...]:
    """Differentiate as sums of two, each to its share in the sum. Beside an infinity that is none:
    JAX's takes the infinity for 0."""
    (x,), (change,) = primals, tangents
    totals = _running_logsumexp(x, axis)
    before = lax.slice_in_dim(totals, 0, x.shape[axis] - 1, axis=axis)
    ahead = before - lax.slice_in_dim(x, 1, None, axis=axis)
    first = jnp.zeros_like(lax.slice_in_dim(x, 0, 1, axis=axis))
    kept = lax.concatenate([first, jax.nn.sigmoid(ahead)], axis)
    own = lax.concatenate([first + 1, jax.nn.sigmoid(-ahead)], axis)
    return totals, recurrence(kept, own * change, axis)


@jax.custom_jvp
def _running_complex_logsumexp(terms: Any) -> jax.Array:
    """Return the running log-sum-exp along the first dimension, one after the other, as PyTorch
    computes it: the branch of the logarithm depends on the order."""

    def step(so_far: Any, x: Any) -> tuple[Any, ...]:
        return (log_of_complex_sum(so_far, x),) * 2

    return scan(step, jnp.full_like(terms[0], -jnp.inf), terms)[1]


@_running_complex_logsumexp.defjvp
def _running_complex_logsumexp_jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
    """Differentiate the whole: in a loop that is differentiated twice, JAX forgets the rule of a
    step."""
    (terms,), (changes,) = primals, tangents
    totals = _running_complex_logsumexp(terms)
    before = jnp.concatenate([jnp.full_like(totals[:1], -jnp.inf), totals[:-1]])

    def share(p: Any) -> Any:
        # Beside what has no end PyTorch has no gradient for any of them.
        return jnp.where(totals.real == jnp.inf, jnp.nan, jnp.exp(p - totals))

    return totals, recurrence(share(before), share(terms) * changes, 0)


def _worst(dtype: Any, largest: Any) -> Any:
    """Return the number that every other is at least as good as."""
    if dtype.kind == "b":
        return not largest
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min if largest else limits.max
    return -np.inf if largest else np.inf


def _running_extremum(x: Any, dim: int, largest: Any) -> tuple[Any, ...]:
    d = errors.wrap_dim(dim, x.ndim)
    if x.ndim == 0:
        return x, jnp.zeros((), np.int64)
    positions = lax.broadcasted_iota(np.int64, x.shape, d)

    def later(a: Any, b: Any) -> tuple[Any, ...]:
        (xa, ia), (xb, ib) = a, b
        better = (xb >= xa) if largest else (xb <= xa)
        better = better | (jnp.isnan(xb) if dtypes.kind_of(x.dtype) == "f" else False)
        if dtypes.kind_of(x.dtype) == "f":
            better = better & ~(jnp.isnan(xa) & ~jnp.isnan(xb))
        return jnp.where(better, xb, xa), jnp.where(better, ib, ia)

    _, index = folded(later, (lax.stop_gradient(x), positions), d, (_worst(x.dtype, largest), 0))
    return jnp.take_along_axis(x, index, d), index


@op(
    returns=_named("cummax"),
    residuals=True,
    out_refusal="expected scalar_type {wanted} but found {found}",
)
@real_only("cummax_cpu")
def cummax(input: Input, dim: Int):
    """Return the running maximum and its index (last of ties)."""
    return _running_extremum(input, dim, True)


@op(
    returns=_named("cummin"),
    residuals=True,
    out_refusal="expected scalar_type {wanted} but found {found}",
)
@real_only("cummin_cpu")
def cummin(input: Input, dim: Int):
    """Return the running minimum and its index (last of ties)."""
    return _running_extremum(input, dim, False)


# -- norms -----------------------------------------------------------------------------------------


@op(
    "norm_op",
    namespaces=(),
    method=False,
    grad_name="LinalgVectorNormBackward0",
    autocast={"cuda": "float32"},
)
def norm_op(
    input: Input, p: Number = 2.0, dim: Dims = None, keepdim: Bool = False, dtype: DType = None
):
    """Return the p-norm of vectors over ``dim``; its gradient at zero is zero."""
    over = axes(dim, input.ndim)
    # In float16 the square of 256 is infinite.
    norm = in_float32(lambda x: vector_norm(x, p.value, over, keepdim))
    return norm(in_norm_dtype(input, dtype, "linalg.vector_norm"))


def in_norm_dtype(x: Any, dtype: Any, name: str) -> jax.Array:
    """Return ``x`` in the dtype in which its norm is computed.

    RuntimeError for integers, and for a dtype that would make the numbers complex, real or coarser.
    """
    kind = dtypes.kind_of(x.dtype)
    if kind not in "fc":
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got "
            f"{dtypes.scalar_type(x.dtype)}"
        )
    if dtype is None:
        return x
    wanted, asked = dtypes.kind_of(dtype), dtypes.scalar_type(dtype)
    if wanted not in "fc":
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {asked}")
    if wanted != kind:
        word = "real" if kind == "f" else "complex"
        raise RuntimeError(f"{name}: dtype should be {word} for {word} inputs, but got {asked}")
    if jnp.promote_types(x.dtype, dtype) != dtype:
        own = dtypes.scalar_type(x.dtype)
        raise RuntimeError(
            f"{name}: the dtype of the input ({own}) should be convertible without "
            f"narrowing to the specified dtype ({asked})"
        )
    return x.astype(dtype)


def vector_norm(x: Any, p: Any, over: tuple[int, ...], keepdim: Any) -> jax.Array:
    """Return ``sum(|x| ** p) ** (1 / p)`` with PyTorch's subgradients (0 at 0)."""
    if dtypes.kind_of(x.dtype) not in "fc":
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{dtypes.scalar_type(x.dtype)}"
        )
    size = absolute(x)
    if abs(p) == math.inf:
        found = extreme_size(size, over, p > 0)
        return found if keepdim else found.squeeze(over)
    if p == 0:
        return jnp.sum(size != 0, over, keepdims=keepdim).astype(size.dtype)
    if p == 1:
        return jnp.sum(size, over, keepdims=keepdim)
    if p == 2:
        total = jnp.sum((x * jnp.conj(x)).real, over, keepdims=keepdim)
        zero = total == 0
        return jnp.where(zero, 0, jnp.sqrt(jnp.where(zero, 1, total)))
    safe = jnp.where(size == 0, 1, size)
    powers = jnp.where(size == 0, 0 if p > 0 else jnp.inf, safe**p)
    total = jnp.sum(powers, over, keepdims=keepdim)
    zero = total == 0
    # Powers that are all 0: of zeros, or for a negative p of what is infinite or nearly so.
    return jnp.where(zero, 0 if p > 0 else jnp.inf, jnp.where(zero, 1, total) ** (1 / p))


@op(autocast={"cuda": "float32"})
def dist(input: Input, other: Input, p: Number = 2):
    """Return the p-norm of ``input - other``."""
    x, y = promoted_float(input, other)

    def norm(x: Any, y: Any) -> jax.Array:
        difference = x - y
        return vector_norm(difference, p.value, tuple(range(difference.ndim)), False)

    return in_float32(norm)(x, y)


def _plain_bool(value: object, op: str, name: str, position: int) -> Any:
    """Check that ``value``, an argument of a function that is made of other ops, is a bool (or
    None), and return it. TypeError otherwise."""
    if value is None or isinstance(value, (bool, np.bool_)):
        return value
    raise TypeError(
        f"{op}(): argument '{name}' (position {position}) must be bool, not {type(value).__name__}"
    )
