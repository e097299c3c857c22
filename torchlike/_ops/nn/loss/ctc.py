"""Connectionist temporal classification: a scan over time in log space.

A. Graves et al., "Connectionist Temporal Classification: Labelling Unsegmented Sequence Data with
Recurrent Neural Networks", 2006: the forward recursion is their equations 6 to 8, the gradient
their equation 16.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import dtypes, modes
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Bool, Input, Int, require_tensor
from torchlike._ops.checks import scalar_type_of
from torchlike._ops.creation.from_data import tensor as make_tensor
from torchlike._ops.creation.sequences import arange
from torchlike._ops.loops import scan
from torchlike._ops.value_checks import refuse_where, values_of
from torchlike.tensor import Tensor

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def _logsumexp(terms: Any) -> jax.Array:
    """Compute log(sum(exp)) over a list of arrays; -inf, with gradient 0, where all of them are
    -inf."""
    stacked = jnp.stack(terms)
    largest = lax.stop_gradient(jnp.max(stacked, 0))
    largest = jnp.where(jnp.isneginf(largest), 0, largest)
    total = jnp.sum(jnp.exp(stacked - largest), 0)
    none = total == 0
    return jnp.where(none, -jnp.inf, jnp.log(jnp.where(none, 1, total)) + largest)


def _likelihoods(
    log_probs: Any, targets: Any, lengths: Any, target_lengths: Any, blank: int
) -> jax.Array:
    """Return the negative log likelihoods (N,) of log_probs (T, N, C) and padded targets (N, S).

    State 2 k of a sample is the blank before label k,
    state 2 k + 1 the label; a label may be reached from two states back unless it repeats.
    """
    steps, batch, _ = log_probs.shape
    labels = jnp.full((batch, 2 * targets.shape[1] + 1), blank, targets.dtype)
    labels = labels.at[:, 1::2].set(targets)
    before = jnp.concatenate([jnp.full((batch, 2), -1, labels.dtype), labels], 1)[:, :-2]
    skips = labels != before  # also False for blanks, which are two states apart
    states = labels.shape[1]
    ends = 2 * target_lengths[:, None]
    inside = jnp.arange(states) <= ends
    emitted = jnp.take_along_axis(
        log_probs, jnp.broadcast_to(labels, (steps, batch, states)), -1, mode="clip"
    )
    nothing = jnp.full((batch, 1), -jnp.inf, log_probs.dtype)

    def shifted(alpha: Any, by: int) -> jax.Array:
        return jnp.concatenate([*[nothing] * by, alpha], 1)[:, :states]

    def step(alpha: Any, now: Any) -> tuple[Any, ...]:
        t, emission = now
        reached = _logsumexp(
            [alpha, shifted(alpha, 1), jnp.where(skips, shifted(alpha, 2), -jnp.inf)]
        )
        following = jnp.where(inside, reached + emission, -jnp.inf)
        # Beyond its length a sample stands still, so that the last alpha is that of its end.
        live = t < lengths[:, None]
        return jnp.where(live, following, alpha), None

    first = jnp.where((jnp.arange(states) < 2) & inside, emitted[0], -jnp.inf)
    first = jnp.where(lengths[:, None] > 0, first, -jnp.inf)
    last, _ = scan(step, first, (jnp.arange(1, steps), emitted[1:]))
    at_blank = jnp.take_along_axis(last, ends, 1)[:, 0]
    at_label = jnp.take_along_axis(last, jnp.maximum(ends - 1, 0), 1)[:, 0]
    total = _logsumexp([at_blank, jnp.where(target_lengths > 0, at_label, -jnp.inf)])
    # No time and no labels: certain.
    total = jnp.where((lengths == 0) & (target_lengths == 0), 0, total)
    return -total


@functools.partial(jax.custom_jvp, nondiff_argnums=(4, 5))
def _losses(
    log_probs: Any, targets: Any, lengths: Any, target_lengths: Any, blank: int, zero_infinity: bool
) -> jax.Array:
    loss = _likelihoods(log_probs, targets, lengths, target_lengths, blank)
    return jnp.where(jnp.isinf(loss), 0, loss) if zero_infinity else loss


@_losses.defjvp
def _losses_jvp(blank: int, zero_infinity: bool, primals: Any, tangents: Any) -> tuple[Any, ...]:
    """Compute the losses and their tangents. As in PyTorch the gradient is that of
    log-probabilities that sum to one: exp(log_probs) less the expected counts, which log_softmax
    passes on as they are. For an infinite loss it is NaN, or 0 if that loss is made 0."""
    log_probs, targets, lengths, target_lengths = primals

    def total(x: Any) -> tuple[Any, ...]:
        loss = _likelihoods(x, targets, lengths, target_lengths, blank)
        return jnp.sum(loss), loss

    counts, loss = jax.grad(total, has_aux=True)(log_probs)
    live = jnp.arange(log_probs.shape[0])[:, None, None] < lengths[:, None]
    infinite = jnp.isinf(loss)
    slope = jnp.where(
        infinite[:, None], 0 if zero_infinity else jnp.nan, jnp.exp(log_probs) + counts
    )
    slope = jnp.where(live, slope, 0)
    if zero_infinity:
        loss = jnp.where(infinite, 0, loss)
    return loss, jnp.sum(slope * tangents[0], (0, 2))


_WHILE = " (while checking arguments for ctc_loss_cpu)"


def _check(
    log_probs: Any, targets: Any, lengths: Any, target_lengths: Any, blank: int, zero_infinity: bool
) -> None:
    steps = log_probs.shape[0]
    for name, values, most in (
        ("input_lengths", lengths, steps),
        ("target_lengths", target_lengths, None),
    ):
        values = values_of(values)
        if most is not None:
            words = f"Expected {name} to have value at most {most}, but got value {{0}}{_WHILE}"
            refuse_where(values > most, RuntimeError, words, values)
        words = f"Expected {name} to have value at least 0, but got value {{0}}{_WHILE}"
        refuse_where(values < 0, RuntimeError, words, values)


@op(
    "ctc_loss_op",
    namespaces=(),
    method=False,
    residuals=True,
    grad_name="CtcLossBackward0",
    check=_check,
    autocast={"cpu": "float32", "xla": "float32"},
)
def ctc_loss_op(
    log_probs: Input,
    targets: Input,
    lengths: Input,
    target_lengths: Input,
    blank: Int,
    zero_infinity: Bool,
):
    """Return the negative log likelihood of each sample; targets padded."""
    if log_probs.dtype not in (np.float32, np.float64):
        raise NotImplementedError(
            f"\"ctc_loss_cpu\" not implemented for '{scalar_type_of(log_probs)}'"
        )
    if not 0 <= blank < log_probs.shape[-1]:
        raise RuntimeError("blank must be in label range")
    return _losses(log_probs, targets, lengths, target_lengths, blank, zero_infinity)


def _lengths(values: Any, name: str, batch: int) -> Tensor:
    t = values if isinstance(values, Tensor) else make_tensor(list(values), dtype=dtypes.int64)
    if t.dtype.category != 1:
        raise RuntimeError(f"{name} must be integral")
    t = t.reshape(-1).to(dtypes.int64)
    if t.numel() != batch:
        raise RuntimeError(f"{name} must be of size batch_size")
    return t


def _padded(targets: Any, lengths: Any) -> Tensor:
    """Return concatenated targets as rows of (N, longest); while capturing, of (N, all of them)."""
    total = targets.numel()
    longest = total
    if not modes.is_capturing():
        sizes = lengths._value("ctc_loss")
        longest = int(sizes.max(initial=0))
        if sizes.sum() > total:
            raise RuntimeError(
                f"Expected tensor to have size at least {int(sizes.sum())} at dimension 0, but got "
                f"size {total} for argument #2 'targets' (while checking arguments for "
                "ctc_loss_cpu)"
            )
    if not longest:
        return targets.new_zeros((lengths.numel(), 0))
    starts = lengths.cumsum(0) - lengths
    at = starts.unsqueeze(1) + arange(longest)
    return targets[at.clamp(0, total - 1)]


@composite(method=False)
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:
    """Compute ``nn.functional.ctc_loss`` with the reduction as a number: 0 none, 1 mean, 2 sum."""
    batched = log_probs.dim() == 3
    if log_probs.dim() not in (2, 3):
        raise RuntimeError(
            f"Expected 3-dimensional tensor, but got {log_probs.dim()}-dimensional tensor for "
            "argument #1 'log_probs' (while checking arguments for ctc_loss_cpu)"
        )
    if not log_probs.numel():
        raise RuntimeError("log_probs tensor must not be empty")
    x = log_probs if batched else log_probs.unsqueeze(1)
    if targets.dtype not in (dtypes.int32, dtypes.int64):
        targets = targets.to(dtypes.int64)
    batch = x.size(1)
    lengths = _lengths(input_lengths, "input_lengths", batch)
    sizes = _lengths(target_lengths, "target_lengths", batch)
    rows = targets
    if targets.dim() == 1:
        rows = _padded(targets, sizes)
    elif targets.dim() != 2 or targets.size(0) != batch:
        raise RuntimeError(
            f"Expected tensor to have size {batch} at dimension 0, but got size "
            f"{targets.size(0) if targets.dim() else 1} for argument #2 'targets' (while checking "
            "arguments for ctc_loss_cpu)"
        )
    elif not modes.is_capturing() and batch:
        longest = int(sizes._value("ctc_loss").max())
        if longest > targets.size(1):
            raise RuntimeError(
                f"Expected tensor to have size at least {longest} at dimension 1, but got size "
                f"{targets.size(1)} for argument #2 'targets' (while checking arguments for "
                "ctc_loss_cpu)"
            )
    loss = ctc_loss_op(x, rows, lengths, sizes, blank, zero_infinity)
    loss = loss if batched else loss.squeeze(0)
    if reduction == _REDUCTIONS["mean"]:
        sizes = sizes if batched else sizes.squeeze(0)
        return (loss / sizes.clamp_min(1).to(loss.dtype)).mean()
    return loss.sum() if reduction == _REDUCTIONS["sum"] else loss


@composite("ctc_loss", namespaces=("nn.functional",), method=False, python_signature=True)
def functional_ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Return the CTC loss of log-probabilities (T, N, C) or (T, C): () or, with "none", (N,).

    targets: (N, S), or all labels one after the other; input_lengths, target_lengths: (N,), tensors
    or sequences of ints. "mean" divides each loss by its target's length first. ``zero_infinity``
    makes infinite losses (an input too short for its target) and their gradients 0.

    RuntimeError for lengths that do not fit and a blank that is no label; NotImplementedError for
    half types.

    Differs from PyTorch: has gradients of every order.
    """
    require_tensor(log_probs, "ctc_loss", "log_probs")
    if reduction not in _REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return ctc_loss(
        log_probs,
        targets,
        input_lengths,
        target_lengths,
        blank,
        _REDUCTIONS[reduction],
        zero_infinity,
    )
