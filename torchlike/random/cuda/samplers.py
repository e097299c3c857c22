"""How the words of Philox become numbers: cuRAND's conversions and PyTorch's transformations.

Each sampler is ``sampler(statics...)(key, operands...)``, traced by JAX, whose result is flat.
Uniform numbers, integers and comparisons are a GPU's bit for bit. Logarithms, sines, tangents and
powers are XLA's here, and the fast approximations of the hardware there: float32 values that go
through them agree to about 1e-6 of the largest.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._runtime import first_calls
from torchlike._runtime.inlining import AT_ONCE
from torchlike.random.checks import FLOAT64
from torchlike.random.cuda.layout import Grid, pick, pick_pair
from torchlike.random.cuda.philox import FourWords, words

#: A sampler for its static arguments: a function of the key and of operands.
Sampler = Callable[..., jax.Array]

_FLOAT32 = np.float32
_UNIT32, _UNIT53 = np.float32(2.0**-32), 2.0**-53
#: The angle of a word: cuRAND's constant is the product of two rounded ones.
_TURN32 = np.float32(np.float32(2.3283064e-10) * np.float32(6.2831855))


def work_dtype(dtype: np.dtype) -> np.dtype:
    """Return the dtype that numbers for ``dtype`` are computed in: float64 for itself alone."""
    return FLOAT64 if dtype == FLOAT64 else np.dtype(_FLOAT32)


#: From this many elements on nothing is left to NumPy, which makes an array of each step: 140
#: steps of 1.5 ns an element, where compiling takes 0.1 s.
_LARGE = 1 << 18


@functools.lru_cache(maxsize=4096)
def _form(sampler: Callable[..., Sampler], statics: Any, shape: tuple[int, ...] | None) -> Any:
    numbers = sampler(*statics)

    def shaped(*operands: Any) -> jax.Array:
        found = numbers(*operands)
        return found if shape is None else found.reshape(shape)

    is_large = bool(statics) and isinstance(statics[0], Grid) and statics[0].n >= _LARGE
    if is_large and first_calls.by_numpy():
        return jax.jit(shaped, inline=True)
    return first_calls.jit(shaped, name=sampler.__name__, inline=AT_ONCE)


@functools.lru_cache(maxsize=4096)
def _compiled(sampler: Callable[..., Sampler], *statics: Any) -> Any:
    return jax.jit(sampler(*statics), inline=True)


def run_compiled(sampler: Callable[..., Sampler], *operands: Any, statics: Any = ()) -> Any:
    """Return ``sampler(*statics)(*operands)``, the first operand a key: of one that loops until the
    last element is accepted, which NumPy would do in Python."""
    return _compiled(sampler, *statics)(*operands)


def run(
    sampler: Callable[..., Sampler],
    statics: tuple[Any, ...],
    key: Any,
    *operands: Any,
    shape: tuple[int, ...] | None = None,
) -> Any:
    """Return ``sampler(*statics)(key, *operands)``, compiled, flat or of a shape; while its first
    calls are NumPy's, an array of NumPy's. ``operands`` are arrays."""
    form = _form(sampler, statics, shape)
    if isinstance(key, np.ndarray) and hasattr(form, "by_numpy"):
        return first_calls.call(form, key, *operands)
    return form(key, *operands)


# -- words to numbers ------------------------------------------------------------------------------


def unit_float(word: Any) -> Any:
    """Return cuRAND's uniform float32 of each word, in (0, 1]."""
    return word.astype(_FLOAT32) * _UNIT32 + _UNIT32 / np.float32(2)


def _bits53(low: Any, high: Any) -> Any:
    return low.astype(np.uint64) ^ (high.astype(np.uint64) << np.uint64(21))


def _unit_double(low: Any, high: Any) -> Any:
    """Return cuRAND's uniform float64 of each two words, in (0, 1]."""
    return _bits53(low, high).astype(np.float64) * _UNIT53 + _UNIT53 / 2


def unit(key: Any, grid: Grid, dtype: np.dtype) -> Any:
    """Return a uniform number in (0, 1] for each element, of ``work_dtype(dtype)``."""
    if dtype == FLOAT64:
        return _unit_double(*pick_pair(grid.drawn(key)))
    return unit_float(pick(grid.drawn(key)))


def box_muller(first: Any, second: Any, cosine: Any) -> Any:
    """Return cuRAND's normal float32 of each two words: of its two the second where ``cosine``."""
    radius = jnp.sqrt(np.float32(-2) * jnp.log(unit_float(first)))
    angle = second.astype(_FLOAT32) * _TURN32 + _TURN32 / np.float32(2)
    return radius * sine_or_cosine(angle, cosine)


#: Polynomials in t squared for sin(t) / t and cos(t), from the highest power, interpolated where
#: |t| is at most a quarter of pi: right to 2e-9.
_SINE = (-1.95032344e-04, 8.33203061e-03, -1.66666506e-01, 9.99999997e-01)
_COSINE = (2.43789938e-05, -1.38866089e-03, 4.16666164e-02, -4.99999996e-01, 1.0)
#: Half of pi as a number of 8 bits, of which small multiples are exact, and the rest.
_HALF_PI = np.float32(1.5703125), np.float32(math.pi / 2 - 1.5703125)


def sine_or_cosine(angle: Any, cosine: Any) -> Any:
    """Return the cosine of float32 angles from 0 to 2 pi where ``cosine``, else the sine, to 1e-7.

    Of these few turns; XLA's own, for all angles and of each both, take twice as long."""
    quarter = jnp.floor(angle * np.float32(2 / math.pi) + np.float32(0.5))
    t = (angle - quarter * _HALF_PI[0]) - quarter * _HALF_PI[1]
    turn = quarter.astype(np.int32) + jnp.asarray(cosine).astype(np.int32)
    square = t * t
    sine, cosined = t * _polynomial(_SINE, square), _polynomial(_COSINE, square)
    value = jnp.where(turn & 1 == 1, cosined, sine)
    return jnp.where(turn & 2 == 2, -value, value)


def _polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    value = jnp.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value = value * x + np.float32(coefficient)
    return value


def normal_double(four: FourWords, cosine: Any = False) -> Any:
    """Return cuRAND's normal float64 of each four words: of its two the second where ``cosine``."""
    radius = jnp.sqrt(-2.0 * jnp.log(_unit_double(four.x, four.y)))
    angle = (_bits53(four.z, four.w).astype(np.float64) * (_UNIT53 * 2) + _UNIT53) * math.pi
    if cosine is False:
        return radius * jnp.sin(angle)
    return radius * jnp.where(cosine, jnp.cos(angle), jnp.sin(angle))


def standard_normal(key: Any, grid: Grid, dtype: np.dtype) -> Any:
    """Return a standard normal number for each element, of ``work_dtype(dtype)``."""
    four, place = grid.drawn(key)
    if dtype == FLOAT64:
        return normal_double(four, False if place is None else place == 1)
    x, y, z, w = four
    if place is None:
        return box_muller(x, y, False)
    late = place >= 2
    return box_muller(jnp.where(late, z, x), jnp.where(late, w, y), place % np.uint32(2) == 1)


# -- samplers --------------------------------------------------------------------------------------


def uniform(grid: Grid, dtype: np.dtype) -> Sampler:
    """Numbers of [from, to): the operands are ``from`` and ``to``, of ``dtype``. The end that a
    uniform number includes, ``to``, becomes ``from``."""
    work = work_dtype(dtype)

    def sampler(key: Any, low: Any, high: Any) -> Any:
        span = (high - low).astype(work)
        values = (unit(key, grid, dtype) * span + low.astype(work)).astype(dtype)
        return jnp.where(values == high, low, values)

    return sampler


def normal(grid: Grid, dtype: np.dtype) -> Sampler:
    """Normal numbers: the operands are the mean and the deviation, of the work dtype."""

    def sampler(key: Any, mean: Any, std: Any) -> Any:
        return (standard_normal(key, grid, dtype) * std + mean).astype(dtype)

    return sampler


def log_normal(grid: Grid, dtype: np.dtype) -> Sampler:
    """Return e to the power of normal numbers, whose mean and deviation are the operands."""

    def sampler(key: Any, mean: Any, std: Any) -> Any:
        return jnp.exp(standard_normal(key, grid, dtype) * std + mean).astype(dtype)

    return sampler


def exponential(grid: Grid, dtype: np.dtype) -> Sampler:
    """Exponential numbers: the operand is the rate. None is 0: the logarithm next to 1 is taken to
    be half the distance of numbers there."""
    work = work_dtype(dtype)
    half_step = work.type(np.finfo(work).eps / 2)

    def sampler(key: Any, rate: Any) -> Any:
        u = unit(key, grid, dtype)
        logarithm = jnp.where(u >= 1 - half_step, -half_step, jnp.log(u))
        return (work.type(-1) / rate * logarithm).astype(dtype)

    return sampler


def cauchy(grid: Grid, dtype: np.dtype) -> Sampler:
    """Cauchy numbers: the operands are the median and the scale. In float32 those of the outermost
    uniform numbers are those of the nearest that the hardware's tangent takes."""
    work = work_dtype(dtype)

    def sampler(key: Any, median: Any, sigma: Any) -> Any:
        u = unit(key, grid, dtype)
        if work != FLOAT64:
            eps = np.finfo(work).eps
            u = jnp.clip(u, eps, 1 - eps)
        turned = jnp.tan(work.type(math.pi) * (u - work.type(0.5)))
        return (median + sigma * turned).astype(dtype)

    return sampler


def geometric(grid: Grid, dtype: np.dtype) -> Sampler:
    """Trials up to a success, whose probability is the operand, of the work dtype."""
    work = work_dtype(dtype)

    def sampler(key: Any, p: Any) -> Any:
        u = unit(key, grid, dtype)
        # In float32 PyTorch has no log1p there: the difference is rounded first.
        failure = jnp.log1p(-p) if work == FLOAT64 else jnp.log(work.type(1) - p)
        return _as(jnp.ceil(jnp.log(u) / failure), dtype)

    return sampler


def _as(numbers: Any, dtype: np.dtype) -> Any:
    """Convert floats as a GPU does: to the nearest number that an integer dtype has."""
    if dtype.kind in "iu":
        info = np.iinfo(np.int32 if dtype.itemsize < 4 else dtype)
        return jnp.clip(numbers, float(info.min), float(info.max)).astype(info.dtype).astype(dtype)
    return numbers.astype(dtype)


def bernoulli(grid: Grid, dtype: np.dtype) -> Sampler:
    """Ones, of a probability that is the operand (of the work dtype), and zeros."""

    def sampler(key: Any, p: Any) -> Any:
        return (unit(key, grid, dtype) < p).astype(dtype)

    return sampler


def integers(grid: Grid, dtype: np.dtype) -> Sampler:
    """Integers of [low, low + span): the operands are uint64 (a span of 0 stands for 2 to the power
    of 64) and int64. Words of 64 bits where the grid's ``unroll`` is 2, of 32 bits otherwise."""

    def sampler(key: Any, span: Any, low: Any) -> Any:
        drawn = grid.drawn(key)
        if grid.unroll == 2:
            high, lower = pick_pair(drawn)
            word = (high.astype(np.uint64) << np.uint64(32)) | lower.astype(np.uint64)
            rest = jnp.where(span == 0, word, word % jnp.maximum(span, np.uint64(1)))
        else:
            rest = (pick(drawn) % span.astype(np.uint32)).astype(np.uint64)
        values = jax.lax.bitcast_convert_type(rest, np.int64) + low
        return (values != 0) if dtype == np.bool_ else values.astype(dtype)

    return sampler


# -- kernels with a layout of their own ------------------------------------------------------------


def dropout_mask(grid: Grid, width: int) -> Sampler:
    """True where an element is kept, of a probability that is the operand, float32: the kernel
    whose threads read ``width`` (2, 4 or 8) neighbouring elements at once, each time with words of
    a new call (8: of two)."""
    n, threads = grid.n, grid.threads

    def sampler(key: Any, keep: Any) -> Any:
        index = jnp.arange(n, dtype=np.uint32)
        group, place = index // np.uint32(width), index % np.uint32(width)
        calls = max(width // 4, 1)
        call = group // np.uint32(threads) * np.uint32(calls) + place // np.uint32(4)
        drawn = words(key, group % np.uint32(threads), call)
        return unit_float(pick((drawn, place % np.uint32(4)))) < keep

    return sampler


def coin_units(n: int) -> Sampler:
    """Return the uniform number, float32, of each element where each has a probability of its own:
    a thread makes four neighbouring elements with one call."""

    def sampler(key: Any) -> Any:
        index = jnp.arange(n, dtype=np.uint32)
        drawn = words(key, index // np.uint32(4), np.uint32(0))
        return unit_float(pick((drawn, index % np.uint32(4))))

    return sampler


def multinomial_units(rows: int, samples: int) -> Sampler:
    """Return the uniform number, float32, that looks up each sample of a row: (rows, samples)."""
    blocks_wide, blocks_high = (samples - 1) // 128 + 1, min(rows, 65535)

    def sampler(key: Any) -> Any:
        row = jnp.arange(rows, dtype=np.uint32)[:, None]
        sample = jnp.arange(samples, dtype=np.uint32)[None, :]
        thread = row % np.uint32(blocks_high) * np.uint32(blocks_wide * 128) + sample
        return unit_float(words(key, thread, row // np.uint32(blocks_high)).x)

    return sampler


def slopes(grid: Grid, dtype: np.dtype) -> Sampler:
    """Slopes of [lower, upper], each a float64 operand: computed in float64, rounded to ``dtype``
    after the uniform number and at the end."""

    def sampler(key: Any, lower: Any, upper: Any) -> Any:
        u = unit(key, grid, dtype).astype(dtype).astype(np.float64)
        return (u * (upper - lower) + lower).astype(dtype)

    return sampler
