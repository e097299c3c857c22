"""Comparisons, logic, bits, and predicates: elementwise functions without a gradient."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from torchlike._core import dtypes, errors
from torchlike._core.dispatch.inplace import in_place_variant
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Input, Operand, Scalar, common_dtype
from torchlike._ops.checks import real_only
from torchlike._ops.promotion import promoted, require_tensor
from torchlike._ops.value_checks import refuse_where, values_of
from torchlike.tensor import Tensor


def _widened(x: Any, y: Any) -> tuple[Any, Any]:
    """Return both operands, half precision beside complex numbers in float32: there are no complex
    numbers of 16 bits."""
    if jnp.iscomplexobj(x) == jnp.iscomplexobj(y):
        return x, y
    return tuple(v.astype(np.float32) if v.dtype == np.float16 else v for v in (x, y))  # type: ignore[return-value]


def _comparison(
    name: str, fn: Any, aliases: tuple[str, ...] = (), other: Any = Operand, real: Any = False
) -> None:
    if real:
        fn = real_only(f"{name}_cpu")(fn)

    def pure(input: Input, other: other):  # type: ignore[valid-type]
        return fn(*promoted(*_widened(input, other)))

    pure.__annotations__["other"] = other

    pure.__doc__ = f"Return ``{name}`` elementwise; a bool tensor."
    op(
        name,
        aliases=aliases,
        inplace=True,
        elementwise=True,
        differentiable=False,
        ends_history=not name.startswith("logical"),  # as it happens in PyTorch
    )(pure)


_comparison("eq", jnp.equal)
_comparison("ne", jnp.not_equal, ("not_equal",))
_comparison("lt", jnp.less, ("less",), real=True)
_comparison("le", jnp.less_equal, ("less_equal",), real=True)
_comparison("gt", jnp.greater, ("greater",), real=True)
_comparison("ge", jnp.greater_equal, ("greater_equal",), real=True)
_comparison("logical_and", lambda x, y: (x != 0) & (y != 0), other=Input)
_comparison("logical_or", lambda x, y: (x != 0) | (y != 0), other=Input)
_comparison("logical_xor", lambda x, y: (x != 0) ^ (y != 0), other=Input)


def _bitwise(name: str, fn: Any) -> None:
    def pure(input: Operand, other: Operand):
        require_tensor(name, input, other)
        x, y = promoted(input, other)
        if x.dtype.kind not in "iub":
            kind = dtypes.scalar_type(x.dtype)
            kernel = {"bitwise_left_shift": "lshift", "bitwise_right_shift": "rshift"}.get(
                name, name
            )
            raise NotImplementedError(f"\"{kernel}_cpu\" not implemented for '{kind}'")
        return fn(x, y)

    pure.__doc__ = f"Return ``{name}`` of integers or bools."
    variant = in_place_variant(op(name, elementwise=True, differentiable=False)(pure).spec)

    def in_place(input: Tensor, other: Any) -> Tensor:
        # PyTorch asks whether the result fits before it asks for a kernel.
        kind = common_dtype((input, other))
        if not dtypes.can_cast(kind, input.dtype):
            kinds = map(dtypes.scalar_type, (kind, input.dtype))
            raise RuntimeError(errors.UNCASTABLE.format(*kinds))
        return variant(input, other)

    in_place.__doc__ = f"Apply ``{name}`` in place."
    composite(f"{name}_")(in_place)


_bitwise("bitwise_and", jnp.bitwise_and)
_bitwise("bitwise_or", jnp.bitwise_or)
_bitwise("bitwise_xor", jnp.bitwise_xor)
_bitwise("bitwise_left_shift", jnp.left_shift)
_bitwise("bitwise_right_shift", jnp.right_shift)


@op(casts_out=False, inplace=True, elementwise=True, differentiable=False)
def bitwise_not(input: Input):
    """Invert the bits; logical not for bools."""
    if input.dtype.kind not in "iub":
        kind = dtypes.scalar_type(input.dtype)
        raise NotImplementedError(f"\"bitwise_not_cpu\" not implemented for '{kind}'")
    return ~input


@op(inplace=True, elementwise=True, differentiable=False)
def logical_not(input: Input):
    """True where ``input`` is zero."""
    return input == 0


def _check_tolerances(input: Any, other: Any, rtol: Any, atol: Any, equal_nan: Any) -> None:
    for name, value in (("rtol", rtol), ("atol", atol)):
        value = values_of(value)
        words = f"{name} must be greater than or equal to zero, but got {{0:g}}"
        refuse_where(value < 0, RuntimeError, words, value)


@op(elementwise=True, differentiable=False, check=_check_tolerances)
def isclose(
    input: Input,
    other: Input,
    rtol: Scalar = 1e-05,
    atol: Scalar = 1e-08,
    equal_nan: Operand = False,
):
    """Return whether ``|input - other| <= atol + rtol * |other|``."""
    if input.dtype != other.dtype:
        kinds = [dtypes.scalar_type(t.dtype) for t in (input, other)]
        raise RuntimeError(f"{kinds[0]} did not match {kinds[1]}")
    x, y = promoted(input, other)
    wide = x.dtype if dtypes.kind_of(x.dtype) in "fc" else np.dtype(np.float64)
    allowed = atol + jnp.abs(rtol * y.astype(wide))
    # Without a tolerance only equals are close: large integers may be one number as floats.
    near = (jnp.abs(x.astype(wide) - y.astype(wide)) <= allowed) & (allowed > 0)
    close = (x == y) | (jnp.isfinite(y) & near)
    return close | (jnp.asarray(equal_nan) & jnp.isnan(x) & jnp.isnan(y))


def _predicate(name: str, fn: Any, for_integers: Any, real: Any = False, **facts: Any) -> None:
    def pure(input: Input):
        if input.dtype.kind in "iub":
            return jnp.full(input.shape, for_integers)
        return fn(input)

    pure.__doc__ = f"Return ``{name}`` elementwise; a bool tensor."
    if real:
        pure = real_only(f"{name} does not support complex inputs.", RuntimeError)(pure)
    op(name, elementwise=True, casts_out=False, differentiable=False, **facts)(pure)


_predicate("isnan", jnp.isnan, False, zero_at_zero=True)
_predicate("isinf", jnp.isinf, False, zero_at_zero=True)
_predicate("isfinite", jnp.isfinite, True)
_predicate("isposinf", jnp.isposinf, False, real=True, zero_at_zero=True)
_predicate("isneginf", jnp.isneginf, False, real=True, zero_at_zero=True)
_predicate("isreal", jnp.isreal, True)


@op(casts_out=False, elementwise=True, differentiable=False, zero_at_zero=True)
@real_only("signbit is not implemented for complex tensors.")
def signbit(input: Input):
    """Return whether the sign bit is set."""
    return jnp.zeros(input.shape, bool) if input.dtype.kind in "ub" else jnp.signbit(input)
