"""The noise of the dropout family and the slopes of rrelu: what is drawn, apart from the input.

``result = input * noise`` (plus ``shift`` for alpha dropout). In evaluation nothing is drawn
and nothing here is called.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from torchlike.random.arithmetic import add_scalar, multiply_scalar, round_to
from torchlike.random.bernoulli import bernoulli, bernoulli_mask
from torchlike.random.checks import FLOAT32, FLOATS, HALVES, not_implemented, number
from torchlike.random.engine import Engine, atomic, by_engine
from torchlike.random.uniform import unit_doubles

#: -scale * alpha of SELU: the value that alpha dropout puts in place of a dropped one.
SELU_FLOOR = 1.7580993408473766


def check_dropout_probability(p: float) -> None:
    """Raise RuntimeError unless p is in [0, 1]. (``nn.functional`` raises ValueError, same
    words.)"""
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {number(p)}")


def feature_noise_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return (N, C, 1, ..., 1): one noise value a channel. RuntimeError with fewer than 2
    dimensions."""
    if len(shape) < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return (*shape[:2], *(1 for _ in shape[2:]))


def dropout_scale(dtype: np.dtype, p: float) -> float:
    """Return the value of kept noise: 1 / (1 - p), the divisor rounded to ``dtype``, then the
    quotient.

    For the half types the division happens in float32. 0 for p = 1.
    """
    if p == 1.0:
        return 0.0
    work = np.dtype(np.float32) if dtype in HALVES else dtype
    return round_to(1.0 / round_to(1.0 - p, work), dtype)


@atomic
def dropout_mask(
    engine: Engine,
    shape: tuple[int, ...],
    p: float,
    dtype: np.dtype = FLOAT32,
    width: int | None = None,
) -> np.ndarray:
    """Draw a mask of bools of ``shape``, True where an element is kept. ``dtype`` and ``width`` are
    those of `bernoulli_mask`.

    With ``dropout_scale`` this is all of dropout, in a quarter of the bytes of the noise.
    Draws 2 words an element; none for p = 0 and p = 1, where nothing is left to chance.

    Raises:
      RuntimeError: p outside [0, 1].
    """
    check_dropout_probability(p)
    if p in (0.0, 1.0):
        return np.full(shape, p == 0.0)
    return bernoulli_mask(engine, shape, 1.0 - p, dtype, width)


@atomic
def dropout_noise(engine: Engine, shape: tuple[int, ...], dtype: np.dtype, p: float) -> np.ndarray:
    """Draw 0 with probability p, else 1 / (1 - p), as ``dtype``. Draws as ``dropout_mask``.

    Raises:
      RuntimeError: p outside [0, 1].
      NotImplementedError: a complex dtype.
    """
    check_dropout_probability(p)
    if p not in (0.0, 1.0):
        noise = bernoulli(engine, shape, dtype, 1.0 - p)
        return noise * np.array(dropout_scale(dtype, p), dtype)
    return np.full(shape, 1.0 - p, dtype)


class AlphaNoise(NamedTuple):
    """result = input * noise + shift."""

    noise: np.ndarray
    shift: np.ndarray


@atomic
def alpha_dropout_noise(
    engine: Engine, shape: tuple[int, ...], dtype: np.dtype, p: float
) -> AlphaNoise:
    """Draw the noise and shift that keep mean and variance of SELU activations, each of ``dtype``.

    a = ((A**2 p + 1)(1 - p))**-1/2 with A = ``SELU_FLOOR``; kept: noise a, shift A a p; dropped:
    noise 0, shift A a p - A a. Draws as ``dropout_mask``. Klambauer et al., "Self-Normalizing
    Neural Networks", 2017.

    Raises:
      RuntimeError: p outside [0, 1].
      NotImplementedError: a complex dtype.
    """
    check_dropout_probability(p)
    if p in (0.0, 1.0):
        return AlphaNoise(np.full(shape, 1.0 - p, dtype), np.zeros(shape, dtype))
    return _alpha_noise(bernoulli(engine, shape, dtype, 1.0 - p), p)


def alpha_values(dtype: np.dtype, p: float) -> tuple[AlphaNoise, AlphaNoise]:
    """Return the noise and shift of a kept and of a dropped element, each 0-dim, for 0 < p < 1.

    With ``dropout_mask`` this is all of alpha dropout, in an eighth of the bytes of the noise.
    """
    both = _alpha_noise(np.array([1.0, 0.0], dtype), p)
    return AlphaNoise(both.noise[0], both.shift[0]), AlphaNoise(both.noise[1], both.shift[1])


def _alpha_noise(kept: np.ndarray, p: float) -> AlphaNoise:
    """Return the noise and shift of ones for kept elements and zeros for dropped ones."""
    a = 1.0 / math.sqrt((SELU_FLOOR * SELU_FLOOR * p + 1.0) * (1.0 - p))
    shift = _affine(kept, -1.0, SELU_FLOOR * a, SELU_FLOOR * a * p)
    return AlphaNoise(multiply_scalar(kept, a), shift)


def _affine(kept: np.ndarray, add: float, multiply: float, then_add: float) -> np.ndarray:
    """Return (kept + add) * multiply + then_add, each operation rounded to the dtype of
    ``kept``."""
    return add_scalar(multiply_scalar(add_scalar(kept, add), multiply), then_add)


@by_engine
@atomic
def rrelu_slopes(engine: Engine, x: np.ndarray, lower: float, upper: float) -> np.ndarray:
    """Draw the slope of each element of ``x``: uniform on [lower, upper] where x <= 0, else 1.

    Returns slopes of the dtype of ``x``, but of float32 for bfloat16: there the output is x * slope
    computed in float32 and then rounded (the noise kept for backward is the rounded slope).

    Draws 2 words for each element <= 0, in order, none for the others.

    Raises:
      RuntimeError: a bound that is not finite, or lower > upper.
      NotImplementedError: a dtype other than float32, float64, bfloat16.
    """
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {number(bound)}")
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if x.dtype not in FLOATS or x.dtype == np.float16:
        raise not_implemented("rrelu_with_noise_out_cpu", x.dtype)
    work = np.dtype(np.float32) if x.dtype in HALVES else x.dtype
    low, high = round_to(lower, work), round_to(upper, work)
    slopes = np.ones(x.shape, work)
    with np.errstate(invalid="ignore"):  # ml_dtypes reports comparisons with NaN
        leaking = x <= 0
    draws = unit_doubles(engine, int(np.count_nonzero(leaking)))
    slopes[leaking] = draws * (high - low) + low
    return slopes
