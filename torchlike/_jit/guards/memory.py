"""Guards on memory: which tensors of a call are on the same cell as others, and which are not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from torchlike._core.storage import Storage
from torchlike._jit.capture.slots import Slot
from torchlike._jit.guards.guard import Guard
from torchlike.tensor import Tensor

_SHARING = "an argument or slot is (or is no longer) the same memory as other state"


class _MemoryGuard(Guard):
    """Base of them."""

    __slots__ = ()
    of_arguments = True

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        return _SHARING


class ArgumentCellGuard(_MemoryGuard):
    """That an argument is on the cell from outside on which it was when captured: the body reached
    it both ways."""

    __slots__ = ("cell", "position")

    def __init__(self, position: int, cell: Storage) -> None:
        self.position = position
        self.cell = cell

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return arguments[self.position]._storage is self.cell

    def expression(self, name: Callable[[Any], str]) -> str | None:
        return f"arguments[{self.position}]._storage is {name(self.cell)}"


class SlotCellGuard(_MemoryGuard):
    """That a slot's tensor, which the body read in another way too, is on that same cell."""

    __slots__ = ("cell", "slot")

    def __init__(self, slot: Slot, cell: Storage) -> None:
        self.slot = slot
        self.cell = cell

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return self.slot.value(arguments)._storage is self.cell


class ApartGuard(_MemoryGuard):
    """That the tensors of slots share no cell with the arguments, with each other, or with
    ``cells``: the program writes to one of them."""

    __slots__ = ("cells", "slots")

    def __init__(self, slots: Sequence[Slot], cells: frozenset[int]) -> None:
        """Guard that the slots' tensors lie on other memory. ``cells`` are the ids of the program's
        own."""
        self.slots = slots
        self.cells = cells

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        used = {id(t._storage) for t in arguments}
        for slot in self.slots:
            key = id(slot.value(arguments)._storage)
            if key in used or key in self.cells:
                return False
            used.add(key)
        return True


class ForeignArgumentsGuard(_MemoryGuard):
    """That arguments are on none of the program's own cells, where they were on none."""

    __slots__ = ("cells", "positions")

    def __init__(self, positions: Iterable[int], cells: frozenset[int]) -> None:
        """Guard that the arguments at ``positions`` lie on other memory. ``cells`` are the ids of
        the program's own."""
        self.positions = tuple(positions)
        self.cells = cells

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        cells = self.cells
        return all(id(arguments[i]._storage) not in cells for i in self.positions)

    def expression(self, name: Callable[[Any], str]) -> str | None:
        cells = name(self.cells)
        found = [f"id(arguments[{i}]._storage) not in {cells}" for i in self.positions]
        return " and ".join(found)
