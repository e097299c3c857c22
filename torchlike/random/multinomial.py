"""``multinomial``: indices drawn with given weights, with and without replacement."""

from __future__ import annotations

from typing import Any

import numpy as np

from torchlike._core.dtypes import scalar_type
from torchlike.random.checks import FLOATS, HALVES
from torchlike.random.continuous import exponential
from torchlike.random.engine import Engine, atomic
from torchlike.random.topk_order import largest
from torchlike.random.uniform import unit_doubles

_NO_MASS = "invalid multinomial distribution (sum of probabilities <= 0)"


@atomic
def multinomial(
    engine: Engine, p: np.ndarray, num_samples: int, replacement: bool = False
) -> np.ndarray:
    """Draw int64 of shape (num_samples,) or (rows, num_samples) with the weights in ``p``.

    Without replacement, and for a single sample with or without: the largest of p / q with q
    exponential (the exponential race), in descending order. Else: a search in each row's
    cumulative weights.

    Draws 2 words for each weight of every row; with replacement and num_samples > 1, 2 words for
    each sample of every row.

    Args:
      p: weights, floating point, shape (categories,) or (rows, categories); need not sum to 1.

    Raises:
      RuntimeError: another dtype or number of dimensions, too many or no samples, more than 2**24
        categories, a negative, infinite or NaN weight, a row without any weight.
    """
    _check(p, num_samples, replacement)
    rows = p.reshape(-1, p.shape[-1])
    if replacement and num_samples > 1:
        samples: Any = [_with_replacement(engine, row, num_samples) for row in rows]
    else:
        samples = _by_race(engine, rows, num_samples)
    result = np.array(samples, np.int64).reshape(len(rows), num_samples)
    return result if p.ndim == 2 else result[0]


def _check(p: np.ndarray, num_samples: int, replacement: bool) -> None:
    if p.dtype not in FLOATS:
        raise RuntimeError(
            "multinomial only supports floating-point dtypes for input, got: "
            f"{scalar_type(p.dtype)}"
        )
    if p.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > p.shape[-1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    if p.shape[-1] > 1 << 24:
        raise RuntimeError("number of categories cannot exceed 2^24")
    if p.shape[-1] == 0 and (p.ndim == 1 or len(p)):
        raise RuntimeError(_NO_MASS)


def _by_race(engine: Engine, rows: np.ndarray, num_samples: int) -> np.ndarray:
    weights = rows.astype(np.float32) if rows.dtype in HALVES else rows
    if weights.size and not ((weights >= 0) & (weights < np.inf)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not weights.any(axis=-1).all():
        raise RuntimeError(_NO_MASS)
    # A waiting time can round to zero in the half types: an infinity, or NaN for a weight of 0.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        race = rows / exponential(engine, rows.shape, rows.dtype)
    return winners(race, num_samples)


def winners(race: np.ndarray, num_samples: int) -> np.ndarray:
    """Return the indices of the first ``num_samples`` in each row of a race, (rows,
    num_samples)."""
    if num_samples == 1:
        # argmax puts NaN first and takes the earliest of equals, as PyTorch's does.
        precise = race.astype(np.float32) if race.dtype in HALVES else race
        return np.argmax(precise, axis=-1, keepdims=True)
    return largest(race, num_samples)


def _with_replacement(engine: Engine, row: np.ndarray, num_samples: int) -> np.ndarray:
    weights = row.astype(np.float32) if row.dtype in HALVES else row
    valid = (weights >= 0) & np.isfinite(weights)
    if not valid.all():
        first = weights[np.argmin(valid)]
        what = "= infinity or NaN" if first > 0 else "< 0"
        raise RuntimeError(
            f"invalid multinomial distribution (encountering probability entry {what})"
        )
    # accumulate adds from left to right; a pairwise sum would give other last bits.
    cumulative = np.add.accumulate(weights)
    if not cumulative[-1] > 0:
        raise RuntimeError(_NO_MASS)
    cumulative /= cumulative[-1]
    cumulative[-1] = 1
    draws = unit_doubles(engine, num_samples)
    return np.searchsorted(cumulative.astype(np.float64), draws, side="left")
