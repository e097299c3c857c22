"""Replayed effects: counters and logs that a body adds to go on at the later calls of its program.

PyTorch's compiler does what a function does to Python's objects at each call; so do functions with
a fallback, for what ``bytecode.only_records`` finds: ``name += constant`` and, as a statement,
``name.append(…)``. What was added is the same at each call of a program, because all that it was
made of is guarded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

#: Does to Python's objects what one run of the body did.
Effect = Callable[[], None]


def counting(before: Any, now: Any, read: Callable[[], Any], write: Any) -> Effect | None:
    """Return the effect that adds to an integer the difference of ``now`` and ``before``; None for
    other numbers."""
    if type(before) is not int or type(now) is not int:
        return None  # sums of floats depend on where they begin
    step = now - before

    def count() -> None:
        value = read()
        if type(value) is int:  # the script may have put something else there
            write(value + step)

    return count


def logging(owner: Any, before: list[Any], now: list[Any]) -> Effect | None:
    """Return the effect that adds to a list, set or deque what came behind ``before`` in ``now``;
    None where it changed otherwise."""
    if type(owner) is set:
        new = set(now).difference(before)
        return lambda: owner.update(new)
    n = len(before)
    if type(owner) not in (list, deque) or now[:n] != before:
        return None  # a deque that is full
    added = now[n:]
    return lambda: owner.extend(added)
