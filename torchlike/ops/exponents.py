"""Mantissas and exponents, and the conjugate as a tensor of its own."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike import dtypes
from torchlike.dispatch.registry import composite, op
from torchlike.dispatch.schema import Input
from torchlike.ops.outputs import given
from torchlike.ops.pointwise import mul, pow
from torchlike.ops.reduction import _named as named
from torchlike.ops.views import require_tensor
from torchlike.tensor import Tensor


@jax.custom_jvp
def _mantissa(x: Any) -> Any:
    return jnp.frexp(x)[0]


@_mantissa.defjvp
def _mantissa_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    exponent = lax.stop_gradient(jnp.frexp(x)[1])
    return _mantissa(x), t * jnp.exp2(-exponent.astype(x.dtype))


@op("frexp_op", namespaces=(), method=False, grad_name="FrexpBackward0", elementwise=True)
def frexp_op(input: Input):
    """Mantissa and exponent."""
    if dtypes.kind_of(input.dtype) != "f":
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    wide = input.astype(np.float32) if input.dtype.itemsize == 2 else input
    return _mantissa(wide).astype(input.dtype), jnp.frexp(wide)[1].astype(np.int32)


_FREXP = named("frexp", "mantissa exponent")


@composite()
def frexp(input: Tensor, *, out: Any = None) -> Any:
    """``input = mantissa * 2 ** exponent``, the mantissa's size in [0.5, 1): a named pair.

    RuntimeError for other than floating dtypes.
    """
    return given(out, _FREXP(*frexp_op(input)))


@composite()
def ldexp(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """``input * 2 ** other``; integers give the default float dtype.

    Differs from PyTorch: the gradient is ``2 ** other`` also for negative integers, where PyTorch
    2.13 has 0.
    """
    require_tensor(input, "ldexp")
    return mul(input, pow(2.0, other), out=out)


@composite(namespaces=("",))
def ldexp_(input: Tensor, other: Tensor) -> Tensor:
    """``ldexp`` in place."""
    return input.mul_(pow(2.0, other))


@op(casts_out=False, inplace=True, elementwise=True, needs="nothing")
def conj_physical(input: Input):
    """The conjugate, computed rather than viewed."""
    return jnp.conj(input) if dtypes.kind_of(input.dtype) == "c" else input


def _rdiv(self: Tensor, other: Any) -> Tensor:
    """``other / self``."""
    return self.reciprocal() * other


composite("__rdiv__", namespaces=())(_rdiv)
