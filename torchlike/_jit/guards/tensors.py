"""Guards on tensors: those that code reaches by name, what they share, who and where they are."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from torchlike._core.storage import Storage
from torchlike._jit.guards.guard import Guard, describe
from torchlike._jit.guards.sources import Slot, hooks_of
from torchlike._runtime.mixed_operands import place_of
from torchlike.tensor import Tensor, whole_dict


class HistoryGuard(Guard):
    """The node of a tensor's history, which an in-place operation on it exchanges."""

    __slots__ = ("label", "node", "tensor")

    def __init__(self, tensor: Tensor, label: str) -> None:
        self.tensor = tensor
        self.label = label
        self.node = tensor._node

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return self.tensor._node is self.node

    def expression(self, name: Callable[[Any], str]) -> str | None:
        # Most tensors never had a history; asking their dictionaries takes half the time.
        attributes = whole_dict(self.tensor)
        if "_node" not in attributes:
            return f"'_node' not in {name(attributes)}"
        return f"{name(self.tensor)}._node is {name(self.node)}"

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        return f"the history of `{self.label}` changed"


class BaseHistoryGuard(Guard):
    """Which history the base of a view has: the view's is read from it."""

    __slots__ = ("base", "history")

    def __init__(self, base: Tensor) -> None:
        self.base = base
        self.history: int = base._history

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return self.base._history == self.history

    def expression(self, name: Callable[[Any], str]) -> str | None:
        return f"{name(self.base)}._history == {self.history}"

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        return "the history of a view's base changed"


class TensorGuard(Guard):
    """A tensor's ``requires_grad``, and its memory and shape, which ``t.t_()`` and ``t.data = …``
    exchange."""

    __slots__ = ("label", "requires_grad", "shape", "storage", "tensor", "view")
    follows_epoch = True

    def __init__(self, tensor: Tensor, label: str) -> None:
        self.tensor = tensor
        self.label = label
        self.requires_grad: bool = tensor.requires_grad
        self.storage = tensor._storage
        self.view = tensor._view
        self.shape = tensor._storage.shape

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        t, storage = self.tensor, self.storage
        return (
            t._storage is storage
            and t._view is self.view
            and storage.shape == self.shape
            and t.requires_grad == self.requires_grad
        )

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        t = self.tensor
        if t.requires_grad != self.requires_grad:
            before = self.requires_grad
            return f"requires_grad of a {describe(t)} changed: {before} → {not before}"
        if t._storage is not self.storage or t._view is not self.view:
            return f"the shape or data of `{self.label}` changed"
        return f"the shape of a {describe(t)} changed: {self.shape} → {t._storage.shape}"


class LeafHooksGuard(Guard):
    """The hooks on a leaf whose gradient the program computes or reads."""

    __slots__ = ("hooks", "leaf")
    follows_epoch = True

    def __init__(self, leaf: Tensor) -> None:
        self.leaf = leaf
        self.hooks = hooks_of(leaf)

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return bool(hooks_of(self.leaf) == self.hooks)

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        return "the hooks of a tensor changed"


class RetainsGradGuard(Guard):
    """Whether a tensor keeps its gradient (``retain_grad()``): one from outside, or an argument by
    its position."""

    __slots__ = ("answer", "of")
    of_arguments = True

    def __init__(self, of: Tensor | int, answer: bool) -> None:
        self.of = of
        self.answer = answer

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        t = arguments[self.of] if isinstance(self.of, int) else self.of
        return retains(t) == self.answer

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        return f"retains_grad of a tensor changed: {self.answer} → {not self.answer}"


def retains(t: Tensor) -> bool:
    """Return ``t.retains_grad``, of which no capture hears."""
    return t._retained if t._node is None else t._node.retains_grad(t._output_nr)


class CellsInUseGuard(Guard):
    """That no cell of the program was swapped away by ``t.data = …``."""

    __slots__ = ("cells",)
    follows_epoch = True

    def __init__(self, cells: Iterable[Storage]) -> None:
        self.cells = tuple(cells)

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return not any(cell.abandoned for cell in self.cells)

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        return "the .data of a tensor was replaced"


# -------------------------------------------------------------------------------------------------
# Guards on memory: which tensors of a call are on the same cell as others, and which are not.


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


class TogetherGuard(_MemoryGuard):
    """That the tensors of slots lie on one cell, as they did: the program reads it as one input."""

    __slots__ = ("slots",)

    def __init__(self, slots: Sequence[Slot]) -> None:
        self.slots = slots

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        first, *rest = [slot.value(arguments)._storage for slot in self.slots]
        return all(storage is first for storage in rest)


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


class IdentityGuard(Guard):
    """What the arguments of a call are among the tensors that the code can reach: the same as in
    the capture.

    Guards for code that compares argument objects (``x is self.weight``).

    Of ``x is self.weight``, ``any(x is t for t in known)`` and ``table[x]`` a capture finds the
    answer with the argument as itself (see ``Tracing.arguments_that_are_state``), and its program
    is for calls in which the answer is the same. So it is with ``x._base`` of an argument.
    """

    __slots__ = ("_bases", "_expected", "_slots", "_strangers")
    of_arguments = True

    def __init__(
        self,
        arguments: Sequence[Tensor],
        reached: Iterable[Tensor] | None,
        rebound: Iterable[Slot],
        fixed: Iterable[Storage],
        asks_for_bases: bool,
    ) -> None:
        """Guard what the arguments are among the tensors that the code can reach: ``reached``, and
        what the slots ``rebound`` hold; None where it compares none. ``fixed``: memory that the
        program uses anyway, by which arguments are told already. ``asks_for_bases``: whether the
        code may ask what an argument is a view of."""
        #: Views, and the tensors that they must be views of (None: of none).
        self._bases: list[tuple[int, weakref.ref[Tensor] | None]] = [
            (i, None if t._base is None else weakref.ref(t._base))
            for i, t in enumerate(arguments)
            if t._view is not None and asks_for_bases
        ]
        if reached is None:
            self._slots, self._expected, self._strangers = [], {}, {}
            return
        positions = _positions(arguments)
        #: Slots, and which argument (-1: none) their tensor must be.
        self._slots: list[tuple[Slot, int]] = [
            (s, positions.get(id(s.initial), -1)) for s in rebound
        ]
        reached = list(reached)
        known = {id(t): weakref.ref(t) for t in reached}
        #: The tensors that some arguments must be, and those that the others must not be.
        self._expected = {i: known[id(t)] for i, t in enumerate(arguments) if id(t) in known}
        used = set(map(id, fixed))
        self._strangers = {id(t): known[id(t)] for t in reached if id(t._storage) not in used}

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        for i, base in self._bases:
            if arguments[i]._base is not (None if base is None else base()):
                return False
        for i, t in enumerate(arguments):
            expected = self._expected.get(i)
            if expected is not None:
                if expected() is not t:
                    return False
            elif (stranger := self._strangers.get(id(t))) is not None and stranger() is t:
                return False
        if self._slots:
            positions = _positions(arguments)
            for slot, which in self._slots:
                if positions.get(id(slot.value(arguments)), -1) != which:
                    return False
        return True

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        return "an argument is (or is no longer) the same tensor as one that the code reaches"

    @property
    def asks(self) -> bool:
        """Whether there is anything to compare."""
        return bool(self._bases or self._slots or self._expected or self._strangers)


def _positions(arguments: Sequence[Tensor]) -> dict[int, int]:
    """Return the position at which each argument comes first: {id: position}."""
    found: dict[int, int] = {}
    for i, t in enumerate(arguments):
        found.setdefault(id(t), i)
    return found


# -------------------------------------------------------------------------------------------------
# Guards on the values of arguments that decide sizes: the lengths of a ragged tensor's parts.


def values_of(t: Tensor) -> np.ndarray:
    """Return a tensor's values, not to be written."""
    return t._value("its values")


class NumbersGuard(Guard):
    """What a function makes of an argument's values."""

    __slots__ = ("known", "position", "read")
    of_arguments = True

    def __init__(self, position: int, read: Callable[[np.ndarray], Any], known: Any) -> None:
        self.position, self.read, self.known = position, read, known

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return self.read(values_of(arguments[self.position])) == self.known

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        now = self.read(values_of(arguments[self.position]))
        return f"argument {self.position} has other values: {self.known} → {now}"


# -------------------------------------------------------------------------------------------------
# Guards on places: on which devices of a mesh an argument lies, where code asked.


class PlaceGuard(Guard):
    """The sharding of an argument that the body asked for; None for one that is on no mesh."""

    __slots__ = ("position", "sharding")
    of_arguments = True

    def __init__(self, position: int, sharding: Any) -> None:
        self.position = position
        self.sharding = sharding

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return self._now(arguments) == self.sharding

    def _now(self, arguments: Sequence[Tensor]) -> Any:
        return place_of(arguments[self.position]._storage)

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        return f"argument {self.position} lies elsewhere: {self.sharding} → {self._now(arguments)}"
