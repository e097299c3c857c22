"""The scan over time of recurrent layers, with a derivative rule that leaves little in the scan.

Under plain ``jax.vjp`` of ``lax.scan`` the recurrent weight's gradient is one small product per
step and the gates' derivatives are computed step by step. The rule here computes both for all steps
at once and scans only over what must be sequential. LSTM 64-128, 64 steps, batch 32: a training
step takes two thirds of the time. Unrolling was slower at every factor tried (2, 4, 8).

It is a ``custom_jvp``: forward mode and derivatives of any order follow from it, and reverse mode
is its transposition, in which a product before the scan becomes one after it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_derivatives import SymbolicZero

from torchlike._ops.linalg.products import product_of_tangent
from torchlike._ops.loops import scan

State = tuple[Any, ...]


class Cell(NamedTuple):
    """One step of a kind of recurrence, elementwise in the hidden units.

    Attributes:
      step: ``(x, a, state) -> (state, saved)``; x is the input's part of the gates, a the
        recurrent part ``h @ w_hh.T + b_hh``.
      slopes: ``(saved, state before, state after) -> slopes``, for any leading axes.
      tangent: ``(slopes, dx, da, dstate) -> dstate``, linear in the last three.
      gates: how many gates are stacked in the weights.
    """

    step: Callable[[Any, Any, State], tuple[State, Any]]
    slopes: Callable[[Any, State, State], Any]
    tangent: Callable[[Any, Any, Any, State], State]
    gates: int


def _split(gates: Any, n: int) -> Any:
    return lax.split(gates, (gates.shape[-1] // n,) * n, axis=gates.ndim - 1)


# -- LSTM ------------------------------------------------------------------------------------------


def _lstm_step(x: Any, a: Any, state: State) -> tuple[State, Any]:
    # sigmoid(z) = (1 + tanh(z / 2)) / 2, so one tanh over the whole row serves all four gates.
    z, width = x + a, x.shape[-1] // 4
    is_cell = np.repeat([False, False, True, False], width)
    scale = np.where(is_cell, 1.0, 0.5).astype(z.dtype)
    gates = jnp.tanh(z * scale) * scale + np.where(is_cell, 0.0, 0.5).astype(z.dtype)
    i, f, g, o = _split(gates, 4)
    c = f * state[1] + i * g
    return (o * jnp.tanh(c), c), gates


def _lstm_slopes(gates: Any, before: State, after: State) -> tuple[Any, ...]:
    i, f, g, o = _split(gates, 4)
    tanh_c = jnp.tanh(after[1])
    return (
        g * i * (1 - i),
        before[1] * f * (1 - f),
        i * (1 - g * g),
        tanh_c * o * (1 - o),
        o * (1 - tanh_c * tanh_c),
        f,
    )


def _lstm_tangent(slopes: Any, dx: Any, da: Any, dstate: State) -> State:
    to_i, to_f, to_g, to_o, to_c, f = slopes
    di, df, dg, do = _split(dx + da, 4)
    dc = dstate[1] * f + di * to_i + df * to_f + dg * to_g
    return do * to_o + dc * to_c, dc


# -- GRU -------------------------------------------------------------------------------------------


def _gru_step(x: Any, a: Any, state: State) -> tuple[State, Any]:
    xr, xz, xn = _split(x, 3)
    ar, az, an = _split(a, 3)
    r, z = jax.nn.sigmoid(xr + ar), jax.nn.sigmoid(xz + az)
    n = jnp.tanh(xn + r * an)
    return (n + z * (state[0] - n),), (r, z, n, an)


def _gru_slopes(saved: Any, before: State, after: State) -> tuple[Any, ...]:
    r, z, n, an = saved
    to_n = (1 - z) * (1 - n * n)
    return to_n, to_n * r, to_n * an * r * (1 - r), (before[0] - n) * z * (1 - z), z


def _gru_tangent(slopes: Any, dx: Any, da: Any, dstate: State) -> State:
    to_xn, to_an, to_r, to_z, z = slopes
    xr, xz, xn = _split(dx, 3)
    ar, az, an = _split(da, 3)
    dh = to_xn * xn + to_an * an + to_r * (xr + ar) + to_z * (xz + az) + z * dstate[0]
    return (dh,)


# -- plain -----------------------------------------------------------------------------------------


def _plain(activation: Callable[..., Any], slope: Callable[..., Any]) -> Cell:
    def step(x: Any, a: Any, state: State) -> tuple[State, Any]:
        return (activation(x + a),), ()

    return Cell(
        step,
        lambda saved, before, after: slope(after[0]),
        lambda slopes, dx, da, dstate: (slopes * (dx + da),),
        1,
    )


CELLS = {
    "lstm": Cell(_lstm_step, _lstm_slopes, _lstm_tangent, 4),
    "gru": Cell(_gru_step, _gru_slopes, _gru_tangent, 3),
    "rnn_tanh": _plain(jnp.tanh, lambda h: 1 - h * h),
    "rnn_relu": _plain(lambda x: jnp.maximum(x, 0), lambda h: (h > 0).astype(h.dtype)),
}


# -- over time -------------------------------------------------------------------------------------


def recurrent_part(h: Any, w_hh: Any, b_hh: Any) -> jax.Array:
    """Return ``h @ w_hh.T + b_hh``; the bias may be None."""
    y = h @ w_hh.T
    return y if b_hh is None else y + b_hh


def _live(mask: Any, new: State, old: State) -> State:
    """Return the new states of the sequences that go on, and the old ones of those that have ended.
    mask: (batch,) or None."""
    if mask is None:
        return new
    return tuple(jnp.where(mask[:, None], n, o) for n, o in zip(new, old, strict=True))


def _forward(
    kind: str, reverse: bool, x: Any, w_hh: Any, b_hh: Any, state: State, mask: Any
) -> tuple[State, State, Any]:
    """Run one direction and return the last state, all states and what the steps saved (the caller
    drops what it does not need)."""
    step = CELLS[kind].step

    def body(state: State, inputs: Any) -> tuple[Any, ...]:
        x_t, live = inputs
        new, saved = step(x_t, recurrent_part(state[0], w_hh, b_hh), state)
        new = _live(live, new, state)
        return new, (new, saved)

    last, (states, saved) = scan(body, state, (x, mask), reverse=reverse)
    return last, states, saved


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def over_time(
    kind: str, reverse: bool, x: Any, w_hh: Any, b_hh: Any, state: State, mask: Any
) -> tuple[Any, State]:
    """Run one direction of one layer.

    Args:
      x: (T, batch, gates · H), the input's part of the gates.
      w_hh: (gates · H, H); b_hh: (gates · H,) or None.
      state: (h,) or (h, c), each (batch, H).
      mask: (T, batch), which sequences are still running, or None.

    Returns:
      The hidden states (T, batch, H), and the last state.
    """
    last, states, _ = _forward(kind, reverse, x, w_hh, b_hh, state, mask)
    return states[0], last


def _dense(tangent: Any, like: Any) -> jax.Array:
    return jnp.zeros_like(like) if isinstance(tangent, SymbolicZero) else tangent


def _over_time_jvp(kind: str, reverse: bool, primals: Any, tangents: Any) -> tuple[Any, ...]:
    x, w_hh, b_hh, state, mask = primals
    dx, dw_hh, db_hh, dstate, _ = tangents
    last, states, saved = _forward(kind, reverse, x, w_hh, b_hh, state, mask)

    def shifted(first: Any, rest: Any) -> jax.Array:
        parts = (rest[1:], first[None]) if reverse else (first[None], rest[:-1])
        return jnp.concatenate(parts)

    before = tuple(shifted(s, all_s) for s, all_s in zip(state, states, strict=True))
    cell = CELLS[kind]
    slopes = cell.slopes(saved, before, states)
    # What of the gates' tangents is known before the scan, as one product for all steps.
    known = _dense(dx, x)
    known_a = jnp.zeros((), x.dtype)
    if not isinstance(dw_hh, SymbolicZero):
        h = before[0]
        product = product_of_tangent(h.reshape(-1, h.shape[-1]), dw_hh)
        known_a = product.reshape(*h.shape[:-1], product.shape[-1])
    if b_hh is not None and not isinstance(db_hh, SymbolicZero):
        known_a = known_a + db_hh
    apart = kind == "gru"  # its reset gate multiplies the recurrent part alone
    if not apart:
        known, known_a = known + known_a, None
    else:
        known_a = jnp.broadcast_to(known_a, x.shape)

    def body(dstate: State, inputs: Any) -> tuple[Any, ...]:
        slopes_t, dx_t, da_t, live = inputs
        # Not `@ w_hh.T`: transposed, this is then a product with w_hh as it lies in memory.
        da = lax.dot_general(dstate[0], w_hh, (((1,), (1,)), ((), ())))
        new = cell.tangent(slopes_t, dx_t, da if da_t is None else da + da_t, dstate)
        new = _live(live, new, dstate)
        return new, new[0]

    dstate = tuple(_dense(d, s) for d, s in zip(dstate, state, strict=True))
    dlast, dh = scan(body, dstate, (slopes, known, known_a, mask), reverse=reverse)
    return (states[0], last), (dh, dlast)


over_time.defjvp(_over_time_jvp, symbolic_zeros=True)
