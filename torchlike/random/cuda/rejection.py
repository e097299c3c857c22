"""Samplers whose threads draw until a number is accepted: poisson, gamma and Dirichlet on CUDA.

A thread makes one element, with words one by one (`Threads`); all threads go on together here, on
NumPy. Not of a GPU are the Poisson counts for rates from 64 to 4,000, for which cuRAND inverts an
approximation of the incomplete gamma function, and binomial counts: there the CPU's samplers draw
from a stream that begins with this one's words.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from torchlike.random import binomial as cpu_binomial
from torchlike.random import poisson as cpu_poisson
from torchlike.random.arithmetic import cast
from torchlike.random.checks import FLOAT32, FLOAT64, FLOATS, not_implemented
from torchlike.random.cuda.philox import words_by_numpy
from torchlike.random.engine import Engine

_UNIT32 = np.float32(2.0**-32)
_TURN32 = np.float32(np.float32(2.3283064e-10) * np.float32(6.2831855))
_THIRD, _SQUEEZE = np.float32(1.0) / np.float32(3.0), np.float32(0.0331)


class Threads:
    """Some threads of a kernel, each with a state of cuRAND's: words are taken one by one, and
    the second of two normals is kept for the next."""

    def __init__(self, key: Any, threads: np.ndarray) -> None:
        self._key, self._threads = key, threads.astype(np.uint32)
        self._drawn = np.zeros(len(threads), np.int64)
        self._kept = np.full(len(threads), np.nan, np.float32)

    def word(self, which: np.ndarray | None = None) -> np.ndarray:
        """Return the next word of each thread, or of those whose places ``which`` gives."""
        which = np.arange(len(self._threads)) if which is None else which
        call, place = np.divmod(self._drawn[which], 4)
        self._drawn[which] += 1
        four = words_by_numpy(self._key, self._threads[which], call.astype(np.uint32))
        return np.choose(place, four)

    def uniform(self, which: np.ndarray) -> np.ndarray:
        """Return the next uniform float32 in (0, 1] of threads."""
        return self.word(which).astype(np.float32) * _UNIT32 + _UNIT32 / np.float32(2)

    def normal(self, which: np.ndarray) -> np.ndarray:
        """Return the next normal float32 of threads."""
        kept = self._kept[which]
        fresh = which[np.isnan(kept)]
        self._kept[which] = np.nan
        radius = np.sqrt(np.float32(-2) * np.log(self.uniform(fresh)))
        angle = self.word(fresh).astype(np.float32) * _TURN32 + _TURN32 / np.float32(2)
        kept[np.isnan(kept)] = radius * np.sin(angle)
        self._kept[fresh] = radius * np.cos(angle)
        return kept


def _host_engine(key: Any) -> Engine:
    """Return an engine of the CPU's that a key begins."""
    first = words_by_numpy(key, np.array([0xFFFFFFFF], np.uint32), np.zeros(1, np.uint32))[0]
    return Engine(int(first[0]))


# -- poisson ---------------------------------------------------------------------------------------


def poisson(key: Any, rate: np.ndarray) -> np.ndarray:
    """Return Poisson counts in the shape and dtype of ``rate``. Raises as the CPU's."""
    if rate.dtype not in FLOATS:
        raise not_implemented("poisson_cuda", rate.dtype)
    rates = rate.astype(np.float64).ravel()
    if not (rates >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    counts = np.zeros(rates.size, np.float64)
    threads = Threads(key, np.arange(rates.size))
    small, large = rates < 64, rates > 4000
    _knuth(threads, np.flatnonzero(small), rates, counts)
    where = np.flatnonzero(large)
    counts[where] = np.floor(_normal64(key, where) * np.sqrt(rates[where]) + rates[where] + 0.5)
    rest = ~small & ~large
    if rest.any():
        counts[rest] = cpu_poisson.poisson(_host_engine(key), rates[rest])
    return cast(counts, rate.dtype).reshape(rate.shape)


def _knuth(threads: Threads, which: np.ndarray, rates: np.ndarray, counts: np.ndarray) -> None:
    """Count the uniform numbers whose product falls to ``exp(-rate)``, in float32: the product
    begins with ``exp(rate)``."""
    product = np.exp(rates[which].astype(np.float32))
    while which.size:
        product *= threads.uniform(which)
        goes_on = product > 1
        which, product = which[goes_on], product[goes_on]
        counts[which] += 1


def _normal64(key: Any, which: np.ndarray) -> np.ndarray:
    x, y, z, w = words_by_numpy(key, which.astype(np.uint32), np.zeros(which.size, np.uint32))

    def bits(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        return (low.astype(np.uint64) ^ (high.astype(np.uint64) << np.uint64(21))).astype(float)

    radius = np.sqrt(-2.0 * np.log(bits(x, y) * 2.0**-53 + 2.0**-54))
    return radius * np.sin((bits(z, w) * 2.0**-52 + 2.0**-53) * np.pi)


# -- gamma -----------------------------------------------------------------------------------------


def standard_gamma(key: Any, alpha: np.ndarray) -> np.ndarray:
    """Return Gamma(alpha, 1) values in the shape and dtype of ``alpha``, at least the smallest
    normal number. G. Marsaglia & W. W. Tsang, "A simple method for generating gamma variables",
    2000. NotImplementedError for a dtype other than float32 and float64."""
    if alpha.dtype not in (FLOAT32, FLOAT64):
        raise not_implemented("gamma_cuda", alpha.dtype)
    kind = alpha.dtype.type
    with np.errstate(all="ignore"):
        values = _gammas(Threads(key, np.arange(alpha.size)), alpha.ravel(), kind)
    smallest = np.finfo(kind).smallest_normal
    return np.where(values > smallest, values, smallest).astype(kind).reshape(alpha.shape)


def _gammas(threads: Threads, given: np.ndarray, kind: Any) -> np.ndarray:
    alpha, scale = given.copy(), np.ones(given.size, kind)
    below = np.flatnonzero((alpha < 1) & (alpha != 0))
    scale[below] = (1 - threads.uniform(below).astype(kind)) ** (kind(1) / alpha[below])
    alpha[below] += kind(1)
    d = alpha - kind(_THIRD)
    c = kind(1) / np.sqrt(kind(9) * d)
    values, which = np.zeros(given.size, kind), np.flatnonzero(given > 0)
    while which.size:
        x = _positive_normals(threads, which, c, kind)
        y = kind(1) + c[which] * x
        v, u, xx = y * y * y, 1 - threads.uniform(which).astype(kind), x * x
        accepted = u < kind(1) - kind(_SQUEEZE) * xx * xx
        bound = kind(0.5) * xx + d[which] * (kind(1) - v + np.log(v))
        accepted |= np.log(u) < bound
        values[which[accepted]] = (scale[which] * d[which] * v)[accepted]
        which = which[~accepted]
    return values


def _positive_normals(threads: Threads, which: np.ndarray, c: np.ndarray, kind: Any) -> np.ndarray:
    """Return a normal number of each thread, drawn again while ``1 + c x`` is not positive."""
    x, again = np.empty(which.size, kind), np.arange(which.size)
    while again.size:
        x[again] = threads.normal(which[again]).astype(kind)
        again = again[1 + c[which[again]] * x[again] <= 0]
    return x


def dirichlet(key: Any, alpha: np.ndarray) -> np.ndarray:
    """Return a point of the simplex for each row (last axis) of ``alpha``: gammas divided by their
    sum. Raises as `standard_gamma`."""
    gammas = standard_gamma(key, alpha)
    kind = alpha.dtype.type
    info = np.finfo(kind)
    total = gammas.sum(axis=-1, keepdims=True, dtype=kind) if alpha.ndim else gammas
    return np.clip(gammas / total, info.smallest_normal, kind(1) - info.eps)


def binomial(key: Any, count: np.ndarray, prob: np.ndarray) -> np.ndarray:
    """Return numbers of successes by the CPU's sampler. Raises as that."""
    return cpu_binomial.binomial(_host_engine(key), count, prob)
