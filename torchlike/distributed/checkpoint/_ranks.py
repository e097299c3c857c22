"""What the processes that save a checkpoint tell each other, by the store; nothing where one does.

A save in another thread has a group of its own: what it says is not taken for the script's.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from torchlike.distributed import objects
from torchlike.distributed.groups import ProcessGroup


class _Speaking(threading.local):
    """The group of this thread's saves; None for the world."""

    group: ProcessGroup | None = None


_saving = _Speaking()


@contextlib.contextmanager
def among(group: ProcessGroup | None) -> Iterator[None]:
    """Have this thread speak in a group of all processes in a ``with`` block."""
    before, _saving.group = _saving.group, group
    try:
        yield
    finally:
        _saving.group = before


def same_for_all(value: Any, count: int) -> Any:
    """Broadcast the value of the first of ``count`` processes to all, and return it."""
    if count == 1:
        return value
    held = [value]
    objects.broadcast_object_list(held, 0, _saving.group)
    return held[0]


def from_all(value: Any, count: int) -> list[Any]:
    """Gather the values of all processes in each of them."""
    if count == 1:
        return [value]
    found: list[Any] = [None] * count
    objects.all_gather_object(found, value, _saving.group)
    return found


def meet(count: int) -> None:
    """Wait for all."""
    from_all(None, count)
