"""What the processes that save a checkpoint tell each other; nothing where there is one."""

from __future__ import annotations

from typing import Any

from torchlike.distributed import collectives, objects


def same_for_all(value: Any, count: int) -> Any:
    """Broadcast the value of the first of ``count`` processes to all, and return it."""
    if count == 1:
        return value
    held = [value]
    objects.broadcast_object_list(held, 0)
    return held[0]


def from_all(value: Any, count: int) -> list[Any]:
    """Gather the values of all processes in each of them."""
    if count == 1:
        return [value]
    found: list[Any] = [None] * count
    objects.all_gather_object(found, value)
    return found


def meet(count: int) -> None:
    """Wait for all."""
    if count > 1:
        collectives.barrier()
