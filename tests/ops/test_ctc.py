"""The CTC loss: against every alignment counted out, against optax, and its derivatives."""

from __future__ import annotations

import itertools

import numpy as np
import optax
import pytest

import torchlike
from torchlike.nn import functional as F


def by_hand(log_probs: np.ndarray, target: list[int], blank: int) -> float:
    """-log of the sum over all paths that collapse to the target."""
    total = 0.0
    for path in itertools.product(range(log_probs.shape[1]), repeat=log_probs.shape[0]):
        if [c for c, _ in itertools.groupby(path) if c != blank] == target:
            total += np.exp(sum(log_probs[t, c] for t, c in enumerate(path)))
    return -np.log(total) if total else np.inf


def probabilities(*shape, seed=0):
    x = np.random.default_rng(seed).standard_normal(shape)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize(
    ("target", "blank"), [([1, 2], 0), ([1, 1], 0), ([0, 2, 0], 1), ([], 0), ([2, 2, 2], 0)]
)
def test_sum_over_alignments(run, target, blank):
    x = probabilities(5, 3)
    labels = torchlike.tensor(target, dtype=torchlike.int64)

    def loss(x):
        return F.ctc_loss(x, labels, (5,), (len(target),), blank, "sum")

    got = float(run(loss, torchlike.tensor(x)))
    assert got == pytest.approx(by_hand(x, target, blank), rel=1e-12)


@pytest.mark.exhaustive
def test_same_as_optax():
    x, lengths, sizes = probabilities(7, 3, 5), np.array([7, 5, 6]), np.array([2, 3, 0])
    targets = np.array([[1, 2, 4], [3, 3, 1], [2, 1, 1]])
    ours = F.ctc_loss(
        torchlike.tensor(x),
        torchlike.tensor(targets),
        torchlike.tensor(lengths),
        torchlike.tensor(sizes),
        reduction="none",
    )
    theirs = optax.ctc_loss(
        x.transpose(1, 0, 2),
        np.arange(7) >= lengths[:, None],
        targets,
        np.arange(3) >= sizes[:, None],
        blank_id=0,
    )
    # optax stands -1e5 in for the logarithm of 0.
    np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-6)


def test_both_layouts_of_targets(run):
    x = torchlike.tensor(probabilities(6, 2, 4))
    sizes = torchlike.tensor([3, 1])
    rows = torchlike.tensor([[1, 2, 3], [2, 9, 9]])
    flat = torchlike.tensor([1, 2, 3, 2])
    padded = run(lambda x, t, s: F.ctc_loss(x, t, (6, 6), s), x, rows, sizes)
    joined = run(lambda x, t, s: F.ctc_loss(x, t, (6, 6), s), x, flat, sizes)
    assert float(padded) == pytest.approx(float(joined), rel=1e-14)


def test_first_and_second_derivative_of_logits():
    logits = np.random.default_rng(3).standard_normal((4, 1, 3))
    target = torchlike.tensor([[1, 2]])

    def loss(x):
        return F.ctc_loss(x.log_softmax(2), target, (4,), (2,), reduction="sum")

    def gradient(values):
        x = torchlike.tensor(values, requires_grad=True)
        return torchlike.autograd.grad(loss(x), x)[0].numpy()

    x = torchlike.tensor(logits, requires_grad=True)
    (first,) = torchlike.autograd.grad(loss(x), x, create_graph=True)
    weights = np.random.default_rng(4).standard_normal(logits.shape)
    (second,) = torchlike.autograd.grad((first * torchlike.tensor(weights)).sum(), x)
    step = 1e-5
    for at in np.ndindex(logits.shape):
        moved = [logits.copy(), logits.copy()]
        moved[0][at] += step
        moved[1][at] -= step
        up, down = (float(loss(torchlike.tensor(m))) for m in moved)
        assert float(first[at]) == pytest.approx((up - down) / (2 * step), rel=1e-6, abs=1e-9)
        change = ((gradient(moved[0]) - gradient(moved[1])) * weights).sum() / (2 * step)
        assert float(second[at]) == pytest.approx(change, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("zero_infinity", [False, True])
def test_impossible_targets(zero_infinity):
    x = torchlike.tensor(probabilities(2, 1, 3), requires_grad=True)
    loss = F.ctc_loss(
        x, torchlike.tensor([[1, 1, 2]]), (2,), (3,), reduction="sum", zero_infinity=zero_infinity
    )
    loss.backward()
    assert x.grad is not None
    if zero_infinity:
        assert float(loss) == 0
        assert not x.grad.any()
    else:
        assert float(loss) == float("inf")
        assert bool(x.grad.isnan().all())
