"""``randperm`` on CUDA: the numbers 0 ... n - 1, sorted by random keys; equal keys shuffled."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike.random.cuda.layout import Grid, pick_pair
from torchlike.random.cuda.philox import words
from torchlike.random.cuda.samplers import Sampler


def bits_of_keys(n: int) -> int:
    """Return how many bits of the keys count: so many that with probability 0.9 all differ, at
    most 64 (Wong, "Random permutations by sorting", 2020)."""
    wanted = math.log2(n - (6 * float(n) * n + 1) / (12 * math.log(0.9)))
    return min(64, math.ceil(wanted))


def permutation(grid: Grid, bits: int) -> Sampler:
    """Return 0 ... n - 1, int64, in the order of the low ``bits`` bits of random keys, of a grid
    whose numbers have 64 bits. The operand is the key by which equal ones are shuffled."""

    def sampler(key: Any, key_of_shuffle: Any) -> Any:
        keys = random_keys(key, grid, bits)
        return by_keys(keys, bits, key_of_shuffle)

    return sampler


def random_keys(key: Any, grid: Grid, bits: int) -> Any:
    """Return what ``random_`` from the smallest to the largest integer gives, which it leaves out:
    int32, or int64 for more than 32 ``bits``, of shape (n,)."""
    kind = np.dtype(np.int32 if bits <= 32 else np.int64)
    high, low = pick_pair(grid.drawn(key))
    word = (high.astype(np.uint64) << np.uint64(32)) | low.astype(np.uint64)
    rest = word % np.uint64((1 << 8 * kind.itemsize) - 1)
    return (lax.bitcast_convert_type(rest, np.int64) + np.iinfo(kind).min).astype(kind)


def by_keys(keys: Any, bits: int, key: Any) -> Any:
    """Return 0 ... n - 1 in the order of the low ``bits`` bits of ``keys`` (int32 or int64, (n,)),
    equal ones shuffled by the thread at their first place, of the generator's ``key``."""
    unsigned = lax.bitcast_convert_type(keys, np.dtype(f"u{keys.dtype.itemsize}"))
    if bits < 8 * keys.dtype.itemsize:
        keys = unsigned & unsigned.dtype.type((1 << bits) - 1)
    # With all bits the sign counts: negative keys come first.
    ordered, order = lax.sort((keys, jnp.arange(keys.size)), num_keys=1, is_stable=True)
    same = jnp.concatenate([ordered[1:] == ordered[:-1], jnp.zeros(1, bool)])
    first = same & ~jnp.concatenate([jnp.zeros(1, bool), same[:-1]])
    return _shuffle_runs(order, same, first, key)


def _shuffle_runs(order: Any, same: Any, first: Any, key: Any) -> Any:
    """Shuffle each run of equal keys, from the last to the second. ``same``, bool (n,), holds where
    the key is the next one's too, ``first`` where a run begins.

    Runs are rare: the loop over them ends at once where there is none.
    """
    place = jnp.arange(order.size)

    def shuffle(state: Any) -> Any:
        order, left = state
        start = jnp.argmax(left)
        ends = ~same & (place >= start)
        size = jnp.argmax(ends) - start + 1

        def swap(turn: Any, order: Any) -> Any:
            i = size - 1 - turn
            four = words(key, start.astype(np.uint32), (turn // 4).astype(np.uint32))
            word = jnp.stack(four)[turn % 4]
            r = (word % (i + 1).astype(np.uint32)).astype(start.dtype)
            a, b = order[start + i], order[start + r]
            return order.at[start + i].set(b).at[start + r].set(a)

        return lax.fori_loop(0, size - 1, swap, order), left & (place != start)

    return lax.while_loop(lambda state: state[1].any(), shuffle, (order, first))[0]
