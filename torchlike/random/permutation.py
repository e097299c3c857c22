"""``randperm``: PyTorch's sequential shuffle, computed without a sequential loop.

A step of the shuffle swaps two places. A loop over the steps costs 130 to 450 ns each in Python,
which is best for few elements. But what a place holds at a given step can be told from who wrote
there last: sort the steps by the place they write to, follow the chains of "the value came from
there", and every result is known at once, at about 50 ns an element.
"""

from __future__ import annotations

import numpy as np

from torchlike._core.dtypes import scalar_type
from torchlike.random.arithmetic import cast
from torchlike.random.checks import FLOAT16, FLOAT32, FLOAT64, FLOATS, not_implemented
from torchlike.random.engine import Engine, atomic, by_engine

#: From (2**32 - 1) // 20 elements on PyTorch uses 64-bit words and the inside-out shuffle.
LARGE = ((1 << 32) - 1) // 20

#: Up to this many the loop is the faster way: 60 µs.
_FEW = 256

#: The largest n whose values 0 ... n - 1 a float dtype takes, and how PyTorch writes it.
_FLOAT_LIMITS = {
    FLOAT16: ((1 << 11) + 1, "2049"),
    FLOAT32: ((1 << 24) + 1, "2^24+1"),
    FLOAT64: ((1 << 53) + 1, "2^53+1"),
}
_INTEGERS = tuple(np.dtype(name) for name in ("int64", "int32", "int16", "int8", "uint8"))


@by_engine
@atomic
def randperm(engine: Engine, n: int, dtype: np.dtype) -> np.ndarray:
    """Draw a permutation of 0 ... n - 1 as ``dtype``, shape (n,).

    Draws n - 1 words (none for n <= 1); 2n from n = 214748364 on.

    Raises:
      RuntimeError: n < 0, or values that the dtype cannot take.
      NotImplementedError: a boolean, complex or wide unsigned dtype.
    """
    _check(n, dtype)
    if n >= LARGE:
        return cast(inside_out(engine.words64(n)), dtype)
    return cast(swap_forward(engine.words32(max(n - 1, 0)), n), dtype)


def _check(n: int, dtype: np.dtype) -> None:
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    if dtype in FLOATS:
        limit, written = _FLOAT_LIMITS.get(dtype, (n, ""))
        if n > limit:
            raise RuntimeError(f"n cannot be greater than {written} for {scalar_type(dtype)} type.")
    elif dtype not in _INTEGERS:
        raise not_implemented("randperm", dtype)
    elif n - 1 > np.iinfo(dtype).max:
        raise RuntimeError(f"value cannot be converted to type {dtype.name}_t without overflow")


def _steps_by_target(targets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the steps sorted by (target, step): targets, steps, and whether the same target went
    before.

    One sort of uint64 keys, which numpy does with vector instructions.
    """
    keys = targets.astype(np.uint64)
    keys <<= np.uint64(32)
    keys |= np.arange(len(targets), dtype=np.uint64)
    keys.sort()
    steps = (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
    keys >>= np.uint64(32)
    places = keys.view(np.int64)
    repeated = np.zeros(len(places), np.bool_)
    np.equal(places[1:], places[:-1], out=repeated[1:])
    return places, steps, repeated


def _roots(parent: np.ndarray) -> np.ndarray:
    """Return the end of each chain i -> parent[i] -> ..., where ends are their own parents.

    Each round doubles the length of chain that is resolved; chains are about log n long.
    """
    while True:
        grandparent = parent[parent]
        if np.array_equal(grandparent, parent):
            return parent
        parent = grandparent


def swap_forward(words: np.ndarray, n: int) -> np.ndarray:
    """Return 0 ... n - 1 after swapping, for i = 0 ... n - 2, the places i and i + words[i] % (n -
    i); int64.

    Step i puts what place i holds (call it held[i]) into its target place and takes out the
    final value of place i. Place i was written to only by earlier steps with target i; the last
    of them, j, put held[j] there. So held is the end of the chain i -> j -> ...
    """
    if n <= 1:
        return np.zeros(n, np.int64)
    if n <= _FEW:
        values = list(range(n))
        for i, word in enumerate(words.tolist()):
            j = i + word % (n - i)
            values[i], values[j] = values[j], values[i]
        return np.array(values)
    own = np.arange(n - 1, dtype=np.uint32)
    # int32 places: half the memory traffic of the gathers below; n is below 2**31 here.
    targets = (own + words % (np.uint32(n) - own)).astype(np.int32)
    # The last place has no step of its own; a step that targets itself completes the picture.
    targets = np.append(targets, np.int32(n - 1))
    places, steps, repeated = _steps_by_target(targets)
    before = np.concatenate([steps[:1], steps[:-1]])
    # held: a step that targets its own place is the last of its group, and follows the others.
    parent = np.arange(n, dtype=np.int32)
    own_target = steps == places
    chained = repeated & own_target
    parent[places[chained]] = before[chained]
    last = np.append(~repeated[1:], True) & ~own_target
    parent[places[last]] = steps[last]
    held = _roots(parent)
    # Step i takes out what the last earlier step with the same target put in, else its initial.
    result = np.empty(n, np.int64)
    taken = np.where(repeated, held[before], places)
    taken[own_target] = held[places[own_target]]
    result[steps] = taken
    return result


def inside_out(words: np.ndarray) -> np.ndarray:
    """Return the permutation made by setting, for i = 0 ... n - 1, with k = words[i] % (i + 1):
    a[i] = a[k], then a[k] = i; int64.

    Place p is first written by step p, with what its target k holds then: k's last writer before
    p, or, if only step k itself wrote there, what that step copied in (a chain). Later
    steps with target p overwrite it; the last one stays. Needs about 60 bytes an element.
    """
    n = len(words)
    if n == 0:
        return np.zeros(0, np.int64)
    own = np.arange(n, dtype=np.uint64)
    targets = (words % (own + np.uint64(1))).astype(np.int64)
    places, steps, repeated = _steps_by_target(targets)
    before = np.concatenate([steps[:1], steps[:-1]])
    # What step i copies: an earlier step's number, or whatever its target was first given.
    parent = np.arange(n)
    copies_first = ~repeated & (steps != places)
    parent[steps[copies_first]] = places[copies_first]
    value = np.arange(n)
    value[steps[repeated]] = before[repeated]
    first_given = value[_roots(parent)]
    result = first_given
    last = np.append(~repeated[1:], True)
    result[places[last]] = steps[last]
    return result
