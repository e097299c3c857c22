"""Elementwise arithmetic of several tensors; complex numbers from their parts."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import casts, dtypes
from torchlike._core.dispatch.registry import OPS, composite, op
from torchlike._core.dispatch.schema import (
    Bound,
    ComputedFactor,
    Factor,
    Input,
    Number,
    Operand,
    OptBound,
    Weight,
)
from torchlike._extensions import absent_dtypes
from torchlike._ops.checks import integers_only, real_only, scalar_type_of
from torchlike._ops.elementwise import clamping, divisors, subgradients
from torchlike._ops.elementwise.complex_edges import root
from torchlike._ops.elementwise.division import divide
from torchlike._ops.promotion import (
    beside_scalars,
    check_broadcast,
    in_float32,
    is_number,
    promoted,
    promoted_float,
    require_tensor,
    result_dtype,
    scalar_like,
)
from torchlike._ops.underived import without_derivative
from torchlike._runtime.reference import error_of
from torchlike.tensor import Tensor

# -- binary arithmetic -----------------------------------------------------------------------------


def _one_times(factor: Any) -> bool:
    return type(factor) in (int, float) and factor == 1


@op(
    aliases=(),
    inplace=True,
    elementwise=True,
    needs="nothing",
    identity_grad_for=lambda alpha: (0, 1) if _one_times(alpha) else (0,),
)
def add(input: Operand, other: Operand, *, alpha: Factor = 1):
    """Return ``input + alpha * other``, broadcast and promoted.

    RuntimeError for shapes that do not broadcast; in place, also for a result that does not fit the
    dtype or the shape of ``input``.

    Example:
      >>> torch.ones(2, 1).add(torch.arange(3), alpha=2)
      tensor([[1., 3., 5.],
              [1., 3., 5.]])
    """
    x, y = promoted(input, other)
    _check_alpha(alpha, x)
    if x.dtype == np.bool_:
        return x | (y & jnp.asarray(alpha).astype(bool))
    return _plus_multiple(x, y, alpha)


def _plus_multiple(x: Any, y: Any, alpha: Any) -> jax.Array:
    return in_float32(lambda x, y, alpha: x + y * alpha)(x, y, scalar_like(alpha, x))


@op(
    aliases=("subtract",),
    inplace=True,
    elementwise=True,
    needs="nothing",
    identity_grad_for=lambda alpha: (0,),
)
def sub(input: Operand, other: Operand, *, alpha: Factor = 1):
    """Return ``input - alpha * other``, broadcast and promoted. RuntimeError for bool tensors."""
    x, y = promoted(input, other)
    if x.dtype == np.bool_ or _bool_tensor(input) or _bool_tensor(other):
        both = _bool_tensor(input) and _bool_tensor(other)
        raise error_of(NotImplementedError)(
            "Subtraction, the `-` operator, with "
            + (
                "two bool tensors is not supported. "
                "Use the `^` or `logical_xor()` operator instead."
                if both
                else "a bool tensor is not supported. If you are trying to invert a mask, "
                "use the `~` or `logical_not()` operator instead."
            )
        )
    _check_alpha(alpha, x)
    return _plus_multiple(x, y, -1 * jnp.asarray(alpha))


def _rsub_in_parts(aten: Any, input: Any, other: Any, alpha: Any = 1) -> Any:
    scaled = input if alpha == 1 else aten.mul.Tensor(input, alpha)
    return aten.add.Tensor(aten.neg.default(scaled), other)


@op(
    elementwise=True,
    needs="nothing",
    grad_name="RsubBackward1",
    decomposition={"Scalar": _rsub_in_parts, "Tensor": _rsub_in_parts},
)
def rsub(input: Input, other: Operand, *, alpha: Factor = 1):
    """Return ``other - alpha * input``."""
    return sub.spec.fn(other, input, alpha=alpha)


def _bool_tensor(x: Any) -> bool:
    return not is_number(x) and x.dtype == np.bool_


def _check_alpha(alpha: Any, x: Any) -> None:
    kind = jnp.asarray(alpha).dtype.kind
    if x.dtype.kind in "iub" and kind in "fc":
        raise RuntimeError(
            "For integral input tensors, argument alpha must not be a floating point number."
        )
    if kind == "b" and x.dtype.kind != "b":
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if kind == "c" and x.dtype.kind != "c":
        raise RuntimeError(
            "For non-complex input tensors, argument alpha must not be a complex number."
        )


@op(
    aliases=("multiply",),
    inplace=True,
    elementwise=True,
    needs={"input": ["other"], "other": ["input"]},
)
def mul(input: Operand, other: Operand):
    """Return ``input * other``, broadcast and promoted.

    RuntimeError for shapes that do not broadcast; in place, also for a result that does not fit the
    dtype or the shape of ``input``.

    Example:
      >>> torch.tensor([1, 2]).mul(0.5)
      tensor([0.5000, 1.0000])
    """
    return beside_scalars(_product, input, other)


def _product(x: Any, y: Any) -> jax.Array:
    return x & y if x.dtype == np.bool_ else x * y


@op("number_divided", namespaces=(), method=False, elementwise=True, grad_name="MulBackward0")
def number_divided(input: Input, number: Operand):
    """Return ``number / input``, as PyTorch makes it of a reciprocal and a product."""
    (x,) = promoted_float(input)
    if x.dtype.kind == "c":
        return jnp.multiply(*promoted(divide(jnp.ones_like(x), x), number))
    inverse = in_float32(jnp.reciprocal)(x)
    product = beside_scalars(jnp.multiply, inverse, number, floats=True)
    if dtypes.is_half(x.dtype):
        return product
    # The reciprocal of a large number is denormal, which is 0 to XLA.
    large = abs(x) > 1 / jnp.finfo(x.dtype).tiny
    return jnp.where(large, beside_scalars(divide, number, jnp.where(large, x, 1)), product)


@op(
    "pow_scalar",
    namespaces=(),
    method=False,
    inplace=True,
    elementwise=True,
    grad_name="PowBackward0",
)
def pow_scalar(input: Input, exponent: Number):
    """Raise to a Python-number power: the exponent is static, so that squares become products."""
    power = exponent.value
    dtype = result_dtype(input, power)
    x = input.astype(dtype.numpy)
    if x.dtype.kind in "iub":
        if power < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        casts.check_fits(power, x.dtype)
        return lax.integer_pow(x, int(power)) if x.dtype != np.bool_ else x | (power == 0)
    if isinstance(power, complex) and power in (0, 1):
        power = power.real
    if dtypes.is_half(x.dtype):
        casts.check_fits(power, x.dtype)
    if x.dtype.kind != "c" and not isinstance(power, complex):
        return _real_power(x, float(power))
    if power in (-2, -1, -0.5):
        return divide(jnp.ones_like(x), x * x if power == -2 else x if power == -1 else root(x))
    if power == 0.5:
        return root(x)
    if not isinstance(power, complex) and float(power).is_integer() and -64 <= power <= 64:
        return _whole_power(x, int(power))
    if power != power:  # of a NaN that it knows XLA's CPU backend writes no exponential at all
        return x * power
    return subgradients.power(x, jnp.asarray(power).astype(x.dtype))


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _real_power(x: Any, power: float) -> jax.Array:
    """Return ``x ** power``. PyTorch's powers of ½ and -½ are roots, which know the sign of 0 and
    of -inf, in all dtypes but float16."""
    if abs(power) == 0.5 and x.dtype != np.float16:
        return in_float32(jnp.sqrt)(x) if power > 0 else in_float32(lambda v: 1 / jnp.sqrt(v))(x)
    if power.is_integer() and -64 <= power <= 64:
        return _whole_power(x, int(power))
    return jnp.power(x, jnp.asarray(power).astype(x.dtype))


@_real_power.defjvp
def _real_power_jvp(power: float, primals: Any, tangents: Any) -> tuple[Any, ...]:
    (x,), (dx,) = primals, tangents
    if power == 0:
        return _real_power(x, power), jnp.zeros_like(dx)
    return _real_power(x, power), power * _real_power(x, power - 1) * dx


def _whole_power(x: Any, power: int) -> jax.Array:
    """Raise to a whole power by products: in 16 bits rounded once, but for the small powers of
    bfloat16, which PyTorch's kernel rounds at each."""
    if x.dtype == dtypes.bfloat16.numpy and power in (2, 3, -2):
        return lax.integer_pow(x, power)
    return in_float32(lambda v: lax.integer_pow(v, power))(x)


@op(
    "pow_tensor",
    namespaces=(),
    method=False,
    inplace=True,
    elementwise=True,
    grad_name="PowBackward1",
)
def pow_tensor(input: Operand, exponent: Operand):
    """Raise to a tensor power, or a number to a tensor power."""
    x, y = promoted(input, exponent)
    if x.dtype.kind in "iub":
        return _integer_power(x, y)
    found = subgradients.power(x, y)
    if x.dtype.kind == "c" and is_number(input):  # of the number 1, also to what is not finite
        found = jnp.where(x == 1, jnp.ones_like(found), found)
    return found


@composite(autocast={"cuda": "float32", "xla": "float32"}, pointwise=True)
def pow(input: Any, exponent: Any, *, out: Any = None) -> Tensor:
    """Return ``input ** exponent``, broadcast and promoted.

    RuntimeError for integers to a negative integer power.

    Example:
      >>> torch.tensor([1, 2, 3]) ** 2, torch.pow(2, torch.tensor([0.5, 1.0]))[1]
      (tensor([1, 4, 9]), tensor(2.))
    """
    if not isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        raise TypeError(
            f"pow() received an invalid combination of arguments - got ({type(input).__name__}, "
            f"{type(exponent).__name__}), but expected at least one Tensor"
        )
    number = isinstance(exponent, (int, float, complex)) and isinstance(input, Tensor)
    return (pow_scalar if number else pow_tensor)(input, exponent, out=out)


@composite(namespaces=())
def pow_(input: Any, exponent: Any) -> Tensor:
    """Raise ``input`` to a power in place."""
    number = isinstance(exponent, (int, float, complex))
    return OPS["pow_scalar" if number else "pow_tensor"].in_place(input, exponent)


def _integer_power(x: Any, y: Any) -> jax.Array:
    x, y = jnp.broadcast_arrays(x, y)
    if x.dtype == np.bool_:
        return x | ~y
    negative = y < 0 if y.dtype.kind == "i" else jnp.zeros(y.shape, bool)
    # As C++: negative powers of 1 and -1 are exact, of anything else 0.
    sign = jnp.where(y % 2 == 0, 1, -1).astype(x.dtype)
    small = jnp.where(x == 1, 1, jnp.where(x == -1, sign, 0)).astype(x.dtype)

    def step(state: Any) -> tuple[Any, ...]:
        total, power, left = state
        return jnp.where(left & 1, total * power, total), power * power, left >> 1

    # Every bit of the exponent: jnp.power looks at the last six. (On to none at all: a negative
    # exponent would never get there.)
    start = jnp.ones_like(x), x, jnp.where(negative, 0, y)
    total, _, _ = lax.while_loop(lambda state: jnp.any(state[2] != 0), step, start)
    return jnp.where(negative, small, total)


@op(casts_out=False, elementwise=True)
def float_power(input: Operand, exponent: Operand):
    """Return ``input ** exponent`` in double precision."""
    require_tensor("float_power", input, exponent)
    complex_numbers = jnp.iscomplexobj(input) or jnp.iscomplexobj(exponent)
    wide = np.complex128 if complex_numbers else np.float64
    check_broadcast(input, exponent)
    return subgradients.power(jnp.asarray(input).astype(wide), jnp.asarray(exponent).astype(wide))


@composite(namespaces=())
def float_power_(input: Tensor, exponent: Any) -> Tensor:
    """Raise ``input`` to a power in place, as ``float_power``. RuntimeError unless ``input`` is
    already of double precision."""
    result = float_power(input, exponent)
    if result.dtype is not input.dtype:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {dtypes.scalar_type(input.dtype)} but the "
            f"operation's result requires dtype {dtypes.scalar_type(result.dtype)}"
        )
    return input.copy_(result)


def _binary(
    name: str,
    fn: Any,
    *,
    floats: Any = False,
    inplace: Any = False,
    other: Any = Input,
    real: Any = (),
    **facts: Any,
) -> None:
    """Register an op of two tensors (or, with ``other=Operand``, a tensor and a tensor or number).

    ``real``: what `real_only` is told for an op without complex numbers.
    """
    prepare = promoted_float if floats else promoted
    if real:
        fn = real_only(*real)(fn)

    def pure(input: Input, other: other):  # type: ignore[valid-type]
        return fn(*prepare(input, other))

    pure.__annotations__["other"] = other
    pure.__doc__ = f"Return ``{name}(input, other)`` elementwise, broadcast and promoted."
    op(name, inplace=inplace, elementwise=True, **facts)(pure)


def _no_order(name: str) -> tuple[str, type[Exception]]:
    return f"{name} not implemented for complex tensors.", RuntimeError


_binary("maximum", subgradients.maximum, real=_no_order("maximum"))
_binary("minimum", subgradients.minimum, real=_no_order("minimum"))
_binary("fmax", subgradients.fmax, real=_no_order("fmax"))
_binary("fmin", subgradients.fmin, real=_no_order("fmin"))
_binary(
    "atan2",
    in_float32(subgradients.arctan2),
    floats=True,
    autocast={"cuda": "widest"},
    inplace=True,
    aliases=("arctan2",),
    real=("atan2_cpu",),
)
_binary("hypot", in_float32(subgradients.hypot), inplace=True, real=("hypot_cpu",))
_binary("logaddexp", in_float32(subgradients.logaddexp), floats=True)
_binary("logaddexp2", in_float32(subgradients.logaddexp2), floats=True, real=("logaddexp2_cpu",))


def _copysign(x: Any, y: Any) -> jax.Array:
    """Return ``x`` with the sign of ``y``; as in PyTorch there is no gradient at zero."""
    return jnp.copysign(jnp.where(x == 0, lax.stop_gradient(x), x), y)


_binary("copysign", _copysign, floats=True, inplace=True, other=Operand, real=("copysign_cpu",))
_binary("nextafter", subgradients.nextafter, floats=True, inplace=True, real=("nextafter_cpu",))


def _step(x: Any, y: Any) -> jax.Array:
    return jnp.where(x == 0, y, (x > 0).astype(x.dtype))


_heaviside = without_derivative("aten::heaviside", _step)


@op("heaviside", inplace=True, elementwise=True, grad_name="NotImplemented", casts_out=False)
@real_only("heaviside is not yet implemented for complex tensors.", RuntimeError)
def heaviside(input: Input, values: Input):
    """Return 0 below zero, 1 above, ``values`` at zero. RuntimeError for operands of two dtypes."""
    check_broadcast(input, values)
    if input.dtype != values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return _heaviside(*promoted(input, values))


for _name, _fn in (("gcd", divisors.gcd), ("lcm", divisors.lcm)):
    _binary(_name, integers_only(f"{_name}_cpu")(_fn), inplace=True, differentiable=False)


@op(inplace=True, elementwise=True)
@real_only("xlogy_cpu")
def xlogy(input: Operand, other: Operand):
    """Return ``input * log(other)``, 0 where ``input`` is 0. TypeError unless one is a tensor."""
    require_tensor("xlogy", input, other)
    return subgradients.xlogy(*promoted_float(input, other))


# -- clamp, where, fused arithmetic ----------------------------------------------------------------


@op(inplace=True, elementwise=True, aliases=("clip",))
@real_only("clamp is not supported for complex types")
def clamp(input: Input, min: OptBound = None, max: OptBound = None):
    """Limit values to ``[min, max]`` (numbers or tensors; either may be None).

    The gradient passes where ``min <= input <= max``, ends included (from PyTorch 2.14 on they are
    shared, see docs/which-pytorch.md). RuntimeError when both are None.

    Example:
      >>> torch.tensor([-2, 0, 2]).clamp(min=-1, max=1)
      tensor([-1,  0,  1])
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    given = [v for v in (min, max) if v is not None]
    x, *bounds = promoted(input, *given)
    low = None if min is None else bounds.pop(0)
    high = None if max is None else bounds.pop(0)
    if dtypes.kind_of(x.dtype) != "f":
        return clamping.limited(x, low, high)
    return clamping.clamp(x, low, high, all(is_number(v) for v in given))


@op(inplace=True, elementwise=True)
def clamp_min(input: Input, min: Bound):
    """Limit values from below: ``clamp(input, min=min)``."""
    return clamp.spec.fn(input, min, None)


@op(inplace=True, elementwise=True)
def clamp_max(input: Input, max: Bound):
    """Limit values from above: ``clamp(input, max=max)``."""
    return clamp.spec.fn(input, None, max)


def _addcmul_in_parts(aten: Any, input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    product = aten.mul.Tensor(tensor1, tensor2)
    return aten.add.Tensor(input, product if value == 1 else aten.mul.Tensor(product, value))


@op(
    inplace=True,
    elementwise=True,
    numbers_first=("value",),
    needs={"input": [], "tensor1": ["tensor2", "value"], "tensor2": ["tensor1", "value"]},
    autocast={"cuda": "widest"},
    decomposition=_addcmul_in_parts,
)
def addcmul(input: Input, tensor1: Input, tensor2: Input, *, value: ComputedFactor = 1):
    """Return ``input + value * tensor1 * tensor2``."""
    return in_float32(lambda x, a, b: x + scalar_like(value, x) * a * b)(
        *promoted(input, tensor1, tensor2)
    )


def _addcdiv_in_parts(aten: Any, input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    quotient = aten.div.Tensor(tensor1, tensor2)
    return aten.add.Tensor(input, quotient if value == 1 else aten.mul.Tensor(quotient, value))


@op(
    inplace=True,
    elementwise=True,
    numbers_first=("value",),
    autocast={"cuda": "widest"},
    decomposition=_addcdiv_in_parts,
)
def addcdiv(input: Input, tensor1: Input, tensor2: Input, *, value: ComputedFactor = 1):
    """Return ``input + value * tensor1 / tensor2``. RuntimeError for integer division."""
    x, a, b = promoted(input, tensor1, tensor2)
    if x.dtype.kind in "iub":
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release "
            "addcdiv will perform a true division of tensor1 and tensor2."
        )
    return in_float32(lambda x, a, b: x + scalar_like(value, x) * divide(a, b))(x, a, b)


def _lerp_casts(input: Any, end: Any, weight: Any) -> bool:
    """Return whether PyTorch casts the result: its kernel for one weight does, the one for a tensor
    of weights does not."""
    return not isinstance(weight, Tensor) or not weight.dim()


def _ends_of_lerp(input: Any, end: Any, weight: Any) -> tuple[Any, Any]:
    each = not is_number(weight) and weight.ndim
    for name, x in (("end", end), *((("weight", weight),) if each else ())):
        if x.dtype != input.dtype:
            wanted, found = (dtypes.c_name(dtypes.from_numpy_dtype(v.dtype)) for v in (input, x))
            raise RuntimeError(f"expected dtype {wanted} for `{name}` but got dtype {found}")
    if not each and not is_number(weight):
        input, end = (v.astype(result_dtype(input, end, weight).numpy) for v in (input, end))
    kind = dtypes.kind_of(input.dtype)
    if kind in "iub":
        raise NotImplementedError(
            f'"lerp_kernel_{"scalar" if is_number(weight) else "tensor"}" not implemented for '
            f"'{dtypes.scalar_type(input.dtype)}'"
        )
    if kind == "f" and jnp.asarray(weight).dtype.kind == "c":
        name = dtypes.c_name(dtypes.from_numpy_dtype(input.dtype))
        raise RuntimeError(f"value cannot be converted to type {name} without overflow")
    return input, end


def _lerp_in_parts(aten: Any, input: Any, end: Any, weight: Any) -> Any:
    return aten.add.Tensor(input, aten.mul.Tensor(aten.sub.Tensor(end, input), weight))


@op(casts_out=_lerp_casts, inplace=True, elementwise=True, decomposition={"Scalar": _lerp_in_parts})
def lerp(input: Input, end: Input, weight: Weight):
    """Return ``input + weight * (end - input)``, computed from the nearer end as PyTorch does.

    RuntimeError unless ``end`` and a tensor of weights have the dtype of ``input``, which is no
    integer's (NotImplementedError); a weight without dimensions is promoted with it.
    """
    check_broadcast(input, end, weight)
    input, end = _ends_of_lerp(input, end, weight)

    def between(x: Any, y: Any, w: Any) -> jax.Array:
        return jnp.where(jnp.abs(w) < 0.5, x + w * (y - x), y - (y - x) * (1 - w))

    w = jnp.asarray(weight)
    if not is_number(weight) or input.dtype.itemsize > 2:  # a number is not rounded to 16 bits
        w = w.astype(input.dtype)
    return in_float32(between)(input, end, w)


@op(
    "where_op",
    casts_out=False,
    namespaces=(),
    method=False,
    elementwise=True,
    needs={"input": ["condition"], "other": ["condition"]},
    grad_name="WhereBackward0",
    out_refusal="Expected out type to be {wanted} but got {found}",
)
def where_op(condition: Input, input: Operand, other: Operand):
    """Return ``input`` where the condition holds, else ``other``."""
    check_broadcast(condition, input, other)
    if condition.dtype not in (np.bool_, np.uint8):
        found = dtypes.from_numpy_dtype(condition.dtype)
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{dtypes.scalar_type(found)}"
        )
    x, y = promoted(input, other)
    return jnp.where(condition != 0, x, y)


# -- complex numbers ------------------------------------------------------------------------------


def _check_parts(x: Any, y: Any) -> None:
    """Refuse, with RuntimeError, two dtypes that differ or are not those of parts of complex
    numbers, and with NotImplementedError float16, whose complex numbers XLA does not have."""
    kinds = [scalar_type_of(part) for part in (x, y)]
    if not all(kind in ("Half", "Float", "Double") for kind in kinds):
        raise RuntimeError(
            "Expected both inputs to be Half, Float or Double tensors but got "
            f"{kinds[0]} and {kinds[1]}"
        )
    if kinds[0] != kinds[1]:
        raise RuntimeError(
            f"Expected object of scalar type {kinds[0]} but got scalar type {kinds[1]} for second "
            "argument"
        )
    if kinds[0] == "Half":
        _ = absent_dtypes.DTYPES["complex32"].numpy  # raises, and says why


@op("complex", casts_out=False, elementwise=True, method=False)
def complex_op(real: Input, imag: Input):
    """Return a complex tensor from real and imaginary parts. RuntimeError unless the dtypes
    agree."""
    _check_parts(real, imag)
    return lax.complex(*jnp.broadcast_arrays(real, imag))


@op(casts_out=False, elementwise=True, method=False, autocast={"cpu": "float32"})
def polar(abs: Input, angle: Input):
    """Return ``abs * exp(i * angle)``. RuntimeError unless the dtypes agree."""
    _check_parts(abs, angle)
    return lax.complex(abs * jnp.cos(angle), abs * jnp.sin(angle))


@op(elementwise=True, zero_at_zero=True)
def angle(input: Input):
    """Return the argument of a complex number; 0 or pi for reals (0 for -0.0). No gradient at 0."""
    (x,) = promoted_float(input)
    if x.dtype.kind == "c":
        return subgradients.arctan2(x.imag, x.real)
    x = lax.stop_gradient(x)
    turned = jnp.where(x < 0, np.asarray(np.pi, x.dtype), jnp.zeros((), x.dtype))
    return jnp.where(x != x, x, turned)
