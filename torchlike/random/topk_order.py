"""The k largest in descending order, with equal values in the order PyTorch's CPU topk gives.

PyTorch selects with the C++ library's partial_sort, or nth_element and sort, none of which is
stable: where values tie, the algorithm's own swaps decide who comes first. Ties are common in
half precision and among categories of probability zero, so those algorithms (introselect,
introsort and heap select as in GCC's library) are followed step by step; without ties numpy sorts.
"""

from __future__ import annotations

import math

import numpy as np

_INSERTION_LIMIT = 16


def largest(values: np.ndarray, k: int) -> np.ndarray:
    """Return the indices of the ``k`` largest along the last axis, descending, int64; NaN counts as
    largest.

    About 10 ns an element; in a row with ties that matter about 1 µs.
    """
    keys = np.where(np.isnan(values), np.inf, values).astype(np.float64)
    order = np.argsort(-keys, axis=-1, kind="stable")[..., : k + 1]
    # A tie matters among the chosen, and between the last chosen and the first left out.
    top = np.take_along_axis(keys, order, -1)
    tied = np.isnan(values).any(-1) | (top[..., 1:] == top[..., :-1]).any(-1)
    chosen = order[..., :k].astype(np.int64)
    for row in np.argwhere(tied):
        at = tuple(row)
        chosen[at] = _Selection(values[at].astype(np.float64).tolist()).largest(k)
    return chosen


class _Selection:
    """The library's algorithms on a list of indices ordered by their keys, larger first."""

    def __init__(self, values: list[float]) -> None:
        # Two infinities in a pair order NaN above +inf and keep every comparison a plain one.
        self.keys = [(1, 0.0) if math.isnan(v) else (0, v) for v in values]
        self.items = list(range(len(values)))

    def largest(self, k: int) -> list[int]:
        n = len(self.items)
        # PyTorch's own rule for which of the two ways pays.
        if k * 64 <= n:
            self._partial_sort(0, k, n)
        else:
            self._nth_element(0, k - 1, n)
            self._sort(0, k - 1)
        return self.items[:k]

    def _before(self, a: int, b: int) -> bool:
        return self.keys[a] > self.keys[b]

    # -- heaps -------------------------------------------------------------------------------------

    def _sift(self, first: int, hole: int, length: int, value: int) -> None:
        """Let ``value`` sink from ``hole`` to a leaf, then rise to where it belongs."""
        items, top, child = self.items, hole, hole
        while child < (length - 1) // 2:
            child = 2 * (child + 1)
            if self._before(items[first + child], items[first + child - 1]):
                child -= 1
            items[first + hole] = items[first + child]
            hole = child
        if length % 2 == 0 and child == (length - 2) // 2:
            child = 2 * child + 1
            items[first + hole] = items[first + child]
            hole = child
        parent = (hole - 1) // 2
        while hole > top and self._before(items[first + parent], value):
            items[first + hole] = items[first + parent]
            hole, parent = parent, (parent - 1) // 2
        items[first + hole] = value

    def _pop_heap(self, first: int, last: int, result: int) -> None:
        value = self.items[result]
        self.items[result] = self.items[first]
        self._sift(first, 0, last - first, value)

    def _heap_select(self, first: int, middle: int, last: int) -> None:
        length = middle - first
        for parent in range((length - 2) // 2, -1, -1):
            self._sift(first, parent, length, self.items[first + parent])
        for i in range(middle, last):
            if self._before(self.items[i], self.items[first]):
                self._pop_heap(first, middle, i)

    def _partial_sort(self, first: int, middle: int, last: int) -> None:
        self._heap_select(first, middle, last)
        for end in range(middle - 1, first, -1):
            self._pop_heap(first, end, end)

    # -- partitions --------------------------------------------------------------------------------

    def _swap(self, a: int, b: int) -> None:
        items = self.items
        items[a], items[b] = items[b], items[a]

    def _partition(self, first: int, last: int) -> int:
        """Partition around the median of three, moved to ``first``; returns the cut."""
        items, before = self.items, self._before
        a, b, c = first + 1, first + (last - first) // 2, last - 1
        if before(items[a], items[b]):
            median = b if before(items[b], items[c]) else c if before(items[a], items[c]) else a
        else:
            median = a if before(items[a], items[c]) else c if before(items[b], items[c]) else b
        self._swap(first, median)
        pivot = items[first]
        left, right = first + 1, last
        while True:
            while before(items[left], pivot):
                left += 1
            right -= 1
            while before(pivot, items[right]):
                right -= 1
            if left >= right:
                return left
            self._swap(left, right)
            left += 1

    def _insert(self, i: int, floor: int) -> None:
        """Move item ``i`` down past those it goes before, not below ``floor``."""
        items = self.items
        value = items[i]
        while i > floor and self._before(value, items[i - 1]):
            items[i] = items[i - 1]
            i -= 1
        items[i] = value

    def _insertion_sort(self, first: int, last: int) -> None:
        for i in range(first + 1, last):
            self._insert(i, first)

    def _nth_element(self, first: int, nth: int, last: int) -> None:
        depth = 2 * ((last - first).bit_length() - 1)
        while last - first > 3:
            if depth == 0:
                self._heap_select(first, nth + 1, last)
                self._swap(first, nth)
                return
            depth -= 1
            cut = self._partition(first, last)
            if cut <= nth:
                first = cut
            else:
                last = cut
        self._insertion_sort(first, last)

    def _sort(self, first: int, last: int) -> None:
        if last - first < 2:
            return
        self._introsort(first, last, 2 * ((last - first).bit_length() - 1))
        self._insertion_sort(first, last)

    def _introsort(self, first: int, last: int, depth: int) -> None:
        while last - first > _INSERTION_LIMIT:
            if depth == 0:
                self._partial_sort(first, last, last)
                return
            depth -= 1
            cut = self._partition(first, last)
            self._introsort(cut, last, depth)
            last = cut
