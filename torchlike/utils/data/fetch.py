"""How a batch is loaded: by indices, or from an iterator."""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Iterator
from typing import Any


class ByIndex:
    """Loads the samples at given indices. ``batched``: a list of them, by the dataset's
    ``__getitems__`` where it has one."""

    def __init__(self, dataset: Any, collate: Callable[[Any], Any], batched: bool) -> None:
        self._dataset, self._collate, self._batched = dataset, collate, batched

    def __call__(self, index: Any) -> Any:
        dataset = self._dataset
        if not self._batched:
            return self._collate(dataset[index])
        many = getattr(dataset, "__getitems__", None)
        samples = many(index) if many is not None else [dataset[i] for i in index]
        return self._collate(samples)


class IterableFetcher:
    """Loads what comes next from an iterable dataset. StopIteration at its end.

    ``size``: samples in a batch, of which the last one is shorter or left out; None for samples one
    by one.
    """

    def __init__(
        self, dataset: Any, collate: Callable[[Any], Any], size: int | None, drop_last: bool
    ) -> None:
        self._samples = iter(dataset)
        self._collate, self._size, self._drop_last = collate, size, drop_last

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._size is None:
            return self._collate(next(self._samples))
        group = list(itertools.islice(self._samples, self._size))
        if not group or (self._drop_last and len(group) < self._size):
            raise StopIteration
        return self._collate(group)

    def __call__(self, index: Any) -> Any:
        return next(self)


def method_of(copied: Any, function: Callable[..., Any], dataset: Any) -> Callable[..., Any]:
    """Return a function bound to the copy where it is a method of the dataset, as it is after a
    fork."""
    if getattr(function, "__self__", None) is not dataset:
        return function
    return types.MethodType(function.__func__, copied)  # type: ignore[attr-defined]
