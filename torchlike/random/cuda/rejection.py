"""Samplers whose threads draw until a number is accepted: poisson, gamma and Dirichlet on CUDA.

A thread makes one element, with words one by one (`Threads`). All threads go on together, in a loop
that ends with the last of them. Not of a GPU are the Poisson counts for rates from 64 to 4,000, for
which cuRAND inverts an approximation of the incomplete gamma function, and binomial counts, which
``jax.random`` draws from a key that the stream gives.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike.random.cuda.philox import words
from torchlike.random.cuda.samplers import Sampler, box_muller, normal_double, unit_float

_THIRD, _SQUEEZE = np.float32(1.0) / np.float32(3.0), np.float32(0.0331)


class Threads(NamedTuple):
    """The states that cuRAND keeps of some threads of a kernel: words are taken one by one, and the
    second of two normals is kept for the next.

    Attributes:
      key: the kernel's (see `key_of`).
      threads: their numbers, uint32 (n,).
      drawn: how many words each has taken, uint32 (n,).
      kept: the normal number that each has kept, float32 (n,); NaN where it has none.
    """

    key: Any
    threads: Any
    drawn: Any
    kept: Any

    @classmethod
    def from_0_to(cls, n: int, key: Any) -> Threads:
        """Return n threads that have drawn nothing."""
        nothing = jnp.zeros(n, np.uint32)
        return cls(key, jnp.arange(n, dtype=np.uint32), nothing, jnp.full(n, np.nan, np.float32))

    def word(self, which: Any) -> tuple[Any, Threads]:
        """Return the next word of each thread for which ``which``, bool (n,), holds, and the
        threads afterwards. What stands at the others' places means nothing."""
        x, y, z, w = words(self.key, self.threads, self.drawn // np.uint32(4))
        place = self.drawn % np.uint32(4)
        word = jnp.where(place < 2, jnp.where(place == 0, x, y), jnp.where(place == 2, z, w))
        return word, self._replace(drawn=self.drawn + which.astype(np.uint32))

    def uniform(self, which: Any) -> tuple[Any, Threads]:
        """Return the next uniform float32 in (0, 1], as `word`."""
        word, after = self.word(which)
        return unit_float(word), after

    def normal(self, which: Any) -> tuple[Any, Threads]:
        """Return the next normal float32, as `word`."""
        fresh = which & jnp.isnan(self.kept)
        first, after = self.word(fresh)
        second, after = after.word(fresh)
        number = jnp.where(fresh, box_muller(first, second, False), self.kept)
        kept = jnp.where(fresh, box_muller(first, second, True), np.float32(np.nan))
        return number, after._replace(kept=jnp.where(which, kept, self.kept))


# -- poisson ---------------------------------------------------------------------------------------


def poisson() -> Sampler:
    """Poisson counts: the operand is the rates, floating point and not negative, (n,)."""

    def sampler(key: Any, rate: Any) -> Any:
        rates = rate.astype(np.float64)
        small, large = rates < 64, rates > 4000
        between = (rates >= 64) & ~large  # and not NaN, for which the loop would not end
        threads = Threads.from_0_to(rates.size, key)
        counts = _multiplied(threads, rates, small)
        accepted = _transformed(threads, rates, between)
        normals = normal_double(words(key, threads.threads, np.uint32(0)))
        rounded = jnp.floor(normals * jnp.sqrt(rates) + rates + 0.5)
        return jnp.where(small, counts, jnp.where(large, rounded, accepted)).astype(rate.dtype)

    return sampler


def _multiplied(threads: Threads, rates: Any, active: Any) -> Any:
    """Count the uniform numbers whose product falls to ``exp(-rate)``, in float32: the product
    begins with ``exp(rate)``."""

    def draw(state: Any) -> Any:
        threads, product, count, active = state
        u, threads = threads.uniform(active)
        product = product * u
        active = active & (product > 1)
        return threads, product, count + active, active

    product = jnp.exp(rates.astype(np.float32))
    start = (threads, product, jnp.zeros_like(rates), active)
    return lax.while_loop(lambda state: state[3].any(), draw, start)[2]


def _transformed(threads: Threads, rates: Any, active: Any) -> Any:
    """Draw counts by transformed rejection (W. Hörmann, "The transformed rejection method for
    generating Poisson random variables", 1993, algorithm PTRS), for rates from 10 on."""
    b = 0.931 + 2.53 * jnp.sqrt(rates)
    a = 0.02483 * b - 0.059
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    surely = 0.9277 - 3.6224 / (b - 2)

    def draw(state: Any) -> Any:
        threads, counts, active = state
        u, threads = threads.uniform(active)
        v, threads = threads.uniform(active)
        u, v = u.astype(np.float64) - 0.5, v.astype(np.float64)
        tail = 0.5 - jnp.abs(u)
        k = jnp.floor((2 * a / tail + b) * u + rates + 0.43)
        bound = k * jnp.log(rates) - rates - lax.lgamma(k + 1)
        below = jnp.log(v * inverse_alpha / (a / (tail * tail) + b)) <= bound
        refused = (k < 0) | ((tail < 0.013) & (v > tail))
        accepted = ((tail >= 0.07) & (v <= surely)) | (~refused & below)
        counts = jnp.where(active & accepted, k, counts)
        return threads, counts, active & ~accepted

    start = (threads, jnp.zeros_like(rates), active)
    return lax.while_loop(lambda state: state[2].any(), draw, start)[1]


# -- gamma -----------------------------------------------------------------------------------------


def standard_gamma() -> Sampler:
    """Gamma(alpha, 1) values, at least the smallest normal number: the operand is the
    concentrations, float32 or float64, (n,). G. Marsaglia & W. W. Tsang, "A simple method for
    generating gamma variables", 2000."""

    def sampler(key: Any, alpha: Any) -> Any:
        values = _gammas(Threads.from_0_to(alpha.size, key), alpha)
        smallest = np.finfo(alpha.dtype).smallest_normal
        return jnp.where(values > smallest, values, smallest)

    return sampler


def _gammas(threads: Threads, given: Any) -> Any:
    kind = given.dtype.type
    below = (given < 1) & (given != 0)
    u, threads = threads.uniform(below)
    scale = jnp.where(below, (1 - u.astype(kind)) ** (1 / given), 1)
    d = jnp.where(below, given + 1, given) - kind(_THIRD)
    c = 1 / jnp.sqrt(kind(9) * d)

    def attempt(state: Any) -> Any:
        threads, values, active = state
        threads, x = _with_positive(threads, active, c)
        y = 1 + c * x
        v, xx = y * y * y, x * x
        u, threads = threads.uniform(active)
        u = 1 - u.astype(kind)
        bound = kind(0.5) * xx + d * (1 - v + jnp.log(v))
        accepted = (u < 1 - kind(_SQUEEZE) * xx * xx) | (jnp.log(u) < bound)
        values = jnp.where(active & accepted, scale * d * v, values)
        return threads, values, active & ~accepted

    start = (threads, jnp.zeros_like(given), given > 0)
    return lax.while_loop(lambda state: state[2].any(), attempt, start)[1]


def _with_positive(threads: Threads, which: Any, c: Any) -> tuple[Threads, Any]:
    """Return a normal number x of each thread, drawn again while ``1 + c x`` is not positive."""

    def draw(state: Any) -> Any:
        threads, x, again = state
        drawn, threads = threads.normal(again)
        x = jnp.where(again, drawn.astype(c.dtype), x)
        return threads, x, again & (1 + c * x <= 0)

    start = (threads, jnp.zeros_like(c), which)
    threads, x, _ = lax.while_loop(lambda state: state[2].any(), draw, start)
    return threads, x


def dirichlet() -> Sampler:
    """Return a point of the simplex for each row (last axis) of concentrations, the operand:
    gammas divided by their sum."""
    gammas = standard_gamma()

    def sampler(key: Any, alpha: Any) -> Any:
        values = gammas(key, alpha.ravel()).reshape(alpha.shape)
        info = np.finfo(alpha.dtype)
        total = values.sum(axis=-1, keepdims=True) if alpha.ndim else values
        return jnp.clip(values / total, info.smallest_normal, 1 - info.eps)

    return sampler


def binomial() -> Sampler:
    """Return numbers of successes: the operands are counts and probabilities, of one dtype."""

    def sampler(key: Any, count: Any, prob: Any) -> Any:
        first = words(key, np.uint32(0xFFFFFFFF), np.uint32(0))
        drawn_by = jax.random.wrap_key_data(jnp.stack(first[:2]), impl="threefry2x32")
        return jax.random.binomial(drawn_by, count, prob, dtype=count.dtype)

    return sampler
