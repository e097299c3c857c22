"""Elementwise arithmetic, comparisons, logic and rounding."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike import dtypes
from torchlike.dispatch.registry import OPS, composite, op
from torchlike.dispatch.schema import Input, Number, Operand, OptOperand, OptStr, Scalar
from torchlike.ops import gamma, subgradients
from torchlike.ops.promotion import (
    check_broadcast,
    in_float32,
    is_number,
    promoted,
    promoted_float,
    require_tensor,
    result_dtype,
    scalar_like,
)
from torchlike.tensor import Tensor

# -- binary arithmetic -----------------------------------------------------------------------------


@op(aliases=(), inplace=True, elementwise=True, needs="nothing")
def add(input: Operand, other: Operand, *, alpha: Scalar = 1):
    """``input + alpha * other``, broadcast and promoted."""
    x, y = promoted(input, other)
    _check_alpha(alpha, x)
    if x.dtype == np.bool_:
        return x | (y & jnp.asarray(alpha).astype(bool))
    return x + y * scalar_like(alpha, x)


@op(aliases=("subtract",), inplace=True, elementwise=True, needs="nothing")
def sub(input: Operand, other: Operand, *, alpha: Scalar = 1):
    """``input - alpha * other``, broadcast and promoted. RuntimeError for bool tensors."""
    x, y = promoted(input, other)
    if x.dtype == np.bool_ or _bool_tensor(input) or _bool_tensor(other):
        both = _bool_tensor(input) and _bool_tensor(other)
        raise RuntimeError(
            "Subtraction, the `-` operator, with "
            + ("two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."
               if both else "a bool tensor is not supported. If you are trying to invert a mask, "
               "use the `~` or `logical_not()` operator instead.")
        )  # fmt: skip
    _check_alpha(alpha, x)
    return x - y * scalar_like(alpha, x)


@op(elementwise=True, needs="nothing", grad_name="RsubBackward1")
def rsub(input: Input, other: Operand, *, alpha: Scalar = 1):
    """``other - alpha * input``."""
    return sub.spec.fn(other, input, alpha=alpha)


def _bool_tensor(x: Any) -> Any:
    return not is_number(x) and x.dtype == np.bool_


def _check_alpha(alpha: Any, x: Any) -> None:
    kind = jnp.asarray(alpha).dtype.kind
    if x.dtype.kind in "iub" and kind in "fc":
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating "
                           "point number.")  # fmt: skip
    if kind == "c" and x.dtype.kind != "c":
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex "
                           "number.")  # fmt: skip


@op(
    aliases=("multiply",), inplace=True, elementwise=True,
    needs={"input": ["other"], "other": ["input"]},
)  # fmt: skip
def mul(input: Operand, other: Operand):
    """``input * other``, broadcast and promoted."""
    x, y = promoted(input, other)
    return x & y if x.dtype == np.bool_ else x * y


@op(
    aliases=("divide", "true_divide"), inplace=True, elementwise=True,
    needs={"input": ["other"], "other": ["input", "other"]},
)  # fmt: skip
def div(input: Operand, other: Operand, *, rounding_mode: OptStr = None):
    """``input / other``; with ``rounding_mode`` "trunc" or "floor", rounded, and integers stay."""
    if rounding_mode is None:
        x, y = promoted_float(input, other)
        return x / y
    if rounding_mode not in ("trunc", "floor"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
            f"'{rounding_mode}'"
        )
    x, y = promoted(input, other)
    return _rounded_div(x, y, rounding_mode)


def _rounded_div(x: Any, y: Any, mode: str) -> Any:
    if x.dtype == np.bool_:
        x, y = x.astype(np.uint8), y.astype(np.uint8)
    if x.dtype.kind in "iu":
        return lax.div(*jnp.broadcast_arrays(x, y)) if mode == "trunc" else jnp.floor_divide(x, y)
    if mode == "trunc":
        return jnp.trunc(x / y)
    # jnp.floor_divide follows Python for infinities; PyTorch gives the plain quotient for y == 0.
    return jnp.where(y == 0, x / y, jnp.floor_divide(x, jnp.where(y == 0, jnp.ones_like(y), y)))


@op(inplace=True, elementwise=True, differentiable=True)
def floor_divide(input: Operand, other: Operand):
    """The quotient rounded toward negative infinity."""
    x, y = promoted(input, other)
    return lax.stop_gradient(_rounded_div(x, y, "floor"))


@op(inplace=True, elementwise=True)
def remainder(input: Operand, other: Operand):
    """``input - floor(input / other) * other``: the sign of the divisor, as Python's ``%``."""
    require_tensor("remainder", input, other)
    x, y = promoted(input, other)
    return jnp.remainder(x, y)


@op(inplace=True, elementwise=True)
def fmod(input: Input, other: Operand):
    """The C remainder: the sign of the dividend."""
    x, y = promoted(input, other)
    return jnp.fmod(x, y)


@op("pow_scalar", namespaces=(), method=False, inplace=True, elementwise=True,
    grad_name="PowBackward0")  # fmt: skip
def pow_scalar(input: Input, exponent: Number):
    """A Python-number power: the exponent is static, so that squares become products."""
    power = exponent.value
    dtype = result_dtype(input, power)
    x = input.astype(dtype.numpy)
    if x.dtype.kind in "iub":
        if power < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        return lax.integer_pow(x, int(power)) if x.dtype != np.bool_ else x | (power == 0)
    if dtypes.kind_of(x.dtype) == "f" and power == 0.5:
        return jnp.sqrt(x)
    if float(power.real).is_integer() and not isinstance(power, complex) and -64 <= power <= 64:
        return lax.integer_pow(x, int(power))
    return jnp.power(x, jnp.asarray(power).astype(x.dtype))


@op("pow_tensor", namespaces=(), method=False, inplace=True, elementwise=True,
    grad_name="PowBackward1")  # fmt: skip
def pow_tensor(input: Operand, exponent: Operand):
    """A tensor power, or a number to a tensor power."""
    x, y = promoted(input, exponent)
    if x.dtype.kind in "iub":
        return _integer_power(x, y)
    return subgradients.power(x, y)


@composite()
def pow(input: Any, exponent: Any, *, out: Any = None) -> Any:
    """``input ** exponent``, broadcast and promoted.

    RuntimeError for integers to a negative integer power.
    """
    if not isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        raise TypeError(
            f"pow() received an invalid combination of arguments - got ({type(input).__name__}, "
            f"{type(exponent).__name__}), but expected at least one Tensor"
        )
    number = isinstance(exponent, (int, float, complex)) and isinstance(input, Tensor)
    return (pow_scalar if number else pow_tensor)(input, exponent, out=out)


@composite(namespaces=())
def pow_(input: Any, exponent: Any) -> Any:
    """``pow`` in place."""
    number = isinstance(exponent, (int, float, complex))
    return OPS["pow_scalar" if number else "pow_tensor"].in_place(input, exponent)


def _integer_power(x: Any, y: Any) -> Any:
    x, y = jnp.broadcast_arrays(x, y)
    if x.dtype == np.bool_:
        return x | ~y
    negative = y < 0
    # As C++: negative powers of 1 and -1 are exact, of anything else 0.
    sign = jnp.where(y % 2 == 0, 1, -1).astype(x.dtype)
    small = jnp.where(x == 1, 1, jnp.where(x == -1, sign, 0)).astype(x.dtype)
    return jnp.where(negative, small, jnp.power(x, jnp.where(negative, 0, y)))


@op(casts_out=False, elementwise=True)
def float_power(input: Operand, exponent: Operand):
    """``pow`` in double precision."""
    require_tensor("float_power", input, exponent)
    wide = np.complex128 if result_dtype(input, exponent).is_complex else np.float64
    check_broadcast(input, exponent)
    return subgradients.power(jnp.asarray(input).astype(wide), jnp.asarray(exponent).astype(wide))


@composite(namespaces=())
def float_power_(input: Tensor, exponent: Any) -> Tensor:
    """``float_power`` in place. RuntimeError unless ``input`` is already of double precision."""
    result = float_power(input, exponent)
    if result.dtype is not input.dtype:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {dtypes.scalar_type(input.dtype)} but the "
            f"operation's result requires dtype {dtypes.scalar_type(result.dtype)}"
        )
    return input.copy_(result)


def _binary(name: str, fn: Any, *, floats: Any = False, inplace: Any = False,
            other: Any = Input, **facts: Any) -> None:  # fmt: skip
    """An op of two tensors (or, with ``other=Operand``, a tensor and a tensor or number)."""
    prepare = promoted_float if floats else promoted

    def pure(input: Input, other: other):  # type: ignore[valid-type]
        return fn(*prepare(input, other))

    pure.__annotations__["other"] = other
    pure.__doc__ = f"``{name}(input, other)`` elementwise, broadcast and promoted."
    op(name, inplace=inplace, elementwise=True, **facts)(pure)


def _heaviside(x: Any, y: Any) -> Any:
    """0 below zero, 1 above, ``y`` at zero."""
    return jnp.where(x == 0, y, (x > 0).astype(x.dtype))


_binary("maximum", subgradients.maximum)
_binary("minimum", subgradients.minimum)
_binary("fmax", subgradients.fmax)
_binary("fmin", subgradients.fmin)
_binary("atan2", jnp.arctan2, floats=True, inplace=True, aliases=("arctan2",))
_binary("hypot", jnp.hypot, inplace=True)
_binary("logaddexp", in_float32(subgradients.logaddexp), floats=True)
_binary("logaddexp2", in_float32(jnp.logaddexp2), floats=True)
_binary("copysign", jnp.copysign, floats=True, inplace=True, other=Operand)
_binary("nextafter", subgradients.nextafter, floats=True, inplace=True)
_binary("heaviside", _heaviside, inplace=True, differentiable=False, casts_out=False)
_binary("gcd", jnp.gcd, inplace=True, differentiable=False)
_binary("lcm", jnp.lcm, inplace=True, differentiable=False)


@op(inplace=True, elementwise=True)
def xlogy(input: Operand, other: Operand):
    """``input * log(other)``, 0 where ``input`` is 0. TypeError unless one is a tensor."""
    require_tensor("xlogy", input, other)
    return subgradients.xlogy(*promoted_float(input, other))


# -- comparisons and logic -------------------------------------------------------------------------


def _comparison(name: str, fn: Any, aliases: tuple[str, ...] = (), other: Any = Operand) -> None:
    def pure(input: Input, other: other):  # type: ignore[valid-type]
        return fn(*promoted(input, other))

    pure.__annotations__["other"] = other

    pure.__doc__ = f"``{name}`` elementwise; a bool tensor."
    op(name, aliases=aliases, inplace=True, elementwise=True, differentiable=False)(pure)


_comparison("eq", jnp.equal)
_comparison("ne", jnp.not_equal, ("not_equal",))
_comparison("lt", jnp.less, ("less",))
_comparison("le", jnp.less_equal, ("less_equal",))
_comparison("gt", jnp.greater, ("greater",))
_comparison("ge", jnp.greater_equal, ("greater_equal",))
_comparison("logical_and", lambda x, y: (x != 0) & (y != 0), other=Input)
_comparison("logical_or", lambda x, y: (x != 0) | (y != 0), other=Input)
_comparison("logical_xor", lambda x, y: (x != 0) ^ (y != 0), other=Input)


def _bitwise(name: str, fn: Any) -> None:
    def pure(input: Operand, other: Operand):
        require_tensor(name, input, other)
        x, y = promoted(input, other)
        if x.dtype.kind not in "iub":
            kind = dtypes.scalar_type(dtypes.from_numpy_dtype(x.dtype))
            kernel = {"bitwise_left_shift": "lshift", "bitwise_right_shift": "rshift"}.get(
                name, name
            )
            raise NotImplementedError(f"\"{kernel}_cpu\" not implemented for '{kind}'")
        return fn(x, y)

    pure.__doc__ = f"``{name}`` of integers or bools."
    op(name, inplace=True, elementwise=True, differentiable=False)(pure)


_bitwise("bitwise_and", jnp.bitwise_and)
_bitwise("bitwise_or", jnp.bitwise_or)
_bitwise("bitwise_xor", jnp.bitwise_xor)
_bitwise("bitwise_left_shift", jnp.left_shift)
_bitwise("bitwise_right_shift", jnp.right_shift)


@op(casts_out=False, inplace=True, elementwise=True, differentiable=False)
def bitwise_not(input: Input):
    """Bits inverted; logical not for bools."""
    if input.dtype.kind not in "iub":
        kind = dtypes.scalar_type(dtypes.from_numpy_dtype(input.dtype))
        raise NotImplementedError(f"\"bitwise_not_cpu\" not implemented for '{kind}'")
    return ~input


@op(inplace=True, elementwise=True, differentiable=False)
def logical_not(input: Input):
    """True where ``input`` is zero."""
    return input == 0


def _check_tolerances(input: Any, other: Any, rtol: Any, atol: Any, equal_nan: Any) -> None:
    for name, value in (("rtol", rtol), ("atol", atol)):
        if float(value) < 0:
            raise RuntimeError(
                f"{name} must be greater than or equal to zero, but got {float(value):g}"
            )


@op(elementwise=True, differentiable=False, check=_check_tolerances)
def isclose(input: Input, other: Input, rtol: Scalar = 1e-05, atol: Scalar = 1e-08,
            equal_nan: Operand = False):  # fmt: skip
    """Whether ``|input - other| <= atol + rtol * |other|``."""
    if input.dtype != other.dtype:
        kinds = [dtypes.scalar_type(dtypes.from_numpy_dtype(t.dtype)) for t in (input, other)]
        raise RuntimeError(f"{kinds[0]} did not match {kinds[1]}")
    x, y = promoted(input, other)
    wide = x.dtype if dtypes.kind_of(x.dtype) in "fc" else np.dtype(np.float64)
    close = (x == y) | (
        jnp.isfinite(y)
        & (jnp.abs(x.astype(wide) - y.astype(wide)) <= atol + jnp.abs(rtol * y.astype(wide)))
    )
    return close | (jnp.asarray(equal_nan) & jnp.isnan(x) & jnp.isnan(y))


# -- unary -----------------------------------------------------------------------------------------


def _unary_float(name: str, fn: Any, aliases: tuple[str, ...] = (), **facts: Any) -> None:
    """Functions that raise integers to the default float."""

    fn = in_float32(fn)

    def pure(input: Input):
        return fn(*promoted_float(input))

    pure.__doc__ = f"``{name}`` elementwise; integers give the default float dtype."
    facts.setdefault("inplace", True)
    op(name, aliases=aliases, elementwise=True, **facts)(pure)


def _via_output(derivative: Any) -> Any:
    """Gradient rule from the output alone, in PyTorch's convention for complex numbers."""
    return lambda cotangent, out: cotangent * jnp.conj(derivative(out))


for _name, _fn, _aliases in (
    ("log", jnp.log, ()), ("log2", jnp.log2, ()), ("log10", jnp.log10, ()),
    ("log1p", jnp.log1p, ()), ("sin", jnp.sin, ()), ("cos", jnp.cos, ()), ("tan", jnp.tan, ()),
    ("asin", jnp.arcsin, ("arcsin",)), ("acos", jnp.arccos, ("arccos",)),
    ("atan", jnp.arctan, ("arctan",)), ("sinh", jnp.sinh, ()), ("cosh", jnp.cosh, ()),
    ("asinh", jnp.arcsinh, ("arcsinh",)), ("acosh", jnp.arccosh, ("arccosh",)),
    ("atanh", jnp.arctanh, ("arctanh",)), ("erf", jax.scipy.special.erf, ()),
    ("erfc", jax.scipy.special.erfc, ()), ("erfinv", jax.scipy.special.erfinv, ()),
    ("lgamma", gamma.lgamma, ()), ("digamma", gamma.digamma, ()),
    ("sinc", jnp.sinc, ()), ("deg2rad", jnp.deg2rad, ()), ("rad2deg", jnp.rad2deg, ()),
    ("i0", subgradients.i0, ()),
):  # fmt: skip
    _unary_float(_name, _fn, _aliases)

_unary_float("exp", jnp.exp, from_output=_via_output(lambda y: y))
_unary_float("exp2", jnp.exp2, from_output=_via_output(lambda y: y * np.log(2).astype(y.dtype)))
_unary_float("expm1", jnp.expm1, from_output=_via_output(lambda y: y + 1))
_unary_float("tanh", jnp.tanh, from_output=_via_output(lambda y: 1 - y * y))
_unary_float("sqrt", jnp.sqrt, from_output=_via_output(lambda y: 0.5 / y))
_unary_float("rsqrt", lambda x: 1 / jnp.sqrt(x) if x.dtype.kind == "c" else lax.rsqrt(x),
             from_output=_via_output(lambda y: -0.5 * y * y * y))  # fmt: skip
_unary_float("sigmoid", jax.nn.sigmoid, from_output=_via_output(lambda y: y * (1 - y)))
_unary_float("reciprocal", lambda x: 1 / x, from_output=_via_output(lambda y: -(y * y)))


@op(inplace=True, elementwise=True)
def logit(input: Input, eps: OptOperand = None):
    """``log(x / (1 - x))``, with x clamped to ``[eps, 1 - eps]`` when eps is given."""
    (x,) = promoted_float(input)
    if eps is not None:
        x = jnp.clip(x, scalar_like(eps, x), 1 - scalar_like(eps, x))
    return jnp.log(x / (1 - x))


@op(casts_out=False, inplace=True, elementwise=True, needs="nothing", aliases=("negative",))
def neg(input: Input):
    """``-input``. RuntimeError for bool tensors."""
    if input.dtype == np.bool_:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
            "invert a mask, use the `~` or `logical_not()` operator instead."
        )
    return -input


@op(elementwise=True, needs="nothing", inplace=False)
def positive(input: Input):
    """``input`` itself. RuntimeError for bool tensors."""
    if input.dtype == np.bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@op(casts_out=False, inplace=True, elementwise=True, aliases=("absolute",))
def abs(input: Input):
    """The absolute value; the modulus (real) of a complex tensor."""
    return input if input.dtype == np.bool_ else subgradients.absolute(input)


@op(casts_out=False, inplace=True, elementwise=True)
def sign(input: Input):
    """-1, 0 or 1; bools stay."""
    return input if input.dtype == np.bool_ else jnp.sign(input)


@op(casts_out=False, inplace=True, elementwise=True)
def sgn(input: Input):
    """``sign`` for reals; ``z / |z|`` for complex numbers."""
    if input.dtype.kind != "c":
        return input if input.dtype == np.bool_ else jnp.sign(input)
    # Written out, because JAX takes the derivative of a complex sign to be 0.
    size = subgradients.absolute(input)
    zero = size == 0
    return jnp.where(zero, 0, input / jnp.where(zero, 1, size))


@op(inplace=True, elementwise=True)
def square(input: Input):
    """``input ** 2``."""
    return input * input if input.dtype != np.bool_ else input.astype(np.int64)


def _rounding(name: str, fn: Any, aliases: tuple[str, ...] = ()) -> None:
    def pure(input: Input):
        if input.dtype == np.bool_:
            raise RuntimeError(f"\"{name}_vml_cpu\" not implemented for 'Bool'")
        return input if input.dtype.kind in "iu" else fn(input)

    pure.__doc__ = f"``{name}`` elementwise; integers stay as they are; the gradient is zero."
    op(name, aliases=aliases, inplace=True, elementwise=True, casts_out=False,
       needs="nothing")(pure)  # fmt: skip


_rounding("floor", jnp.floor)
_rounding("ceil", jnp.ceil)
_rounding("trunc", jnp.trunc, ("fix",))


@op(casts_out=False, inplace=True, elementwise=True, needs="nothing")
def round(input: Input, *, decimals: Scalar = 0):
    """Half to even, to ``decimals`` places; the gradient is zero."""
    if input.dtype.kind in "iub":
        return input
    scale = jnp.asarray(10.0, np.float64) ** decimals
    scaled = input * scale.astype(input.dtype)
    return jnp.where(jnp.asarray(decimals) == 0, jnp.round(input),
                     jnp.round(scaled) / scale.astype(input.dtype))  # fmt: skip


@op(casts_out=False, inplace=True, elementwise=True)
def frac(input: Input):
    """``input - trunc(input)``."""
    return input - lax.stop_gradient(jnp.trunc(input))


def _predicate(name: str, fn: Any, for_integers: Any) -> None:
    def pure(input: Input):
        if input.dtype.kind in "iub":
            return jnp.full(input.shape, for_integers)
        return fn(input)

    pure.__doc__ = f"``{name}`` elementwise; a bool tensor."
    op(name, elementwise=True, casts_out=False, differentiable=False)(pure)


_predicate("isnan", jnp.isnan, False)
_predicate("isinf", jnp.isinf, False)
_predicate("isfinite", jnp.isfinite, True)
_predicate("isposinf", jnp.isposinf, False)
_predicate("isneginf", jnp.isneginf, False)
_predicate("isreal", jnp.isreal, True)


@op(casts_out=False, elementwise=True, differentiable=False)
def signbit(input: Input):
    """Whether the sign bit is set."""
    return jnp.zeros(input.shape, bool) if input.dtype.kind in "ub" else jnp.signbit(input)


@op(casts_out=False, inplace=True, elementwise=True)
def nan_to_num(input: Input, nan: OptOperand = None, posinf: OptOperand = None,
               neginf: OptOperand = None):  # fmt: skip
    """NaN and infinities replaced (by 0 and the dtype's limits unless given)."""
    if input.dtype.kind in "iub":
        return input
    return jnp.nan_to_num(input, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


# -- clamp, where, fused arithmetic ----------------------------------------------------------------


@op(inplace=True, elementwise=True, aliases=("clip",))
def clamp(input: Input, min: OptOperand = None, max: OptOperand = None):
    """Values limited to ``[min, max]`` (numbers or tensors; either may be None).

    The gradient passes where ``min <= input <= max``, ends included. RuntimeError when both are
    None.
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    given = [v for v in (min, max) if v is not None]
    x, *bounds = promoted(input, *given)
    if dtypes.kind_of(x.dtype) == "f":
        x = jnp.where(jnp.isnan(x), lax.stop_gradient(x), x)
    # where() rather than minimum(): a tie passes the whole gradient to input, as in PyTorch, and
    # NaN in the input stays NaN (without a gradient).
    if min is not None:
        low = bounds.pop(0)
        x = jnp.where(x < low, low, x)
        x = jnp.where(jnp.isnan(low), low, x) if dtypes.kind_of(low.dtype) == "f" else x
    if max is not None:
        high = bounds.pop(0)
        x = jnp.where(x > high, high, x)
        x = jnp.where(jnp.isnan(high), high, x) if dtypes.kind_of(high.dtype) == "f" else x
    return x


@op(inplace=True, elementwise=True)
def clamp_min(input: Input, min: Operand):
    """``clamp(input, min=min)``."""
    return clamp.spec.fn(input, min, None)


@op(inplace=True, elementwise=True)
def clamp_max(input: Input, max: Operand):
    """``clamp(input, max=max)``."""
    return clamp.spec.fn(input, None, max)


@op(inplace=True, elementwise=True)
def addcmul(input: Input, tensor1: Input, tensor2: Input, *, value: Scalar = 1):
    """``input + value * tensor1 * tensor2``."""
    return in_float32(lambda x, a, b: x + scalar_like(value, x) * a * b)(
        *promoted(input, tensor1, tensor2)
    )


@op(inplace=True, elementwise=True)
def addcdiv(input: Input, tensor1: Input, tensor2: Input, *, value: Scalar = 1):
    """``input + value * tensor1 / tensor2``. RuntimeError for integer division."""
    x, a, b = promoted(input, tensor1, tensor2)
    if x.dtype.kind in "iub":
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release "
            "addcdiv will perform a true division of tensor1 and tensor2."
        )
    return in_float32(lambda x, a, b: x + scalar_like(value, x) * (a / b))(x, a, b)


def _lerp_casts(input: Any, end: Any, weight: Any) -> Any:
    """PyTorch's kernel for one weight casts its result, the one for a tensor of weights not."""
    return not isinstance(weight, Tensor) or not weight.dim()


@op(casts_out=_lerp_casts, inplace=True, elementwise=True)
def lerp(input: Input, end: Input, weight: Operand):
    """``input + weight * (end - input)``, computed from the nearer end as PyTorch does."""
    check_broadcast(input, end, weight)

    def between(x: Any, y: Any, w: Any) -> Any:
        return jnp.where(jnp.abs(w) < 0.5, x + w * (y - x), y - (y - x) * (1 - w))

    return in_float32(between)(input, end, jnp.asarray(weight).astype(input.dtype))


@op("where_op", casts_out=False, namespaces=(), method=False, elementwise=True,
    needs={"input": ["condition"], "other": ["condition"]}, grad_name="WhereBackward0")  # fmt: skip
def where_op(condition: Input, input: Operand, other: Operand):
    """``input`` where condition holds, else ``other``."""
    check_broadcast(condition, input, other)
    if condition.dtype not in (np.bool_, np.uint8):
        found = dtypes.from_numpy_dtype(condition.dtype)
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{dtypes.scalar_type(found)}"
        )
    x, y = promoted(input, other)
    return jnp.where(condition != 0, x, y)


# -- complex numbers and casts ---------------------------------------------------------------------


@op("complex", casts_out=False, elementwise=True, method=False)
def complex_op(real: Input, imag: Input):
    """A complex tensor from real and imaginary parts. RuntimeError unless the dtypes agree."""
    if real.dtype != imag.dtype or real.dtype.kind != "f":
        raise RuntimeError(
            "Expected both inputs to be Half, Float or Double tensors but got "
            f"{real.dtype} and {imag.dtype}"
        )
    return lax.complex(*jnp.broadcast_arrays(real, imag))


@op(casts_out=False, elementwise=True, method=False)
def polar(abs: Input, angle: Input):
    """``abs * exp(i * angle)``."""
    return lax.complex(abs * jnp.cos(angle), abs * jnp.sin(angle))


@op(elementwise=True)
def angle(input: Input):
    """The argument of a complex number; 0 or pi for reals."""
    (x,) = promoted_float(input)
    return jnp.angle(x)
