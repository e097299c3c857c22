"""Layers with weights of int8 and inputs that are quantized as they come, from their own range.

Numbers are those of PyTorch's x86, fbgemm and onednn engines, which use 7 of the 8 bits of an input
so that sums of two products fit 16 bits.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core.dispatch.registry import op
from torchlike._core.dispatch.schema import Bool, Input, Int, OptInput

#: Below it PyTorch's kernels lose bits of a scale.
_LEAST_SCALE = 6.1e-5
#: Levels of an input: 0 … 127.
_MOST = 127


def parameters(low: Any, high: Any, least: int, most: int, symmetric: bool) -> tuple[Any, Any]:
    """Return the scale (float32) and zero point (int32) with which ``least … most`` cover ``low …
    high`` and zero exactly, by PyTorch's rule for its kernels (in float64)."""
    low, high = low.astype(np.float64), high.astype(np.float64)
    both = (low < 0) & (high > 0)
    if symmetric:
        down, up = -((most - least) // 2 + 1), (most - least) // 2
        widest = jnp.maximum(jnp.abs(low / down), jnp.abs(high / up))
        # PyTorch keeps these in float32.
        widest = widest.astype(np.float32).astype(np.float64)
        low, high = jnp.where(both, widest * down, low), jnp.where(both, widest * up, high)
    low, high = jnp.minimum(low, 0), jnp.maximum(high, 0)
    levels = most - least
    scale = (high - low) / levels
    single = scale.astype(np.float32)
    scale = jnp.where((single == 0) | jnp.isinf(1 / single), 0.1, scale)
    small = scale < _LEAST_SCALE
    wider = _LEAST_SCALE / scale
    reach = _LEAST_SCALE * levels
    low, high = (
        jnp.where(small, jnp.where(high == 0, -reach, low * wider), low),
        jnp.where(small, jnp.where(low == 0, reach, high * wider), high),
    )
    scale = jnp.where(small, _LEAST_SCALE, scale)
    from_low, from_high = least - low / scale, most - high / scale
    nearer = abs(least) + jnp.abs(low / scale) < abs(most) + jnp.abs(high / scale)
    zero = jnp.where(nearer, from_low, from_high)
    if symmetric:
        zero = jnp.where(both, (least + most) / 2, zero)
    zero = jnp.clip(jnp.round(zero), least, most)
    return scale.astype(np.float32), zero.astype(np.int32)


@op(namespaces=(), method=False, differentiable=False)
def quantization_parameters(low: Input, high: Input, least: Int, most: Int, symmetric: Bool):
    """Return the scales and zero points for ranges ``low … high``."""
    return parameters(low, high, least, most, symmetric)


def _product(x: Any, weight: Any, scale: Any, bias: Any) -> jax.Array:
    step, zero = parameters(x.min(), x.max(), 0, _MOST, False)
    levels = jnp.clip(jnp.round(x * (np.float32(1) / step)) + zero, 0, _MOST).astype(np.int32)
    sums = jnp.matmul(levels - zero, weight.astype(np.int32).T)
    out = sums.astype(np.float32) * (step * scale)
    return out if bias is None else out + bias


@op(namespaces=(), method=False, differentiable=False)
def dynamic_linear(input: Input, weight: Input, scale: Input, bias: OptInput):
    """Return ``input @ (weight * scale).T + bias`` for int8 weights (out, in), with one scale or
    one for each row; the input is quantized to the range that it has. Products are summed in
    int32."""
    if input.shape[-1] != weight.shape[1]:
        raise RuntimeError(
            "The size of the last dimension of the input, "
            f"{input.shape[-1]}, must be the layer's in_features, {weight.shape[1]}"
        )
    if input.size == 0:
        return jnp.zeros((*input.shape[:-1], weight.shape[0]), np.float32)
    return _product(input, weight, scale, bias)


@op(namespaces=(), method=False, differentiable=False)
def dynamic_lstm(
    input: Input,
    hidden: Input,
    cell: Input,
    weight_ih: Input,
    scale_ih: Input,
    bias_ih: Input,
    weight_hh: Input,
    scale_hh: Input,
    bias_hh: Input,
    reverse: Bool,
):
    """Run one direction of one layer of an LSTM over (time, batch, features): outputs, and the last
    hidden and cell state. The whole input is quantized to the range that it has, and at each step
    the state to its own."""

    def step(state: Any, given: Any) -> Any:
        hidden, cell = state
        gates = given + _product(hidden, weight_hh, scale_hh, bias_hh)
        i, f, g, o = jnp.split(gates, 4, axis=-1)
        cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
        hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
        return (hidden, cell), hidden

    given = _product(input, weight_ih, scale_ih, bias_ih)
    (hidden, cell), outputs = lax.scan(step, (hidden, cell), given, reverse=reverse)
    return outputs, hidden, cell
