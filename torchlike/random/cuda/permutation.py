"""``randperm`` on CUDA: the numbers 0 ... n - 1, sorted by random keys; equal keys shuffled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from torchlike.random.cuda.layout import Grid
from torchlike.random.cuda.philox import words_by_numpy
from torchlike.random.cuda.rejection import Threads


def bits_of_keys(n: int) -> int:
    """Return how many bits of the keys count: so many that with probability 0.9 all differ, at
    most 64 (Wong, "Random permutations by sorting", 2020)."""
    wanted = math.log2(n - (6 * float(n) * n + 1) / (12 * math.log(0.9)))
    return min(64, math.ceil(wanted))


def random_keys(key: Any, grid: Grid, bits: int) -> np.ndarray:
    """Return what ``random_`` from the smallest to the largest integer gives, which it leaves out:
    int32, or int64 for more than 32 ``bits``; of a grid whose numbers have 64 bits."""
    kind = np.dtype(np.int32 if bits <= 32 else np.int64)
    turn, thread = np.divmod(np.arange(grid.n, dtype=np.uint32), np.uint32(grid.threads))
    x, y, z, w = words_by_numpy(key, thread, turn // np.uint32(2))
    first = turn % np.uint32(2) == 0
    high, low = np.where(first, x, z).astype(np.uint64), np.where(first, y, w)
    word = (high << np.uint64(32)) | low
    rest = word % np.uint64((1 << 8 * kind.itemsize) - 1)
    return (rest.view(np.int64) + np.iinfo(kind).min).astype(kind)


def by_keys(keys: np.ndarray, bits: int, key: Any) -> np.ndarray:
    """Return 0 ... n - 1 in the order of the low ``bits`` bits of ``keys`` (int32 or int64, (n,)),
    equal ones shuffled by the thread at their first place. ``key`` is the generator's."""
    whole = 8 * keys.dtype.itemsize
    unsigned = keys.view(np.dtype(f"u{keys.dtype.itemsize}"))
    if bits < whole:
        unsigned = unsigned & unsigned.dtype.type((1 << bits) - 1)
        order = np.argsort(unsigned, kind="stable")
    else:  # with the sign: negative keys come first
        order = np.argsort(keys, kind="stable")
    _shuffle_equal(unsigned[order], order, key)
    return order


def _shuffle_equal(ordered: np.ndarray, order: np.ndarray, key: Any) -> None:
    """Shuffle, in place, the elements of each run of equal keys, from the last to the second."""
    same = ordered[1:] == ordered[:-1]
    starts = np.flatnonzero(same & np.concatenate([[True], ~same[:-1]])) if same.size else ()
    for start in starts:
        size = 2
        while start + size < len(ordered) and ordered[start + size] == ordered[start]:
            size += 1
        thread = Threads(key, np.array([start]))
        for i in range(size - 1, 0, -1):
            r = int(thread.word()[0]) % (i + 1)
            order[start + i], order[start + r] = order[start + r], order[start + i]
