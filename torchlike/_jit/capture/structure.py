"""Keeps the tables of modules and optimizers that a body changes as they were before.

Parameters, buffers, children, hooks and parameter groups are kept in plain dictionaries and lists.
Whoever is about to change one says so first (`modes.table_changes`), and code that names one may
change it. A program whose body left one changed is for the structure that it found, which is no
more: it runs once and is not kept. What was only changed for a while (a hook that was removed
again) changes nothing, and what a name is bound to anew is a slot's (see ``capture``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from torchlike._jit.guards.containers import EntriesGuard, ItemsGuard
from torchlike._jit.guards.values import ValueGuard


class Tables:
    """The tables that one capture's body was about to change."""

    def __init__(self, slots: Iterable[Any]) -> None:
        """Begin without tables. ``slots``: those that the body binds."""
        self._slots = slots
        #: By the table's id: whose it is, what it held, and what is to be said of a change.
        self._seen: dict[int, tuple[Any, ValueGuard, str]] = {}

    def about_to_change(
        self, owner: Any, table: Any, what: str, where: Callable[[], str] = str
    ) -> None:
        """Record that ``table`` of ``owner`` is about to change; the first record counts."""
        if id(table) not in self._seen:
            kind = EntriesGuard if isinstance(table, dict) else ItemsGuard
            self._seen[id(table)] = owner, kind(table, what), what + where()

    def owners(self) -> Iterator[Any]:
        """Yield the objects whose tables the body was about to change: it may have seen what they
        hold."""
        for owner, *_ in self._seen.values():
            yield owner

    def drop(self, is_own: Callable[[Any], bool]) -> None:
        """Forget the tables of what the body made itself."""
        self._seen = {k: seen for k, seen in self._seen.items() if not is_own(seen[0])}

    def changes(self) -> list[str]:
        """Return descriptions of what was left changed, with the lines that began it."""
        return [said for _, _, said in self._left_changed()]

    def changed(self) -> list[Any]:
        """Return the present contents of the tables that were left changed."""
        return [guard.now() for _, guard, _ in self._left_changed()]

    def _left_changed(self) -> list[tuple[Any, ValueGuard, str]]:
        found = [seen for seen in self._seen.values() if not seen[1].check()]
        if not found:
            return found
        bound: dict[int, set[str]] = {}
        for slot in self._slots:
            bound.setdefault(id(slot.owner), set()).add(slot.name)
        return [seen for seen in found if _is_changed(seen[1], bound.get(id(seen[0]), set()))]

    def restore(self) -> None:
        """Put every table back as it was."""
        for _, guard, _ in self._seen.values():
            if not guard.check():
                guard.restore()


def _is_changed(guard: ValueGuard, bound: set[str]) -> bool:
    """Return whether a table holds something else, but for the names ``bound``, where it has them
    yet."""
    if not bound or not isinstance(guard, EntriesGuard):
        return True
    before, now = guard.items, guard.now()
    return list(before) != list(now) or any(
        before[name] is not value and name not in bound for name, value in now.items()
    )
