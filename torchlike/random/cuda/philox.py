"""Philox4x32-10: four words of 32 bits for a counter and a key (Salmon et al., "Parallel random
numbers: as easy as 1, 2, 3", 2011), as cuRAND numbers its counters."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

_ROUNDS = 10
_MULTIPLIERS = np.uint32(0xD2511F53), np.uint32(0xCD9E8D57)
#: What the two words of the key grow by after a round.
_WEYL = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)


class FourWords(NamedTuple):
    """Four words of one call, each an array of uint32."""

    x: Any
    y: Any
    z: Any
    w: Any


def key_of(seed: int, offset: int) -> np.ndarray:
    """Return what a kernel is given of a generator, uint32 of shape (4,): the seed, and the number
    of calls before (a quarter of the offset), each as its low and its high half."""
    calls = offset // 4
    halves = (seed, seed >> 32, calls, calls >> 32)
    return np.array([half & 0xFFFFFFFF for half in halves], np.uint32)


def words(key: Any, thread: Any, call: Any) -> FourWords:
    """Return the words that each ``thread`` gets at its ``call``-th call, counted from 0.

    ``key`` is that of `key_of`, ``thread`` and ``call`` are uint32 of shapes that broadcast.
    """
    thread, call = jnp.broadcast_arrays(
        jnp.asarray(thread, np.uint32), jnp.asarray(call, np.uint32)
    )
    key = jnp.asarray(key)
    low = call + key[2]
    carried = (low < call).astype(np.uint32)
    return encrypted(
        FourWords(low, key[3] + carried, thread, jnp.zeros_like(thread)), key[0], key[1]
    )


def encrypted(counter: FourWords, k0: Any, k1: Any) -> FourWords:
    """Return the four words of a counter, under the two words of a key."""
    c0, c1, c2, c3 = counter
    for _ in range(_ROUNDS):
        high0, low0 = _product(c0, _MULTIPLIERS[0])
        high1, low1 = _product(c2, _MULTIPLIERS[1])
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = k0 + _WEYL[0], k1 + _WEYL[1]
    return FourWords(c0, c1, c2, c3)


def _product(a: Any, multiplier: np.uint32) -> tuple[Any, Any]:
    """Return the high and the low half of the product of 64 bits."""
    return lax.mulhi(a, jnp.full_like(a, multiplier)), a * multiplier
