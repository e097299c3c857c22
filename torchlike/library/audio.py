"""The operators of ``torchaudio``'s compiled library, by its names and schemas.

Filters are loops over the samples, in XLA. ``forced_align`` needs the values and runs by NumPy.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._ops.creation.from_data import from_numpy
from torchlike.library.registration import Library
from torchlike.tensor import Tensor, wrap

_SCHEMAS = """
_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped, Tensor(a!) padded_output_waveform) -> ()
_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor(a!) last_in, Tensor(b!) last_out, Tensor(c!) output_waveform) -> ()
forced_align(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank) -> (Tensor, Tensor)
rnnt_loss_forward(Tensor logits, Tensor targets, Tensor logit_lengths, Tensor target_lengths, int blank, float clamp, bool fused_log_softmax=True) -> (Tensor, Tensor)
"""  # noqa: E501 - one schema a line

_library = Library("torchaudio", "DEF")
for _schema in _SCHEMAS.strip().splitlines():
    _library.define(_schema)
_questions = Library("_torchaudio", "DEF")
_questions.define("is_align_available() -> bool")
_questions.define("cuda_version() -> int?")

#: How much of its last value a blocker of constant parts keeps at each sample.
_KEPT = 0.995


# -- filters ---------------------------------------------------------------------------------------


@jax.jit
def _filtered(signal: Any, coefficients: Any, before: Any) -> Any:
    """Compute ``y[t] = x[t] - sum(a[k] * y[t - k], k >= 1)``, time last; ``before`` are the y
    before t = 0, the oldest first, as are the coefficients."""

    def step(past: Any, x: Any) -> tuple[Any, Any]:
        y = x - (past * coefficients).sum(-1)
        return jnp.concatenate([past, y[..., None]], -1)[..., 1:], y

    _, found = lax.scan(step, before, jnp.moveaxis(signal, -1, 0))
    return jnp.moveaxis(found, 0, -1)


def _lfilter_core_loop(
    input_signal_windows: Tensor, a_coeff_flipped: Tensor, padded_output_waveform: Tensor
) -> None:
    """Filter (batch, channel, time) by its own past, and write the result behind the past."""
    past = a_coeff_flipped.shape[-1] - 1
    out = padded_output_waveform._read()
    found = _filtered(
        input_signal_windows._read(), a_coeff_flipped._read()[:, :past], out[..., :past]
    )
    padded_output_waveform[..., past:] = wrap(found)


@jax.jit
def _without_constant(temp: Any, last_in: Any, last_out: Any) -> Any:
    def step(last: tuple[Any, Any], x: Any) -> tuple[tuple[Any, Any], Any]:
        y = x - last[0] + _KEPT * last[1]
        return (x, y), y

    (x, y), found = lax.scan(step, (last_in, last_out), jnp.moveaxis(temp, -1, 0))
    return x, y, jnp.moveaxis(found, 0, -1)


def _overdrive_core_loop(
    waveform: Tensor, temp: Tensor, last_in: Tensor, last_out: Tensor, output_waveform: Tensor
) -> None:
    """Write half of the signal and three quarters of the distorted one without its constant
    part."""
    x, y, found = map(wrap, _without_constant(temp._read(), last_in._read(), last_out._read()))
    output_waveform.copy_(waveform * 0.5 + found * 0.75)
    last_in.copy_(x)
    last_out.copy_(y)


# -- sequences -------------------------------------------------------------------------------------


def forced_align(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int
) -> tuple[Tensor, Tensor]:
    """Find the likeliest path of labels and blanks that spells the targets; return it, and
    ``log_probs`` as it is.

    RuntimeError for more than one sequence, and for one that is too short.
    """
    if log_probs.dim() != 3:
        raise RuntimeError("log_probs must be a 3-D tensor")
    if targets.dim() != 2:
        raise RuntimeError("targets must be 2-D tensor")
    if log_probs.shape[0] != 1 or targets.shape[0] != 1:
        raise RuntimeError("The batch dimension must be 1 at the current version")
    length, labels = int(input_lengths[0]), targets[0, : int(target_lengths[0])].numpy()
    repeats = int((labels[1:] == labels[:-1]).sum())
    if length < len(labels) + repeats:
        raise RuntimeError(
            f"targets length is too long for CTC. Found log_probs length: {length}, targets "
            f"length: {len(labels)}, and number of repeats: {repeats}"
        )
    path = np.full((1, log_probs.shape[1]), blank, targets.dtype.numpy)
    path[0, :length] = _best_path(log_probs[0, :length].detach().numpy(), labels, blank)
    return from_numpy(path), log_probs.clone()


def _best_path(scores: np.ndarray, labels: np.ndarray, blank: int) -> np.ndarray:
    """Find a label for each row of scores. States: a blank before each label and one at the end;
    from one it goes on to the next, and over a blank between different labels."""
    states = np.full(2 * len(labels) + 1, blank, labels.dtype)
    states[1::2] = labels
    may_skip = np.zeros(len(states), bool)
    may_skip[3::2] = labels[1:] != labels[:-1]
    best = np.full(len(states), -np.inf, scores.dtype)
    best[:2] = scores[0, states[:2]]
    came = np.zeros((len(scores), len(states)), np.int8)
    for t in range(1, len(scores)):
        stay = best
        step = np.concatenate([[-np.inf], best[:-1]])
        skip = np.where(may_skip, np.concatenate([[-np.inf] * 2, best[:-2]])[: len(best)], -np.inf)
        ways = np.stack([stay, step, skip])
        came[t] = ways.argmax(0)
        best = ways.max(0) + scores[t, states]
    at = len(states) - 1
    if len(states) > 1 and best[at] <= best[at - 1]:
        at -= 1
    path = np.empty(len(scores), labels.dtype)
    for t in reversed(range(len(scores))):
        path[t] = states[at]
        at -= came[t, at]
    return path


@functools.partial(jax.jit, static_argnums=(4, 5))
def _rnnt_costs(
    logits: Any, targets: Any, frames: Any, labels: Any, blank: int, fused: bool
) -> Any:
    """Compute each sequence's cost: minus the logarithm of the sum over all paths through the
    lattice of frames and labels. A blank goes to the next frame, a label to the next label."""
    scores = jax.nn.log_softmax(logits, -1) if fused else logits
    blanks = scores[..., blank]
    wanted = jnp.broadcast_to(targets[:, None, :, None], (*scores.shape[:2], targets.shape[1], 1))
    spoken = jnp.take_along_axis(scores[:, :, :-1], wanted.astype(jnp.int32), -1)[..., 0]

    def along_labels(from_below: Any, spoken: Any) -> Any:
        """Return the row of a frame, given what comes to each label from the frame before."""

        def step(left: Any, here: tuple[Any, Any]) -> tuple[Any, Any]:
            below, label = here
            found = jnp.logaddexp(below, left + label)
            return found, found

        first = from_below[:, 0]
        _, others = lax.scan(step, first, (from_below[:, 1:].T, spoken.T))
        return jnp.concatenate([first[:, None], others.T], 1)

    def next_frame(row: Any, at: tuple[Any, Any]) -> tuple[Any, Any]:
        blank_before, spoken = at
        found = along_labels(row + blank_before, spoken)
        return found, found

    start = jnp.full(blanks.shape[::2], -jnp.inf, scores.dtype).at[:, 0].set(0)
    first = along_labels(start, spoken[:, 0])
    rows = jnp.moveaxis(blanks[:, :-1], 1, 0), jnp.moveaxis(spoken[:, 1:], 1, 0)
    _, later = lax.scan(next_frame, first, rows)
    all_rows = jnp.concatenate([first[None], later])
    sequence = jnp.arange(len(frames))
    last = all_rows[frames - 1, sequence, labels] + blanks[sequence, frames - 1, labels]
    return -last


def rnnt_loss_forward(
    logits: Tensor,
    targets: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    blank: int,
    clamp: float,
    fused_log_softmax: bool = True,
) -> tuple[Tensor, Tensor]:
    """Compute the costs, and their gradients for the logits, cut to ±``clamp`` where that is
    positive."""
    others = [t._read() for t in (targets, logit_lengths, target_lengths)]
    costs, pull = jax.vjp(
        lambda x: _rnnt_costs(x, *others, int(blank), bool(fused_log_softmax)), logits._read()
    )
    (gradients,) = pull(jnp.ones_like(costs))
    if clamp > 0:
        gradients = jnp.clip(gradients, -clamp, clamp)
    return wrap(costs), wrap(gradients)


for _kernel in (_lfilter_core_loop, _overdrive_core_loop, forced_align, rnnt_loss_forward):
    _library.impl(_kernel.__name__, _kernel)
_questions.impl("is_align_available", lambda: True)
_questions.impl("cuda_version", lambda: None)
