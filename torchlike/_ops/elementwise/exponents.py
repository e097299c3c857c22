"""Mantissas and exponents, and the conjugate as a tensor of its own."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import dtypes
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Input
from torchlike._ops.outputs import write_out
from torchlike._ops.promotion import check_broadcast, in_float32, promoted, promoted_float
from torchlike._ops.reduce.reduction import _named as named
from torchlike.tensor import Tensor

#: Bits below the exponent, those of it, the integer of that size, and the last bit's exponent.
_BITS = {
    np.dtype(np.float32): (23, 0xFF, np.int32, -149),
    np.dtype(np.float64): (52, 0x7FF, np.int64, -1074),
}


def _parts(x: Any) -> tuple[Any, Any]:
    """Return mantissa and exponent as ``jnp.frexp`` does, and of denormal numbers by their bits: to
    XLA they are zeros."""
    mantissa, exponent = jnp.frexp(x)
    below, of_exponent, integer, last = _BITS[x.dtype]
    bits = lax.bitcast_convert_type(x, integer)
    fraction = bits & ((1 << below) - 1)
    tiny = ((bits >> below) & of_exponent == 0) & (fraction != 0)
    part, shift = jnp.frexp(fraction.astype(x.dtype))
    part = jnp.where(bits < 0, -part, part)
    return jnp.where(tiny, part, mantissa), jnp.where(tiny, shift + last, exponent)


def _power_of_two(exponent: Any) -> jax.Array:
    """Return 2 to integers within float64's normal range, made of bits: XLA's powers round."""
    return lax.bitcast_convert_type((exponent + 1023) << 52, np.float64)


def _scaled_exactly(x: Any, exponent: Any) -> jax.Array:
    """Return ``x * 2 ** exponent`` of a real floating dtype, rounded once: in float64, where the
    power has no room to overflow before the product does."""
    # A power in halves spans all that lies between the smallest and the largest float64.
    exponent = jnp.clip(exponent.astype(np.int64), -2044, 2046)
    half = exponent >> 1
    wide = x.astype(np.float64) * _power_of_two(half) * _power_of_two(exponent - half)
    return wide.astype(x.dtype)


@jax.custom_jvp
def _mantissa(x: Any) -> jax.Array:
    return _parts(x)[0]


@_mantissa.defjvp
def _mantissa_jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
    (x,), (t,) = primals, tangents
    exponent = lax.stop_gradient(_parts(x)[1])
    return _mantissa(x), _scaled_exactly(t, -exponent)


@op("frexp_op", namespaces=(), method=False, grad_name="FrexpBackward0", elementwise=True)
def frexp_op(input: Input):
    """Return the mantissa and the exponent."""
    if dtypes.kind_of(input.dtype) != "f":
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    wide = input.astype(np.float32) if input.dtype.itemsize == 2 else input
    return _mantissa(wide).astype(input.dtype), _parts(wide)[1].astype(np.int32)


_FREXP = named("frexp", "mantissa exponent")


@composite()
def frexp(input: Tensor, *, out: Any = None) -> Any:
    """Split ``input`` into ``mantissa * 2 ** exponent``, the mantissa's size in [0.5, 1): a named
    pair.

    RuntimeError for other than floating dtypes.
    """
    return write_out(out, _FREXP(*frexp_op(input)))


@op(
    elementwise=True,
    inplace=True,
    grad_name="MulBackward0",
    needs={"input": ["other"], "other": ["input", "other"]},
)
def ldexp(input: Input, other: Input):
    """Return ``input * 2 ** other``: of integer exponents exactly, in the dtype of ``input``;
    integers give the default float dtype.

    Differs from PyTorch: the gradient is ``2 ** other`` also for negative integers, where PyTorch
    2.13 has 0.
    """
    check_broadcast(input, other)
    if other.dtype.kind in "iub" and dtypes.kind_of(input.dtype) == "f":
        return _scaled_exactly(input, other)
    (exponent,) = promoted_float(other)
    if not other.ndim and dtypes.kind_of(input.dtype) == "f":
        # Of an exponent without dimensions PyTorch's power has the wider dtype of both, unless the
        # input has the default one.
        own = dtypes.from_numpy_dtype(input.dtype)
        if own is not dtypes.get_default_dtype():
            wider = dtypes.promote_types(own, dtypes.from_numpy_dtype(exponent.dtype))
            exponent = exponent.astype(wider.numpy)
    power = in_float32(lambda n: jnp.power(jnp.asarray(2, n.dtype), n))(exponent)
    x, y = promoted(input, power)
    return x * y


@op(
    casts_out=False,
    inplace=True,
    elementwise=True,
    needs="nothing",
    tags="maybe_aliasing_or_mutating",
)
def conj_physical(input: Input):
    """Return the conjugate, computed rather than viewed."""
    return jnp.conj(input) if dtypes.kind_of(input.dtype) == "c" else input


def _rdiv(self: Tensor, other: Any) -> Tensor:
    """Return ``other / self``."""
    return self.reciprocal() * other


composite("__rdiv__", namespaces=())(_rdiv)
