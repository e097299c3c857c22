"""A tree of tensors and plain values that one process has, given to all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from torchlike._core.dispatch.registry import NAMESPACES
from torchlike.distributed.checkpoint._ranks import same_for_all
from torchlike.distributed.collectives import broadcast
from torchlike.distributed.groups import get_rank, get_world_size, is_initialized
from torchlike.tensor import Tensor


class _Sent(NamedTuple):
    """What the other processes make room by for a tensor."""

    shape: tuple[int, ...]
    dtype: Any


def from_rank_0(tree: Any) -> Any:
    """Return the first process' tree, in each process: its plain values by the store, and tensors
    one by one."""
    count = get_world_size() if is_initialized() else 1
    if count == 1:
        return tree
    is_first = get_rank() == 0
    held: list[Tensor] = []

    def plan(leaf: Any) -> Any:
        if not isinstance(leaf, Tensor):
            return leaf
        held.append(leaf)
        return _Sent(tuple(leaf.shape), leaf.dtype)

    planned = same_for_all(_map(plan, tree) if is_first else None, count)
    waiting = iter(held)

    def receive(leaf: Any) -> Any:
        if not isinstance(leaf, _Sent):
            return leaf
        if is_first:
            own = next(waiting).detach().contiguous()
        else:
            own = NAMESPACES[""]["empty"](leaf.shape, dtype=leaf.dtype)
        broadcast(own, 0)
        return own

    return _map(receive, planned)


def _map(function: Callable[[Any], Any], tree: Any) -> Any:
    """Return a tree of dictionaries, lists and tuples with the function's results for leaves."""
    if isinstance(tree, dict):
        return {k: _map(function, v) for k, v in tree.items()}
    if isinstance(tree, (list, tuple)) and not isinstance(tree, _Sent):
        return type(tree)([_map(function, v) for v in tree])
    return function(tree)
