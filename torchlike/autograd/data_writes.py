"""Writes through ``.data`` to what a graph has saved: its backward pass tells of them, once.

PyTorch does not count such writes, so its backward finds the new value; here each node has the
value that its op was given. Nothing is noted while ops are recorded. A write through ``.data`` to
an array that something else holds too looks for the nodes that saved it, among all objects that
the garbage collector knows (30 ms), `_MOST` times a process at most.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from torchlike._core import errors, modes
from torchlike._core.dispatch.copying import data_copied
from torchlike._core.dispatch.record import OpNode
from torchlike._core.storage import Storage
from torchlike._core.tensor_values import about_to_write_data
from torchlike.autograd.saved_names import ShownNode, show_as
from torchlike.tensor import Tensor

if TYPE_CHECKING:
    from torchlike._core.cells import Value

_MOST = 8
_looked = 0
_warned = False
#: At which versions storages held an array that was another's: nodes may have saved that one.
_borrowed: WeakKeyDictionary[Storage, int] = WeakKeyDictionary()


class _Written:
    """A node of which a saved value was written to through ``.data``."""

    __slots__ = ()

    def run(self: Any, cotangents: list[Any]) -> Sequence[Value | None]:
        _warn(self)
        return super().run(cotangents)  # type: ignore[misc]

    def run_graph(self: Any, cotangents: list[Tensor | None]) -> Sequence[Tensor | None]:
        _warn(self)
        return super().run_graph(cotangents)  # type: ignore[misc]


@functools.cache
def _written(kind: type[OpNode]) -> type[OpNode]:
    found = type(kind.__name__, (_Written, kind), {"__slots__": ()})
    if kind is OpNode:
        show_as(found, type(ShownNode.__name__, (_Written, ShownNode), {"__slots__": ()}))
    return found


def _warn(node: OpNode) -> None:
    global _warned
    if not _warned:
        _warned = True
        errors.warn_user(
            f"{node.short_name()} saved a tensor for backward that was written to through .data "
            "afterwards. The gradient is that of the value that the operation was given; PyTorch, "
            "which does not count such writes, uses the new value."
        )


@about_to_write_data.by
def about_to_write(target: Tensor) -> None:
    """Mark the nodes that saved the value of a tensor that is written to through ``.data``."""
    global _looked
    storage = target._storage
    if (
        _warned
        or _looked == _MOST
        or target._requires_grad
        or storage.host is not None
        or modes.is_capturing()
        or storage.is_sole_owner()
        or _borrowed.get(storage) == storage.version
    ):
        return
    _looked += 1
    cell, nodes = storage.cell, []
    for found in gc.get_objects():
        kind = type(found)  # not isinstance, which asks a proxy for its class
        if issubclass(kind, OpNode):
            if not found.is_released() and any(a is cell for a in found.saved):
                nodes.append(found)
        elif issubclass(kind, Storage) and found.cell is cell and found is not storage:
            return  # a copy, whose value may be what was saved
    for node in nodes:
        if not isinstance(node, _Written) and not node.refuses_writes:
            node.__class__ = _written(type(node))


@data_copied.by
def has_copied(target: Tensor) -> None:
    """Note that what was copied through ``.data`` may be another tensor's array."""
    _borrowed[target._storage] = target._storage.version
