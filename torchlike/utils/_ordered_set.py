"""``torch.utils._ordered_set``: a set that keeps the order in which its items came."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSet
from typing import Any, TypeVar

_T = TypeVar("_T")


class OrderedSet(MutableSet[_T]):
    """A set whose iteration, ``pop`` and printing follow the order in which items were added.

    Equality is that of sets: the order does not count.
    """

    def __init__(self, iterable: Iterable[_T] | None = None) -> None:
        self._dict: dict[_T, None] = dict.fromkeys(iterable or ())

    def __contains__(self, elem: object) -> bool:
        return elem in self._dict

    def __iter__(self) -> Iterator[_T]:
        return iter(self._dict)

    def __reversed__(self) -> Iterator[_T]:
        return reversed(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def __repr__(self) -> str:
        return f"OrderedSet({list(self._dict)})"

    def add(self, elem: _T) -> None:
        self._dict[elem] = None

    def discard(self, elem: _T) -> None:
        self._dict.pop(elem, None)

    def clear(self) -> None:
        self._dict.clear()

    def pop(self) -> _T:
        """Remove the last item and return it. KeyError for an empty set."""
        if not self:
            raise KeyError("pop from an empty set")
        return self._dict.popitem()[0]

    def copy(self) -> OrderedSet[_T]:
        return OrderedSet(self)

    def update(self, *others: Iterable[_T]) -> None:
        """Add the items of others."""
        for other in others:
            self._dict.update(dict.fromkeys(other))

    def union(self, *others: Iterable[_T]) -> OrderedSet[_T]:
        """Return a set of the items of this and of others, in this order."""
        new = self.copy()
        new.update(*others)
        return new

    def intersection(self, *others: Iterable[_T]) -> OrderedSet[_T]:
        """Return a set of the items that all others have, too."""
        kept = [set(other) for other in others]
        return OrderedSet(item for item in self if all(item in other for other in kept))

    def intersection_update(self, *others: Iterable[_T]) -> None:
        """Keep the items that all others have, too."""
        self._dict = self.intersection(*others)._dict

    def difference(self, *others: Iterable[_T]) -> OrderedSet[_T]:
        """Return a set of the items that no other has."""
        gone = set().union(*others)
        return OrderedSet(item for item in self if item not in gone)

    def difference_update(self, *others: Iterable[_T]) -> None:
        """Remove the items that another has."""
        self._dict = self.difference(*others)._dict

    def symmetric_difference(self, other: Iterable[_T]) -> OrderedSet[_T]:
        """Return a set of the items that either has and not both."""
        theirs = OrderedSet(other)
        return self.difference(theirs).union(theirs.difference(self))

    def issubset(self, other: Iterable[Any]) -> bool:
        """Return whether the other has all items."""
        return set(self) <= set(other)

    def issuperset(self, other: Iterable[Any]) -> bool:
        """Return whether this has all items of the other."""
        return set(other) <= set(self)
