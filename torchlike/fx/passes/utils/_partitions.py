"""Whether nodes of a graph can become one."""

from __future__ import annotations

from collections.abc import Iterable

from torchlike.fx.node import Node


def validate_partition(partition: Iterable[Node]) -> bool:
    """Return whether one call can stand for these nodes: no path leads out of them and back."""
    inside = set(partition)
    seen: set[Node] = set()
    ahead = [user for node in inside for user in node.users if user not in inside]
    while ahead:
        node = ahead.pop()
        if node in inside:
            return False
        if node not in seen:
            seen.add(node)
            ahead.extend(node.users)
    return True
