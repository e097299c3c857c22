"""Recurrent networks: LSTM, GRU and plain RNN, one op for all layers, and their cells.

The input's part of the gates is one product for the whole sequence, before the scan over time
(recurrence.py). Its weight gradient is then one product too. Packed sequences are unpacked inside
the op and masked: a sequence keeps its state once it has ended.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core.dispatch.registry import NAMESPACES, composite, op
from torchlike._core.dispatch.schema import Bool, Input, Inputs, OptInput, Str
from torchlike._ops.linalg.products import times_transposed
from torchlike._ops.loops import scan
from torchlike._ops.nn.recurrent.recurrence import CELLS, over_time, recurrent_part
from torchlike.tensor import Tensor

# -- one direction ---------------------------------------------------------------------------------


def _input_part(kind: str, x: Any, w: dict[str, Any]) -> jax.Array:
    """Return the gates' part that depends on the input alone, for all steps at once."""
    bias = w["b_ih"]
    if bias is not None and kind != "gru":
        # The GRU's reset gate multiplies the hidden bias; elsewhere both biases just add.
        bias = bias + w["b_hh"]
    flat = times_transposed(x.reshape(-1, x.shape[-1]), w["w_ih"])
    if bias is not None:
        flat = flat + bias
    return flat.reshape(*x.shape[:-1], flat.shape[-1])


def _run_direction(
    kind: str, x: Any, state: tuple[Any, ...], w: dict[str, Any], mask: Any, reverse: bool
) -> tuple[Any, tuple[Any, ...]]:
    """Run one direction of one layer over (T, B, F): outputs (T, B, H) and the last state."""
    gates = _input_part(kind, x, w)
    if w["w_hr"] is not None:
        return _run_projected(gates, state, w, mask, reverse)
    return over_time(kind, reverse, gates, w["w_hh"], _hidden_bias(kind, w), state, mask)


def _hidden_bias(kind: str, w: dict[str, Any]) -> jax.Array | None:
    return w["b_hh"] if kind == "gru" else None


def _run_projected(
    gates: Any, state: tuple[Any, ...], w: dict[str, Any], mask: Any, reverse: bool
) -> tuple[Any, tuple[Any, ...]]:
    """Run an LSTM whose hidden state is a projection of its output (``proj_size``)."""

    def body(state: Any, inputs: Any) -> tuple[Any, ...]:
        x_t, live = inputs
        (h, c), _ = CELLS["lstm"].step(x_t, recurrent_part(state[0], w["w_hh"], None), state)
        new = h @ w["w_hr"].T, c
        if live is not None:
            new = tuple(jnp.where(live[:, None], n, s) for n, s in zip(new, state, strict=True))
        return new, new[0]

    last, outputs = scan(body, state, (gates, mask), reverse=reverse)
    return outputs, last


# -- layers ----------------------------------------------------------------------------------------


def _weights_of(weights: Any, layer: int, has_biases: bool, projected: bool) -> dict[str, Any]:
    """Return the weights of one layer and direction, from PyTorch's flat order."""
    per = 2 + 2 * has_biases + projected
    part = list(weights[layer * per : (layer + 1) * per])
    return {
        "w_ih": part[0],
        "w_hh": part[1],
        "b_ih": part[2] if has_biases else None,
        "b_hh": part[3] if has_biases else None,
        "w_hr": part[-1] if projected else None,
    }


def _run_layers(
    kind: str, x: Any, states: Any, weights: Any, has_biases: bool, bidirectional: bool, mask: Any
) -> tuple[Any, ...]:
    """Run all layers over (T, B, F): outputs, then the last states stacked."""
    directions = 2 if bidirectional else 1
    projected = kind == "lstm" and states[0].shape[-1] != states[1].shape[-1]
    lasts = []
    for first in range(0, states[0].shape[0], directions):
        outputs = []
        for k in range(first, first + directions):
            w = _weights_of(weights, k, has_biases, projected)
            y, last = _run_direction(
                kind, x, tuple(s[k] for s in states), w, mask, reverse=k > first
            )
            outputs.append(y)
            lasts.append(last)
        x = jnp.concatenate(outputs, -1) if bidirectional else outputs[0]
    return x, *(jnp.stack(s) for s in zip(*lasts, strict=True))


def _check_states(kind: str, x: Any, states: Any, weights: Any, layers: int, batch: int) -> None:
    hidden = weights[1].shape[1]
    cells = weights[1].shape[0] // CELLS[kind].gates
    for name, state, size in zip(("hx", "cx"), states, (hidden, cells), strict=False):
        expected = (layers, batch, size)
        if state.shape != expected:
            raise RuntimeError(
                f"Expected hidden[{0 if name == 'hx' else 1}] size {expected}, got "
                f"{list(state.shape)}"
                if kind == "lstm"
                else f"Expected hidden size {expected}, got {list(state.shape)}"
            )
    if x.shape[-1] != weights[0].shape[1]:
        raise RuntimeError(
            f"input.size(-1) must be equal to input_size. Expected {weights[0].shape[1]}, got "
            f"{x.shape[-1]}"
        )
    for t in (*states, *weights):
        if t.dtype != x.dtype:
            raise RuntimeError(
                f"mat1 and mat2 must have the same dtype, but got {x.dtype} and {t.dtype}"
            )


@op("recurrent_op", namespaces=(), method=False, residuals=True, grad_name="RecurrentBackward0")
def recurrent_op(
    input: Input,
    states: Inputs,
    weights: Inputs,
    kind: Str,
    has_biases: Bool,
    bidirectional: Bool,
    batch_first: Bool,
):
    """Run all layers over a padded batch, (B, T, F) with ``batch_first``: outputs (T, B, H), last
    hidden states (and cell states)."""
    if input.ndim != 3:
        raise RuntimeError(f"input must have 3 dimensions, got {input.ndim}")
    x = jnp.swapaxes(input, 0, 1) if batch_first else input
    _check_states(kind, x, states, weights, states[0].shape[0], x.shape[1])
    if x.shape[0] == 0:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    y, *last = _run_layers(kind, x, states, weights, has_biases, bidirectional, None)
    return y, *last


@op(
    "recurrent_packed_op",
    namespaces=(),
    method=False,
    residuals=True,
    grad_name="RecurrentBackward0",
)
def recurrent_packed_op(
    input: Input,
    batch_sizes: Input,
    states: Inputs,
    weights: Inputs,
    kind: Str,
    has_biases: Bool,
    bidirectional: Bool,
):
    """Run all layers over packed rows (sum of lengths, F); ``batch_sizes`` counts the rows of a
    step.

    The sizes are dynamic: batches of other lengths, with as many rows and steps, do not recompile.
    """
    batch = states[0].shape[1]
    _check_states(kind, input, states, weights, states[0].shape[0], batch)
    sizes = batch_sizes.astype(np.int32)
    ends = jnp.cumsum(sizes, dtype=np.int32)
    starts = ends - sizes
    mask = jnp.arange(batch, dtype=np.int32) < sizes[:, None]
    rows = jnp.where(mask, starts[:, None] + jnp.arange(batch, dtype=np.int32), 0)
    padded = jnp.where(mask[..., None], input[rows], 0)
    y, *last = _run_layers(kind, padded, states, weights, has_biases, bidirectional, mask)
    row = jnp.arange(input.shape[0], dtype=np.int32)
    step = jnp.searchsorted(ends, row, side="right").astype(np.int32)
    return y[step, row - starts[step]], *last


# -- torch.lstm and its kin ------------------------------------------------------------------------


def _run(
    kind: str,
    input: Tensor,
    batch_sizes: Tensor | None,
    states: list[Tensor],
    weights: list[Tensor],
    has_biases: Any,
    num_layers: int,
    dropout: float,
    train: Any,
    bidirectional: Any,
    batch_first: Any,
) -> tuple[Tensor, ...]:
    """Run all layers. Between layers time comes first, whatever the input: so dropout draws
    PyTorch's masks, and outputs with the batch first are a view of those with time first, as
    PyTorch's are.
    """

    def layers(
        x: Tensor, states: list[Tensor], weights: list[Tensor], swap: Any
    ) -> tuple[Any, ...]:
        if batch_sizes is None:
            return recurrent_op(x, states, weights, kind, has_biases, bidirectional, swap)
        return recurrent_packed_op(x, batch_sizes, states, weights, kind, has_biases, bidirectional)

    swap = batch_first and batch_sizes is None
    if not (dropout and train) or num_layers == 1:
        y, *last = layers(input, states, weights, swap)
        return (y.transpose(0, 1) if swap else y), *last
    directions = 2 if bidirectional else 1
    per_layer = len(weights) // num_layers
    lasts: list[list[Tensor]] = [[] for _ in states]
    x: Any = input
    for k in range(num_layers):
        if k:
            x = NAMESPACES["nn.functional"]["dropout"](x, dropout, True)
        part = [s[k * directions : (k + 1) * directions] for s in states]
        own = weights[k * per_layer : (k + 1) * per_layer]
        x, *last = layers(x, part, own, swap and k == 0)
        for kept, state in zip(lasts, last, strict=True):
            kept.append(state)
    y = x.transpose(0, 1) if swap else x
    return y, *(NAMESPACES[""]["cat"](parts, 0) for parts in lasts)


def _register(kind: str, **options: Any) -> None:
    def function(input: Tensor, *arguments: Any) -> tuple[Any, ...]:
        args: Any = arguments
        # PyTorch's two overloads: (input, hx, params, has_biases, num_layers, dropout, train,
        # bidirectional, batch_first) and, packed, (data, batch_sizes, hx, params, …).
        packed = (
            len(args) > 1
            and isinstance(args[0], Tensor)
            and (isinstance(args[1], Tensor) or kind == "lstm")
        )
        batch_sizes, args = (args[0], args[1:]) if packed else (None, args)
        hx, weights, has_biases, num_layers, dropout, train, bidirectional, *rest = args
        states = list(hx) if kind == "lstm" else [hx]
        return _run(
            kind,
            input,
            batch_sizes,
            states,
            list(weights),
            has_biases,
            num_layers,
            dropout,
            train,
            bidirectional,
            rest[0] if rest else False,
        )

    state = "hx = (h_0, c_0)" if kind == "lstm" else "hx = h_0"
    function.__doc__ = f"""Run all layers of the {kind} over a sequence, with ``{state}``.

    ``{kind}(input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
    batch_first)`` for (T, B, F) or batch-first input, and ``{kind}(data, batch_sizes, hx, params,
    has_biases, num_layers, dropout, train, bidirectional)`` for packed sequences. ``params`` is
    PyTorch's flat list of weights. Gives the outputs and the last states.
    """
    composite(kind, method=False, **options)(function)


_LOW = {"cpu": "low", "cuda": "low"}
_register("rnn_tanh", autocast=_LOW)
_register("rnn_relu", autocast=_LOW)
_register("lstm", autocast=_LOW)
_register("gru", autocast={"cuda": "low"})


# -- cells -----------------------------------------------------------------------------------------


def _check_cell(x: Any, states: Any, w_ih: Any, w_hh: Any) -> None:
    if x.shape[-1] != w_ih.shape[1]:
        raise RuntimeError(
            f"input has inconsistent input_size: got {x.shape[-1]} expected {w_ih.shape[1]}"
        )
    for i, state in enumerate(states):
        if state.shape[-1] != w_hh.shape[1]:
            raise RuntimeError(
                f"hidden{i} has inconsistent hidden_size: got {state.shape[-1]}, expected "
                f"{w_hh.shape[1]}"
            )
        if state.shape[:-1] != x.shape[:-1]:
            raise RuntimeError(
                f"Input batch size {x.shape[0]} doesn't match hidden{i} batch size {state.shape[0]}"
            )


def _cell(
    kind: str, x: Any, states: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any
) -> tuple[Any, ...]:
    _check_cell(x, states, w_ih, w_hh)
    if b_hh is not None and b_ih is None:
        b_ih = jnp.zeros_like(b_hh)
    if b_ih is not None and b_hh is None:
        b_hh = jnp.zeros_like(b_ih)
    w = {"w_ih": w_ih, "w_hh": w_hh, "b_ih": b_ih, "b_hh": b_hh, "w_hr": None}
    recurrent = recurrent_part(states[0], w_hh, _hidden_bias(kind, w))
    return CELLS[kind].step(_input_part(kind, x, w), recurrent, states)[0]


@op(
    "lstm_cell_op",
    namespaces=(),
    method=False,
    residuals=True,
    grad_name="ThnnFusedLstmCellBackward0",
    autocast={"cuda": "low"},
)
def lstm_cell_op(
    input: Input, hx: Input, cx: Input, w_ih: Input, w_hh: Input, b_ih: OptInput, b_hh: OptInput
):
    """Compute one LSTM step."""
    return _cell("lstm", input, (hx, cx), w_ih, w_hh, b_ih, b_hh)


@composite(method=False)
def lstm_cell(
    input: Tensor,
    hx: Any,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Compute one LSTM step from (h, c): the new (h, c)."""
    return lstm_cell_op(input, hx[0], hx[1], w_ih, w_hh, b_ih, b_hh)


def _register_cell(kind: str, **options: Any) -> None:
    def pure(
        input: Input,
        hx: Input,
        w_ih: Input,
        w_hh: Input,
        b_ih: OptInput = None,
        b_hh: OptInput = None,
    ):
        return _cell(kind, input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]

    pure.__doc__ = f"Compute one step of the {kind}: the new hidden state."
    op(f"{kind}_cell", method=False, residuals=True, **options)(pure)


_register_cell("gru", autocast={"cuda": "low"})
_register_cell("rnn_tanh", autocast=_LOW)
_register_cell("rnn_relu", autocast=_LOW)
