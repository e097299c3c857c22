"""Statistics: quantiles, covariance, numerical integration and differences."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import dtypes, errors
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import (
    Bool,
    Input,
    Int,
    Operand,
    OptInput,
    OptInt,
    Str,
    require_tensor,
)
from torchlike._ops.checks import scalar_type_of
from torchlike._ops.promotion import in_float32, promoted, result_dtype
from torchlike._ops.reduce.sorting import sorted_with_index
from torchlike._ops.shape.joining import cat
from torchlike._ops.value_checks import refuse_where, values_of
from torchlike._runtime.reference import error_of
from torchlike.tensor import Tensor, wrap

# -- quantiles -------------------------------------------------------------------------------------

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _check_q(input: Any, q: Any, *rest: Any) -> None:
    values = values_of(q)
    if dtypes.kind_of(values.dtype) == "f":
        words = "quantile() q must be in the range [0, 1] but got {0:g}"
        refuse_where(~((values >= 0) & (values <= 1)), RuntimeError, words, values)


@op(
    "quantile_op",
    namespaces=(),
    method=False,
    check=_check_q,
    residuals=True,
    grad_name="QuantileBackward0",
    autocast={"cpu": "float32"},
)
def quantile_op(
    input: Input, q: Input, dim: OptInt, keepdim: Bool, interpolation: Str, ignore_nan: Bool
):
    """Return the quantiles along a dimension, at the fractions ``q`` of the order."""
    name = "nanquantile" if ignore_nan else "quantile"
    if input.dtype not in (np.float32, np.float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if input.size == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if q.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if q.dtype != input.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}"
        )
    if dim is None:
        x, d, shape = input.reshape(-1), 0, (1,) * input.ndim
    else:
        d = errors.wrap_dim(dim, input.ndim)
        x = jnp.atleast_1d(input)
        shape = (*input.shape[:d], 1, *input.shape[d + 1 :]) if input.ndim else ()
    values = jnp.moveaxis(sorted_with_index(x, d, False)[0], d, -1)
    n = values.shape[-1]
    nans = jnp.sum(jnp.isnan(lax.stop_gradient(values)), -1, keepdims=True)
    fraction = q.reshape(-1)
    if ignore_nan:
        rank = jnp.maximum(fraction * (n - nans - 1), 0)
    else:
        rank = jnp.where(nans > 0, n - 1, fraction * (n - 1))  # NaN sorts last
    rank = rank.astype(x.dtype)
    found = _interpolated(values, rank, interpolation)
    found = jnp.moveaxis(found, -1, 0)  # q comes first
    if keepdim:
        found = found.reshape(fraction.shape + shape)
    return found if q.ndim else found[0]


def _interpolated(values: Any, rank: Any, interpolation: str) -> jax.Array:
    """Interpolate sorted values at fractional ranks of the last axis."""
    rounding = {"lower": jnp.floor, "higher": jnp.ceil, "nearest": jnp.round}.get(interpolation)
    if rounding is not None:
        return jnp.take_along_axis(values, rounding(rank).astype(np.int64), -1)
    low, high = jnp.floor(rank), jnp.ceil(rank)
    below = jnp.take_along_axis(values, low.astype(np.int64), -1)
    above = jnp.take_along_axis(values, high.astype(np.int64), -1)
    weight = jnp.full_like(rank, 0.5) if interpolation == "midpoint" else rank - low
    # As PyTorch's lerp: from the nearer end, so that both ends are exact.
    step = above - below
    return jnp.where(weight < 0.5, below + weight * step, above - step * (1 - weight))


def _quantile(name: str, ignore_nan: Any) -> None:
    def function(
        input: Tensor,
        q: Any,
        dim: int | None = None,
        keepdim: Any = False,
        *,
        interpolation: str = "linear",
        out: Any = None,
    ) -> Tensor:
        if not isinstance(q, Tensor):
            if not 0 <= q <= 1:
                raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
            q = wrap(jnp.asarray(q, input.dtype.numpy if input.dtype.category == 2 else np.float32))
        return quantile_op(input, q, dim, keepdim, interpolation, ignore_nan, out=out)

    function.__doc__ = f"""Return the ``q``-th {name}s (a number, or a vector: the result's
    first dimension) along ``dim``, or of all elements. RuntimeError unless every q is in [0, 1]."""
    composite(name, autocast={"cpu": "float32"})(function)


_quantile("quantile", False)
_quantile("nanquantile", True)


# -- covariance ------------------------------------------------------------------------------------


def _check_weights(input: Any, correction: int, fweights: Any, aweights: Any) -> None:
    for name, weights, kinds in (("fweights", fweights, "iu"), ("aweights", aweights, "f")):
        fits = weights is not None and dtypes.kind_of(weights.dtype) in kinds
        if fits:
            words = f"cov(): {name} cannot be negative"
            refuse_where(values_of(weights) < 0, RuntimeError, words)


@op("cov_op", check=_check_weights, namespaces=(), method=False, grad_name="CovBackward0")
def cov_op(input: Input, correction: Int, fweights: OptInput, aweights: OptInput):
    """Return the covariance matrix of variables in rows."""
    if input.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with "
            f"{input.ndim} dimensions"
        )
    if input.dtype == np.bool_:
        raise error_of(NotImplementedError)("cov(): bool dtype is not supported for input")
    x = jnp.atleast_2d(input)
    if x.dtype.kind in "iub":
        x = x.astype(dtypes.get_default_dtype().numpy)
    n = x.shape[1]
    weights = None
    for name, w, kinds, kind in (
        ("fweights", fweights, "iu", "integral"),
        ("aweights", aweights, "f", "floating point"),
    ):
        if w is None:
            continue
        if w.ndim > 1:
            raise RuntimeError(
                f"cov(): expected {name} to have one or fewer dimensions but got "
                f"{name} with {w.ndim} dimensions"
            )
        if dtypes.kind_of(w.dtype) not in kinds:
            raise RuntimeError(
                f"cov(): expected {name} to have {kind} dtype but got {name} with "
                f"{scalar_type_of(w)} dtype"
            )
        if w.size != n:
            raise RuntimeError(
                f"cov(): expected {name} to have the same numel as there are observations in the "
                f"input but got {w.size} != {n}"
            )
        weights = w if weights is None else jnp.multiply(*promoted(weights, w))
    if weights is not None:
        x = x.astype(result_dtype(x, weights).numpy)
    real = x.real.dtype
    if weights is None:
        total: Any = jnp.asarray(n, real)
        mean = jnp.mean(x, 1, keepdims=True)
        factor = total - correction
    else:
        # In the weights' own dtype, as PyTorch computes it.
        total = jnp.sum(weights)
        mean = jnp.sum(x * weights, 1, keepdims=True) / total
        if aweights is None or correction == 0:
            factor = total - correction
        else:
            factor = total - correction * jnp.sum(weights * aweights) / total
    centred = x - mean
    weighted = centred if weights is None else centred * weights
    found = weighted @ jnp.conj(centred).T / jnp.maximum(factor, 0).astype(real)
    return found.squeeze()


@composite()
def cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """Return the covariance matrix of variables in rows, observations in columns.

    RuntimeError for negative weights.
    """
    return cov_op(input, correction, fweights, aweights)


@op()
def corrcoef(input: Input):
    """Return Pearson's correlation of variables in rows, observations in columns."""
    if input.ndim > 2:
        raise RuntimeError(
            "corrcoef(): expected input to have two or fewer dimensions but got an input with "
            f"{input.ndim} dimensions"
        )
    c = cov_op.spec.fn(input, 1, None, None)
    if not c.ndim:
        return c / c
    deviation = jnp.sqrt(jnp.diagonal(c).real)
    c = c / deviation[:, None] / deviation[None, :]
    if c.dtype.kind == "c":
        return lax.complex(jnp.clip(c.real, -1, 1), jnp.clip(c.imag, -1, 1))
    return jnp.clip(c, -1, 1)


# -- integration and differences -------------------------------------------------------------------


def _samples(y: Tensor, x: Any, dx: Any, dim: int, name: str) -> tuple[Tensor, Any]:
    """Return (sums of neighbours, distances between sample points) along ``dim``."""
    if not y.dim():
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    d = errors.wrap_dim(dim, y.dim())
    n = y.shape[d]
    if isinstance(dx, (bool, complex)):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")
    if y.dtype.name == "bool":
        raise error_of(NotImplementedError)(
            f"{name}: received a bool input for `y`, but bool is not supported"
        )
    pairs = y.narrow(d, 1, n - 1) + y.narrow(d, 0, n - 1) if n else y
    if x is None:
        return pairs, dx
    if x.dim() == 1:
        if x.numel() != n:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        x = x.view((-1,) + (1,) * (y.dim() - d - 1))
        gaps = x.diff(dim=0)
    else:
        lead = x.dim() - y.dim()
        gaps = x.diff(dim=d + lead if lead <= 0 else d)
    return pairs, gaps


def _distance(x: Any, dx: Any, name: str) -> Any:
    """Return ``dx`` as a float, 1 unless it is given. TypeError where points are given, or are
    none."""
    if x is not None and (dx is not None or not isinstance(x, Tensor)):
        given = f"x={type(x).__name__}" + ("" if dx is None else f", dx={type(dx).__name__}")
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got (Tensor, {given}), but "
            "expected either the sample points x, a Tensor, or their distance dx"
        )
    if dx is not None and type(dx) in (int, bool):  # beside integers of fewer bits it would wrap
        return float(dx)
    return 1 if dx is None else dx


@composite(method=False, aliases=("trapz",))
def trapezoid(y: Tensor, x: Any = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """Return the integral along ``dim`` by the trapezoidal rule, over points ``x`` or distance
    ``dx``."""
    require_tensor(y, "trapezoid", "y")
    pairs, gaps = _samples(y, x, _distance(x, dx, "trapezoid"), dim, "trapezoid")
    return (pairs * gaps).sum(dim) / 2.0


@composite(method=False)
def cumulative_trapezoid(y: Tensor, x: Any = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """Return the running integral along ``dim`` by the trapezoidal rule; one element shorter."""
    require_tensor(y, "cumulative_trapezoid", "y")
    name = "cumulative_trapezoid"
    pairs, gaps = _samples(y, x, _distance(x, dx, name), dim, name)
    return (pairs * gaps).cumsum(dim) / 2.0


def _vander(x: Tensor, n: int, increasing: Any) -> Tensor:
    powers = _powers(x, n)
    return powers if increasing else powers.flip(-1)


def _powers(x: Tensor, n: int) -> Tensor:
    """Return 1, x, x², … (n of them) as a new last dimension, by repeated products."""
    ones = x.new_ones((*x.shape, 1))
    if n <= 1:
        return ones.narrow(-1, 0, max(n, 0))
    repeated = x.unsqueeze(-1).expand(*x.shape, n - 1)
    return cat([ones.to(repeated.dtype), repeated.cumprod(-1)], -1)


@composite(method=False)
def vander(x: Tensor, N: int | None = None, increasing: Any = False) -> Tensor:
    """Return the Vandermonde matrix: powers of a vector in columns, falling unless
    ``increasing``."""
    require_tensor(x, "vander", "x")
    if x.dim() != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = x.numel() if N is None else N
    if n < 0:
        raise RuntimeError("N must be non-negative.")
    return _vander(x, n, increasing)


@composite("vander", namespaces=("linalg",), method=False)
def linalg_vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Return rising powers of the elements of the last dimension, as a new last dimension."""
    require_tensor(x, "linalg_vander", "x")
    if x.dtype is dtypes.bool or (x.is_floating_point() and x.itemsize < 4):
        raise RuntimeError(
            "linalg.vander supports floating point, complex, and integer tensors, but got "
            f"{dtypes.scalar_type(x.dtype)}"
        )
    given_0d = not x.dim()
    x = x.unsqueeze(0) if given_0d else x
    n = x.shape[-1] if N is None else N
    if n <= 1 and (N is not None or given_0d):
        raise RuntimeError("linalg.vander: N must be greater than 1.")
    return _vander(x, n, True)


def _joined(first: Any, inner: Any, last: Any, dim: int) -> jax.Array:
    return jnp.moveaxis(jnp.concatenate([first, inner, last], -1), -1, dim)


@op("gradient_even", namespaces=(), method=False, grad_name="GradientBackward0")
def gradient_even(input: Input, gap: Operand, dim: Int, edge_order: Int):
    """Return the second-order differences along one dimension, of points at a distance of
    ``gap``."""

    def differences(x: Any, gap: Any) -> jax.Array:
        x = jnp.moveaxis(x, dim, -1)
        if edge_order == 1:
            first, last = x[..., 1:2] - x[..., :1], x[..., -1:] - x[..., -2:-1]
        else:
            first = 2 * x[..., 1:2] - 1.5 * x[..., :1] - 0.5 * x[..., 2:3]
            last = 1.5 * x[..., -1:] - 2 * x[..., -2:-1] + 0.5 * x[..., -3:-2]
        inner = (x[..., 2:] - x[..., :-2]) / gap / 2
        return _joined(first / gap, inner, last / gap, dim)

    return in_float32(differences)(*promoted(input, gap))


@op("gradient_op", namespaces=(), method=False, grad_name="GradientBackward0")
def gradient_op(input: Input, at: Input, dim: Int, edge_order: Int):
    """Return the second-order differences along one dimension at sample points (a vector)."""

    def differences(x: Any, at: Any) -> jax.Array:
        x, gap = jnp.moveaxis(x, dim, -1), jnp.diff(at)
        left, right = gap[:-1], gap[1:]
        both = left + right
        inner = (
            x[..., :-2] * (-right / (left * both))
            + x[..., 1:-1] * ((right - left) / (left * right))
            + x[..., 2:] * (left / (right * both))
        )
        if edge_order == 1:
            first = (x[..., 1:2] - x[..., :1]) / gap[0]
            last = (x[..., -1:] - x[..., -2:-1]) / gap[-1]
        else:
            first = _at_end(x[..., 0:1], x[..., 1:2], x[..., 2:3], gap[0], gap[1])
            last = -_at_end(x[..., -1:], x[..., -2:-1], x[..., -3:-2], gap[-1], gap[-2])
        return _joined(first, inner, last, dim)

    dtype = result_dtype(input, at).numpy
    return in_float32(differences)(input.astype(dtype), at.astype(dtype))


def _at_end(x0: Any, x1: Any, x2: Any, near: Any, far: Any) -> jax.Array:
    """Return the slope at the first of three points, of the parabola through them."""
    both = near + far
    return (
        x0 * (-(near + both) / (near * both))
        + x1 * (both / (near * far))
        + x2 * (-near / (far * both))
    )


@composite(method=False)
def gradient(
    input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1
) -> tuple[Any, ...]:
    """Return estimated derivatives along each of ``dim`` (all by default), as a tuple of tensors.

    ``spacing`` is a distance, one distance for each dimension, or vectors of sample points; it is
    promoted with the input.
    """
    require_tensor(input, "gradient")
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    if dim is None:
        dims = list(range(input.dim()))
    else:
        dims = [errors.wrap_dim(d, input.dim()) for d in ((dim,) if isinstance(dim, int) else dim)]
        for d in dims:
            if dims.count(d) > 1:
                raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    if isinstance(spacing, Tensor):
        if spacing.dim() or spacing.requires_grad:
            raise TypeError("gradient(): argument 'spacing' must be Number, not Tensor")
        spacing = spacing.item()
    if not isinstance(spacing, (tuple, list)):
        spacing = [1 if spacing is None else spacing] * len(dims)
    if len(spacing) != len(dims):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
            f"{len(dims)}, but got a list of length {len(spacing)}"
        )
    x = input if input.dtype.category >= 2 else input.to(dtypes.get_default_dtype())
    results = []
    for d, gap in zip(dims, spacing, strict=True):
        n = x.shape[d]
        if n < edge_order + 1:
            raise RuntimeError(
                "torch.gradient expected each dimension size to be at least edge_order+1"
            )
        if isinstance(gap, Tensor) and gap.dim() != 1:
            raise RuntimeError(
                "torch.gradient expected each element of spacing to have one dimension, but got "
                f"an element with {gap.dim()} dimensions!"
            )
        along = gradient_op if isinstance(gap, Tensor) else gradient_even
        results.append(along(x, gap, d, edge_order))
    return tuple(results)
