"""Division of tensors: quotients, rounded or not, and remainders.

PyTorch raises where an integer is divided by zero. That is a matter of values, so it costs only
where it can happen: a number is looked at as it is, and a tensor of integers as a divisor goes to a
second form of the op, the one with a check. Floats go to the first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core.casts import NUMBERS
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Input, Operand, Str
from torchlike._ops.checks import real_only, scalar_type_of
from torchlike._ops.elementwise.division import divide
from torchlike._ops.promotion import (
    beside_scalars,
    check_broadcast,
    in_float32,
    is_alone,
    promoted,
    require_tensor,
)
from torchlike._ops.value_checks import is_traced, refuse_where, values_of
from torchlike.tensor import Tensor

_BY_ZERO = "ZeroDivisionError"


@op(
    "div_op",
    namespaces=(),
    method=False,
    inplace=True,
    elementwise=True,
    needs={"input": ["other"], "other": ["input", "other"]},
    grad_name="DivBackward0",
)
def div_op(input: Operand, other: Operand):
    """Return ``input / other``."""
    # Not in 16 bits: XLA's product with the reciprocal of a number overflows below 1.5e-5.
    return beside_scalars(divide, input, other, floats=True)


def _check_divisor(input: Any, other: Any, *mode: Any) -> None:
    """Refuse, with RuntimeError, a division of integers by a tensor with a zero in it."""
    kinds = "".join(
        x.dtype.kind if hasattr(x, "dtype") else np.result_type(type(x)).kind
        for x in (input, other)
    )
    # Of two bools the op itself says that there is none.
    if kinds == "bb" or set(kinds) - set("iub") or not np.size(input):
        return
    values = values_of(other)
    if (
        kinds[0] in "iu" and np.ndim(other) == 0 and np.ndim(input)
    ):  # it wraps to the dtype of the rest
        values = values.astype(input.dtype)
    if is_traced() or not values.all():
        check_broadcast(input, other)
        refuse_where(values == 0, RuntimeError, _BY_ZERO)


def _refuse_zero(input: Any, number: Any) -> None:
    """Refuse, with RuntimeError, a division of a tensor of integers by an integer that is zero in
    its dtype, to which it wraps."""
    if not isinstance(input, Tensor) or input.is_meta:
        return
    category = input.dtype.category
    if category > 1 or (category == 0 and isinstance(number, bool)):
        return
    zero = not number if category == 0 else int(number) % (1 << 8 * input.dtype.itemsize) == 0
    if zero and input.numel():
        raise RuntimeError(_BY_ZERO)


def _dividing(name: str, pure: Callable[..., Any], says: str, **facts: Any) -> Callable[..., Any]:
    """Register an op in two forms, and return the choice between them: ``choose(input, other)``."""
    pure.__doc__ = says
    grad_name = "".join(part.capitalize() for part in name.split("_")) + "Backward0"
    facts = {
        "namespaces": (),
        "method": False,
        "inplace": True,
        "elementwise": True,
        "grad_name": grad_name,
        **facts,
    }
    plain = op(f"{name}_op", **facts)(pure)
    checked = op(f"{name}_checked", check=_check_divisor, **facts)(pure)
    checked.spec.name = plain.spec.name

    def choose(input: Any, other: Any) -> Callable[..., Any]:
        if type(other) is Tensor:
            return checked if other.dtype.category < 2 else plain
        if type(other) not in NUMBERS:  # a subclass
            if isinstance(other, Tensor):
                return checked
            if not isinstance(other, (int, np.integer)):
                return plain
        # Multiples of 256 alone may be zero in some dtype.
        if not isinstance(other, (float, complex)) and not other & 255:
            _refuse_zero(input, other)
        return plain

    return choose


def _in_whole_numbers(kernel: str, x: Any) -> None:
    if x.dtype == np.bool_:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_type_of(x)}'")


def _rounded_div(mode: str, x: Any, y: Any) -> jax.Array:
    """Return the quotient rounded, with derivative 0: JAX's is NaN where the quotient is not
    finite."""
    return lax.stop_gradient(_rounded_quotient(mode, x, y))


def _rounded_quotient(mode: str, x: Any, y: Any) -> jax.Array:
    _in_whole_numbers(f"div_{mode}_cpu", x)
    if x.dtype.kind in "iu":
        return lax.div(*jnp.broadcast_arrays(x, y)) if mode == "trunc" else jnp.floor_divide(x, y)
    if mode == "trunc":
        return jnp.trunc(in_float32(divide)(x, y))
    # A division by zero gives the plain quotient, and a zero has its sign.
    plain = divide(x, y)
    left = lax.rem(*jnp.broadcast_arrays(x, y))
    floor = jnp.round(divide(x - left, y) - ((left != 0) & ((y < 0) != (left < 0))))
    return jnp.where(y == 0, plain, jnp.where(floor == 0, jnp.copysign(floor, plain), floor))


def _div_rounded(input: Operand, other: Operand, rounding_mode: Str):
    if rounding_mode not in ("trunc", "floor"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
            f"'{rounding_mode}'"
        )
    divided = real_only(f"div_{rounding_mode}_cpu")(functools.partial(_rounded_div, rounding_mode))
    if rounding_mode == "trunc" and not is_alone(other, input):
        # Two tensors: the quotient is rounded to 16 bits before it is truncated.
        return divided(*promoted(input, other))
    return beside_scalars(divided, input, other)


@real_only("div_floor_cpu")
def _floor_divide(input: Operand, other: Operand):
    return beside_scalars(functools.partial(_rounded_div, "floor"), input, other)


@real_only("remainder_cpu")
def _remainder(input: Operand, other: Operand):
    require_tensor("remainder", input, other)
    x, y = promoted(input, other)
    _in_whole_numbers("remainder_cpu", x)
    return jnp.remainder(x, y)


@real_only("fmod_cpu")
def _fmod(input: Input, other: Operand):
    x, y = promoted(input, other)
    _in_whole_numbers("fmod_cpu", x)
    return jnp.fmod(x, y)


_choose_div = _dividing(
    "div_rounded", _div_rounded, "Return ``input / other``, rounded.", grad_name="DivBackward1"
)
_JIT = """RuntimeError for integers divided by zero: by the number 0 always, by a tensor with a
    zero in it eagerly. A jitted function does not look at the values of tensors; there such a
    quotient is some number."""


def _public(name: str, pure: Callable[..., Any], says: str) -> None:
    choose = _dividing(name, pure, says)

    def function(input: Any, other: Any, *, out: Any = None) -> Tensor:
        chosen = choose(input, other)
        return chosen(input, other) if out is None else chosen(input, other, out=out)

    def in_place(input: Tensor, other: Any) -> Tensor:
        return choose(input, other).spec.in_place(input, other)

    function.__doc__ = f"{says}\n\n    {_JIT}\n    "
    in_place.__doc__ = f"Apply ``{name}`` in place."
    composite(name)(function)
    composite(f"{name}_")(in_place)


_public("floor_divide", _floor_divide, "Return the quotient rounded toward negative infinity.")
_public(
    "remainder",
    _remainder,
    "Return ``input - floor(input / other) * other``: the sign of the divisor, as Python's ``%``.",
)
_public("fmod", _fmod, "Return the C remainder: the sign of the dividend.")


def _div(input: Any, other: Any, *, rounding_mode: Any = None, out: Any = None) -> Tensor:
    if rounding_mode is None:
        return div_op(input, other) if out is None else div_op(input, other, out=out)
    return _choose_div(input, other)(input, other, rounding_mode, out=out)


def _div_in_place(input: Tensor, other: Any, *, rounding_mode: Any = None) -> Tensor:
    if rounding_mode is None:
        return div_op.spec.in_place(input, other)
    return _choose_div(input, other).spec.in_place(input, other, rounding_mode)


_div.__doc__ = f"""Return ``input / other``; with ``rounding_mode`` "trunc" or "floor", rounded,
    and integers stay.

    Rounded: {_JIT}
    """
_div_in_place.__doc__ = "Apply ``div`` in place."
composite("div", aliases=("divide", "true_divide"))(_div)
composite("div_", aliases=("divide_", "true_divide_"))(_div_in_place)
