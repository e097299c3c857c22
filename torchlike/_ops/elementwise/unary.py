"""Elementwise functions of one tensor: powers and logarithms, trigonometry, signs and rounding."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import dtypes
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Input, OptInexact, OptOperand, Scalar, require_tensor
from torchlike._ops.checks import floats_only, real_only
from torchlike._ops.elementwise import accurate, complex_edges, subgradients, trigonometry
from torchlike._ops.elementwise.branch_cuts import along_imaginaries, along_reals
from torchlike._ops.elementwise.division import divide
from torchlike._ops.promotion import in_float32, promoted_float, scalar_like
from torchlike._ops.special import gamma
from torchlike._runtime import targets
from torchlike._runtime.reference import error_of
from torchlike.tensor import Tensor


def _unary_float(
    name: str, fn: Any, aliases: tuple[str, ...] = (), real: Any = (), **facts: Any
) -> None:
    """Register functions that raise integers to the default float dtype.

    ``real``: what `real_only` is told for a function without complex numbers.
    """

    fn = in_float32(fn)

    def pure(input: Input):
        return fn(*promoted_float(input))

    pure.__doc__ = f"""Return ``{name}`` elementwise; integers give the default float dtype.

    The input is a tensor of any shape, which is the result's. TypeError for what is no tensor.
    """
    facts.setdefault("inplace", True)
    op(name, aliases=aliases, elementwise=True, **facts)(real_only(*real)(pure) if real else pure)


def _via_output(derivative: Any) -> Any:
    """Return a gradient rule from the output alone, in PyTorch's convention for complex numbers."""
    return lambda cotangent, out: cotangent * jnp.conj(derivative(out))


def _edged(fn: Any, name: str) -> Any:
    rule, derivative = getattr(complex_edges, name), getattr(complex_edges, f"of_{name}", None)
    return complex_edges.with_edges(fn, rule, derivative)


_root = complex_edges.root


def _reciprocal_root(x: Any) -> jax.Array:
    if not targets.is_xla_cpu():
        return lax.rsqrt(x)
    # The barrier keeps XLA from making an rsqrt of it, which its CPU backend does not vectorise:
    # 4 million float32 take 0.97 instead of 6.4 ms. PyTorch computes it so, too.
    return 1 / lax.optimization_barrier(_root(x))


def _reciprocal(x: Any) -> jax.Array:
    return divide(jnp.ones_like(x), x) if x.dtype.kind == "c" else 1 / x


#: Autocast on GPUs computes these in float32.
_WIDE: Any = {"autocast": {"cuda": "float32"}}

_unary_float("log2", _edged(jnp.log2, "log"), foreach=True, **_WIDE)
_unary_float("log10", _edged(jnp.log10, "log"), foreach=True, **_WIDE)
_unary_float("sin", _edged(trigonometry.sine, "sin"), foreach=True, zero_at_zero=True)
_unary_float("cos", _edged(trigonometry.cosine, "cos"), foreach=True)
_unary_float("tan", _edged(trigonometry.tangent, "tan"), foreach=True, zero_at_zero=True, **_WIDE)
_unary_float(
    "asin",
    _edged(along_reals(jnp.arcsin), "asin"),
    ("arcsin",),
    foreach=True,
    zero_at_zero=True,
    **_WIDE,
)
_unary_float("acos", _edged(along_reals(jnp.arccos), "acos"), ("arccos",), foreach=True, **_WIDE)
_unary_float("atan", _edged(accurate.arctan, "atan"), ("arctan",), foreach=True, zero_at_zero=True)
_unary_float("sinh", _edged(accurate.sinh, "sinh"), foreach=True, zero_at_zero=True, **_WIDE)
_unary_float("cosh", _edged(accurate.cosh, "cosh"), foreach=True, **_WIDE)
_unary_float(
    "asinh", _edged(along_imaginaries(jnp.arcsinh), "asinh"), ("arcsinh",), zero_at_zero=True
)
_unary_float("acosh", _edged(along_reals(jnp.arccosh), "acosh"), ("arccosh",))
_unary_float("atanh", _edged(accurate.arctanh, "atanh"), ("arctanh",), zero_at_zero=True)
_unary_float("sinc", accurate.sinc)
_unary_float("log", _edged(jnp.log, "log"), one_instruction=True, foreach=True, **_WIDE)
_unary_float(
    "log1p",
    _edged(jnp.log1p, "log1p"),
    one_instruction=True,
    foreach=True,
    zero_at_zero=True,
    **_WIDE,
)
_unary_float("erf", jax.scipy.special.erf, real=("erf_vml_cpu",), foreach=True, zero_at_zero=True)
_unary_float("erfc", jax.scipy.special.erfc, real=("erfc_vml_cpu",), foreach=True)
_unary_float(
    "erfinv", jax.scipy.special.erfinv, real=("erfinv_vml_cpu",), zero_at_zero=True, **_WIDE
)
_unary_float("lgamma", gamma.lgamma, real=("lgamma_vml_cpu",), foreach=True)
_unary_float("i0", subgradients.i0, real=("i0_vml_cpu",))
_unary_float("digamma", gamma.digamma, real=("digamma",))
for _name, _fn in (("deg2rad", jnp.deg2rad), ("rad2deg", jnp.rad2deg)):
    _unary_float(
        _name,
        _fn,
        real=(f"{_name} is not supported for complex tensors.", RuntimeError),
        zero_at_zero=True,
    )


def _from_output(name: str, fn: Any, derivative: Any, **options: Any) -> None:
    """Register a function of one instruction whose gradient needs only its result."""
    _unary_float(name, fn, from_output=_via_output(derivative), one_instruction=True, **options)


_from_output("exp", complex_edges.exponential, lambda y: y, foreach=True, **_WIDE)
_from_output(
    "expm1", _edged(jnp.expm1, "expm1"), lambda y: y + 1, foreach=True, zero_at_zero=True, **_WIDE
)
_from_output("tanh", _edged(jnp.tanh, "tanh"), lambda y: 1 - y * y, foreach=True, zero_at_zero=True)
_from_output("sqrt", _root, lambda y: 0.5 / y, foreach=True, zero_at_zero=True)
_from_output("sigmoid", complex_edges.sigmoid, lambda y: y * (1 - y), foreach=True)
_unary_float(
    "exp2", accurate.exp2, from_output=_via_output(lambda y: y * np.log(2).astype(y.dtype))
)
_unary_float(
    "rsqrt",
    _reciprocal_root,
    from_output=_via_output(lambda y: -0.5 * y * y * y),
    foreach=True,
    **_WIDE,
)
_unary_float(
    "reciprocal", _reciprocal, from_output=_via_output(lambda y: -(y * y)), foreach=True, **_WIDE
)


@op(inplace=True, elementwise=True)
@real_only("logit_cpu")
def logit(input: Input, eps: OptInexact = None):
    """Return ``log(x / (1 - x))``, with x clamped to ``[eps, 1 - eps]`` when eps is given."""
    (x,) = promoted_float(input)
    if eps is not None:
        low = scalar_like(eps, x)
        # Not jnp.clip, which at a bound passes half of a gradient.
        x = jnp.where(x < low, low, jnp.where(x > 1 - low, 1 - low, x))
    return subgradients.logit(x)


@op(
    casts_out=False,
    inplace=True,
    elementwise=True,
    needs="nothing",
    aliases=("negative",),
    foreach=True,
)
def neg(input: Input):
    """Return ``-input``. RuntimeError for bool tensors."""
    if input.dtype == np.bool_:
        raise error_of(NotImplementedError)(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
            "invert a mask, use the `~` or `logical_not()` operator instead."
        )
    return -input


@composite()
def positive(input: Tensor) -> Tensor:
    """Return ``input`` itself. RuntimeError for bool tensors."""
    if require_tensor(input, "positive").dtype is dtypes.bool:
        raise error_of(NotImplementedError)("The `+` operator, on a bool tensor is not supported.")
    return input


@op(
    casts_out=lambda input: input.is_complex(),
    inplace=True,
    elementwise=True,
    aliases=("absolute",),
    foreach=True,
    zero_at_zero=True,
)
def abs(input: Input):
    """Return the absolute value elementwise; the modulus (real) of a complex tensor.

    Example:
      >>> torch.abs(torch.tensor([-1, 2])), torch.tensor(3 + 4j).abs()
      (tensor([1, 2]), tensor(5.))
    """
    return input if input.dtype == np.bool_ else subgradients.absolute(input)


@op(casts_out=False, inplace=True, elementwise=True, foreach=True, zero_at_zero=True)
@real_only(
    "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn "
    "instead."
)
def sign(input: Input):
    """Return -1, 0 or 1; bools stay."""
    return input if input.dtype == np.bool_ else subgradients.sign(input)


@op(casts_out=False, inplace=True, elementwise=True, zero_at_zero=True)
def sgn(input: Input):
    """Return the sign of reals, and ``z / |z|`` of complex numbers."""
    if input.dtype.kind != "c":
        return input if input.dtype == np.bool_ else subgradients.sign(input)
    # Written out, because JAX takes the derivative of a complex sign to be 0.
    size = subgradients.absolute(input)
    zero = size == 0
    # By parts: of an infinity over an infinity a complex quotient makes NaN of both.
    size = jnp.where(zero, 1, size)
    return jnp.where(zero, 0, lax.complex(input.real / size, input.imag / size))


@op(inplace=True, elementwise=True, zero_at_zero=True)
def square(input: Input):
    """Return ``input ** 2``."""
    return input * input if input.dtype != np.bool_ else input.astype(np.int64)


def _rounding(name: str, fn: Any, aliases: tuple[str, ...] = ()) -> None:
    def pure(input: Input):
        if input.dtype == np.bool_:
            raise NotImplementedError(f"\"{name}_vml_cpu\" not implemented for 'Bool'")
        return input if input.dtype.kind in "iu" else fn(input)

    pure.__doc__ = (
        f"Return ``{name}`` elementwise; integers stay as they are; the gradient is zero."
    )
    op(
        name,
        aliases=aliases,
        inplace=True,
        elementwise=True,
        casts_out=False,
        needs="nothing",
        foreach=True,
        zero_at_zero=True,
    )(real_only(f"{name} is not supported for complex inputs")(pure))


_rounding("floor", jnp.floor)
_rounding("ceil", jnp.ceil)
_rounding("trunc", jnp.trunc, ("fix",))


def _rounded_integers(x: Any, decimals: Any) -> jax.Array:
    """Round integers half to even, to a multiple of a power of ten where ``decimals`` is
    negative."""
    places = jnp.clip(-jnp.asarray(decimals), 0, 18)
    unit = jnp.asarray(10, np.int64) ** places.astype(np.int64)
    wide = x.astype(np.int64)
    quotient, rest = jnp.divmod(wide, unit)
    up = (rest > unit - rest) | ((rest == unit - rest) & (quotient % 2 == 1))
    return jnp.where(unit == 1, x, ((quotient + up) * unit).astype(x.dtype))


@op(casts_out=False, inplace=True, elementwise=True, needs="nothing", foreach=True)
@real_only("round_vml_cpu")
def round(input: Input, *, decimals: Scalar = 0):
    """Round half to even, to ``decimals`` places; the gradient is zero.

    Differs from PyTorch: integers too are rounded to tens, hundreds and so on, which it refuses.
    """
    if input.dtype == np.bool_:
        raise NotImplementedError("\"round_vml_cpu\" not implemented for 'Bool'")
    if input.dtype.kind in "iu":
        return _rounded_integers(input, decimals)
    places = jnp.asarray(decimals)

    def rounded(x: Any) -> jax.Array:
        scale = (jnp.asarray(10.0, np.float64) ** jnp.abs(places)).astype(x.dtype)
        after = divide(jnp.round(x * scale), scale)
        before = jnp.round(divide(x, scale)) * scale
        return jnp.where(places == 0, jnp.round(x), jnp.where(places > 0, after, before))

    return in_float32(rounded)(input)


@op(casts_out=False, inplace=True, elementwise=True, foreach=True, zero_at_zero=True)
def frac(input: Input):
    """Return ``input - trunc(input)``."""
    floats_only(input, "frac_cpu")
    return input - lax.stop_gradient(jnp.trunc(input))


@op(casts_out=False, inplace=True, elementwise=True, zero_at_zero=True)
def nan_to_num(
    input: Input, nan: OptOperand = None, posinf: OptOperand = None, neginf: OptOperand = None
):
    """Replace NaN and infinities (by 0 and the dtype's limits unless given)."""
    if input.dtype.kind in "iub":
        return input
    if nan is None:
        return jnp.nan_to_num(input, posinf=posinf, neginf=neginf)

    def replaced(x: Any) -> jax.Array:
        # NaN last: a number beyond the dtype's range is an infinity, and stays one.
        ends = jnp.nan_to_num(x, posinf=posinf, neginf=neginf)
        return jnp.where(jnp.isnan(x), jnp.asarray(nan).astype(x.dtype), ends)

    if input.dtype.kind != "c":
        return replaced(input)
    return lax.complex(replaced(input.real), replaced(input.imag))
