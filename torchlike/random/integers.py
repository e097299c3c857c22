"""Integer fills and permutations."""

from __future__ import annotations

import math

import numpy as np

from torchlike.random.engine import Engine
from torchlike.random.rounding import cast

#: Ranges from here on take two words a value.
_WIDE = 1 << 28
_SIGNIFICANT = {"float32": 24, "float64": 53, "float16": 11, "bfloat16": 8}


def randint(engine: Engine, n: int, dtype: np.dtype, low: int, high: int) -> np.ndarray:
    """n integers of ``[low, high)``. Draws n words, or 2n for a range of 2**28 and more."""
    if dtype.name in _SIGNIFICANT:
        low, high = _narrowed(dtype, low, high)
    span = high - low
    if span < _WIDE:
        drawn = (engine.words32(n) % np.uint32(span)).astype(np.uint64)
    elif span == 1 << 64:
        drawn = engine.words64(n)
    else:
        drawn = engine.words64(n) % np.uint64(span)
    values = (drawn + np.uint64(low % (1 << 64))).view(np.int64)
    return cast(values, dtype)


def _narrowed(dtype: np.dtype, low: int, high: int) -> tuple[int, int]:
    """Bounds that a cast to the float type cannot reach."""
    digits = _SIGNIFICANT[dtype.name]
    first = int(float(dtype.type(low + 1)))
    if first < low:
        low = first + 2 ** (math.floor(math.log2(abs(low + 1))) - digits + 1)
    last = int(float(dtype.type(high - 1)))
    if last >= high:
        high = last - 2 ** (math.floor(math.log2(abs(high - 1))) - digits + 1)
    return low, high


def full_range(engine: Engine, n: int, dtype: np.dtype) -> np.ndarray:
    """``random_()``: over what the dtype holds exactly. Draws n words (64-bit dtypes: 2n)."""
    if dtype == np.int64:
        return (engine.words64(n) & np.uint64((1 << 63) - 1)).view(np.int64)
    if dtype == np.float64:
        return (engine.words64(n) % np.uint64((1 << 53) + 1)).astype(np.float64)
    words = engine.words32(n)
    if dtype == np.bool_:
        return (words & np.uint32(1)).astype(np.bool_)
    if dtype.name in _SIGNIFICANT:
        return cast(words % np.uint32((1 << _SIGNIFICANT[dtype.name]) + 1), dtype)
    bits = {"int32": 31, "int16": 15, "int8": 7, "uint8": 8}[dtype.name]
    return (words & np.uint32((1 << bits) - 1)).astype(dtype)


def exclusive_end(dtype: np.dtype) -> int:
    """One past the largest value ``random_(low, None)`` gives."""
    if dtype.name in _SIGNIFICANT:
        return (1 << _SIGNIFICANT[dtype.name]) + 1
    return 2 if dtype == np.bool_ else int(np.iinfo(dtype).max) + 1


#: From here on PyTorch permutes by another rule: (2**32 - 1) // 20.
_LARGE = 214748364


def randperm(engine: Engine, n: int) -> np.ndarray:
    """A permutation of 0..n-1 as int64. Draws n - 1 words (2n from 214,748,364 on)."""
    if n <= 1:
        return np.arange(n)
    if n >= _LARGE:
        return _large_permutation(engine, n)
    remaining = np.arange(n, 1, -1, dtype=np.uint32)
    targets = np.arange(n - 1) + (engine.words32(n - 1) % remaining).astype(np.int64)
    if n <= 2048:
        return np.array(_swapped(list(range(n)), targets.tolist()))
    return _swapped_in_blocks(np.arange(n), targets)


def _swapped(order: list[int], targets: list[int]) -> list[int]:
    for i, k in enumerate(targets):
        order[i], order[k] = order[k], order[i]
    return order


def _swapped_in_blocks(order: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The sequential swaps, a block at a time: up to the first step whose target was a target of
    the block already, or lies inside it, all swaps are independent."""
    n, i = order.size, 0
    while i < targets.size:
        size = max(int(math.sqrt(n - i)), 1)
        block = targets[i : i + size]
        inside = np.flatnonzero(block < i + block.size)
        own = block == np.arange(i, i + block.size)
        inside = inside[~own[inside]]
        stop = int(inside[0]) if inside.size else block.size
        _, first = np.unique(block[:stop], return_index=True)
        if first.size < stop:
            repeated = np.ones(stop, bool)
            repeated[first] = False
            stop = int(np.flatnonzero(repeated)[0])
        if stop == 0:
            k = int(block[0])
            order[i], order[k] = order[k], order[i]
            i += 1
            continue
        here, there = slice(i, i + stop), block[:stop]
        order[here], order[there] = order[there], order[here].copy()
        i += stop
    return order


def _large_permutation(engine: Engine, n: int) -> np.ndarray:
    order = np.arange(n)
    draws = engine.words64(n) % np.arange(1, n + 1, dtype=np.uint64)
    for i, k in enumerate(draws.tolist()):
        order[i] = order[k]
        order[k] = i
    return order
