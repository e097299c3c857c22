"""Where a call finds the inputs of a program, and slots, which are one kind of such places.

Every input has an `InputSource`: a cell that is the same at each call, one that a slot or an
argument leads to, a value that Python gives anew. A new kind of input is a class here, and the line
of ``trace`` that makes one.

Slots are attributes that hold tensors and are rebound rather than written, such as ``p.grad`` and a
module's buffer. A program reads a slot through the tensor that it holds at the call, and binds a
new tensor to it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

from torchlike._core import modes
from torchlike._core.storage import Storage
from torchlike.tensor import FIELDS, Tensor


class Slot:
    """An attribute that holds a tensor or None: who has it, its name, its value at first sight."""

    __slots__ = ("argument", "initial", "is_missing", "is_read", "name", "of_tensor", "owner")

    def __init__(self, owner: Any, name: str, argument: int) -> None:
        self.owner = owner
        #: Which argument the owner is, -1 for an object from outside.
        self.argument = argument
        self.name = name
        #: Whether it is a tensor's own (``_grad``), kept in its dictionary and nowhere else.
        self.of_tensor = isinstance(owner, Tensor)
        self.initial = slot_value(owner, name)
        #: Whether there was none, not even None.
        self.is_missing = not self.is_there()
        self.is_read = False

    @property
    def moves(self) -> bool:
        """Whether it may hold another tensor at each call, whoever binds it."""
        return self.of_tensor

    def value(self, arguments: Sequence[Any]) -> Any:
        """Return the value that the slot holds at a call with these arguments."""
        owner = self.owner if self.argument < 0 else arguments[self.argument]
        if self.of_tensor:
            return owner._whole_dict.get(self.name)
        return slot_value(owner, self.name)

    def is_there(self) -> bool:
        """Return whether the owner has an attribute of this name. A tensor always has its own."""
        return self.of_tensor or any(self.name in table for table in _tables(self.owner))

    def remove(self) -> None:
        """Take away what the owner has under this name."""
        for table in _tables(self.owner):
            table.pop(self.name, None)

    def bind(self, arguments: Sequence[Any], value: Any) -> None:
        """Bind the slot at a call with these arguments."""
        owner = self.owner if self.argument < 0 else arguments[self.argument]
        if self.of_tensor:
            owner._whole_dict[self.name] = value
        else:
            set_slot(owner, self.name, value)


def _tables(owner: Any) -> Iterator[dict[str, Any]]:
    """Yield the dictionaries in which an owner keeps attributes (a module has three)."""
    own = owner._whole_dict if isinstance(owner, Tensor) else owner.__dict__
    for table in ("_parameters", "_buffers"):
        if table in own:
            yield own[table]
    yield own


def slot_value(owner: Any, name: str) -> Any:
    """Return the slot's present value, past any property or hook; None when there is none."""
    for table in _tables(owner):
        if name in table:
            return table[name]
    return None


def set_slot(owner: Any, name: str, value: Any) -> None:
    """Bind the slot where it is kept, past any property or hook."""
    for table in _tables(owner):
        if name in table:
            table[name] = value
            return
    owner.__dict__[name] = value


class ValuePlace(Protocol):
    """Where Python keeps one value: a variable, an attribute, an element of a container."""

    label: str
    owner: Any

    def now(self) -> Any:
        """Return the value; MISSING where there is none."""


class PlaceSlot(Slot):
    """A place that held a tensor before the body changed it: what it holds is an input."""

    __slots__ = ("found", "place")

    def __init__(self, place: ValuePlace, initial: Tensor) -> None:
        self.place = place
        #: What a program of one call finds, where the body's change stays.
        self.found: Tensor | None = None
        self.owner = place.owner
        self.argument = -1
        self.name = place.label
        self.of_tensor = self.is_missing = False
        self.initial = initial
        self.is_read = True

    @property
    def moves(self) -> bool:
        return True

    def value(self, arguments: Sequence[Any]) -> Any:
        found = self.place.now() if self.found is None else self.found
        # One with attributes of a user's, which code may ask for, is no input of the program's.
        return None if isinstance(found, Tensor) and not vars(found).keys() <= FIELDS else found

    def is_there(self) -> bool:
        return True


class _Rebound:
    """Slots of modules that some program binds: what they hold differs from call to call, for every
    other program too, whether it was captured before or is captured after."""

    def __init__(self) -> None:
        self._names: dict[int, tuple[weakref.ref[Any], set[str]]] = {}

    def add(self, owner: Any, name: str) -> None:
        """Add a slot; programs that took it for fixed will look again."""
        if self.has(owner, name):
            return
        key = id(owner)
        if key not in self._names:
            self._names[key] = weakref.ref(owner, lambda _: self._names.pop(key, None)), set()
        self._names[key][1].add(name)
        modes.epoch.advance()

    def has(self, owner: Any, name: str) -> bool:
        return name in self.of(owner)

    def of(self, owner: Any) -> frozenset[str]:
        """Return the names of an owner's slots."""
        found = self._names.get(id(owner))
        return frozenset() if found is None else frozenset(found[1])


rebound_slots = _Rebound()


def hooks_of(t: Tensor) -> Any:
    """Return the ids of the handles of a leaf's hooks."""
    if t._hooks is None:
        return (), ()
    before, after = t._hooks
    return tuple(after), tuple([i for hooks in before.values() for i in hooks])


class InputNames(NamedTuple):
    """What messages call the inputs of a program."""

    #: Tensors that the program reached: {id(storage): name}.
    storages: Mapping[int, str]
    #: Tensors among the arguments, and traced numbers.
    arguments: Sequence[str]
    numbers: Sequence[str]
    #: What provides the per-call values.
    getters: Sequence[Callable[[], Any]]

    def of_slot(self, slot: Slot) -> str:
        """Return the name of a slot, by its owner's."""
        if isinstance(slot, PlaceSlot):
            return slot.name
        storage = getattr(slot.owner, "_storage", None)
        owner = self.storages.get(id(storage), type(slot.owner).__name__)
        return f"{owner}.{slot.name.removeprefix('_')}"


class InputSource:
    """Where an input of a program, or of its gradient, comes from."""

    __slots__ = ()

    #: Whether it is state: a cell from outside, whatever the arguments are.
    is_state: ClassVar[bool] = False

    def code(self, name: Callable[[Any], str]) -> str:
        """Return source that finds it at a call: the storage of a cell, else the value. ``name``
        gives an object a name in the source."""
        raise NotImplementedError

    def explain(self, names: InputNames) -> tuple[str, str]:
        """Return the role and the name of the input, for messages."""
        raise NotImplementedError

    def across_traces(self) -> Any:
        """Return what is equal where two traces of one function found the same source."""
        return self


class CellSource(InputSource):
    """A cell. A program that writes to it puts an output into the storage that `find` gives."""

    __slots__ = ()

    def find(self, arguments: Sequence[Any]) -> Storage:
        """Return the storage at a call with these arguments."""
        raise NotImplementedError

    def captured(self) -> Storage | None:
        """Return the storage of state when it was captured; None for what is no state."""
        return None


@dataclass(frozen=True, slots=True)
class FixedCell(CellSource):
    """A cell that is the same at each call."""

    storage: Storage
    is_state: ClassVar[bool] = True

    def find(self, arguments: Sequence[Any]) -> Storage:
        return self.storage

    def captured(self) -> Storage | None:
        return self.storage

    def code(self, name: Callable[[Any], str]) -> str:
        return name(self.storage)

    def explain(self, names: InputNames) -> tuple[str, str]:
        return "hidden input", names.storages.get(id(self.storage), "a tensor")


@dataclass(frozen=True, slots=True)
class SlotCell(CellSource):
    """The cell of the tensor that a slot holds."""

    slot: Slot
    is_state: ClassVar[bool] = True

    def find(self, arguments: Sequence[Any]) -> Storage:
        return self.slot.value(arguments)._storage

    def captured(self) -> Storage | None:
        return self.slot.initial._storage

    def code(self, name: Callable[[Any], str]) -> str:
        return f"{name(self.slot)}.value(arguments)._storage"

    def explain(self, names: InputNames) -> tuple[str, str]:
        return "hidden input", names.of_slot(self.slot)

    def across_traces(self) -> Any:
        slot = self.slot
        return SlotCell, id(slot.owner) if slot.argument < 0 else slot.argument, slot.name


@dataclass(frozen=True, slots=True)
class ArgumentCell(CellSource):
    """The cell of a tensor among the arguments."""

    position: int

    def find(self, arguments: Sequence[Any]) -> Storage:
        return arguments[self.position]._storage

    def code(self, name: Callable[[Any], str]) -> str:
        return f"arguments[{self.position}]._storage"

    def explain(self, names: InputNames) -> tuple[str, str]:
        return "argument", str(names.arguments[self.position])


class ValueSource(InputSource):
    """A value that Python gives at each call."""

    __slots__ = ()

    def find(self, arguments: Sequence[Any], drawn: Sequence[Any], numbers: Sequence[Any]) -> Any:
        """Return the value at a call: of its tensors, per-call values and traced numbers."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class PerCallValue(ValueSource):
    """What a getter provides: a random draw, a learning rate."""

    index: int

    def find(self, arguments: Sequence[Any], drawn: Sequence[Any], numbers: Sequence[Any]) -> Any:
        return drawn[self.index]

    def code(self, name: Callable[[Any], str]) -> str:
        return f"d{self.index}"

    def explain(self, names: InputNames) -> tuple[str, str]:
        place = getattr(names.getters[self.index], "place", None)
        return "per-call value", "a random draw" if place is None else place[1]


@dataclass(frozen=True, slots=True)
class TracedNumber(ValueSource):
    """A number that is made of the arguments."""

    index: int

    def find(self, arguments: Sequence[Any], drawn: Sequence[Any], numbers: Sequence[Any]) -> Any:
        return numbers[self.index]

    def code(self, name: Callable[[Any], str]) -> str:
        return f"numbers[{self.index}]"

    def explain(self, names: InputNames) -> tuple[str, str]:
        known = self.index < len(names.numbers)
        return "number", names.numbers[self.index] if known else "computed from the arguments"


@dataclass(frozen=True, slots=True)
class ViewOffset(ValueSource):
    """A number of the offset of a view among the arguments: which argument, which number."""

    argument: int
    number: int

    def find(self, arguments: Sequence[Any], drawn: Sequence[Any], numbers: Sequence[Any]) -> Any:
        return arguments[self.argument]._view.dynamic[self.number]

    def code(self, name: Callable[[Any], str]) -> str:
        return f"arguments[{self.argument}]._view.dynamic[{self.number}]"

    def explain(self, names: InputNames) -> tuple[str, str]:
        return "number", f"where {names.arguments[self.argument]} begins"


@dataclass(frozen=True, slots=True)
class CotangentInput(InputSource):
    """The gradient of a result that requires grad, which backward is given."""

    index: int


@dataclass(frozen=True, slots=True)
class SecondCotangent(InputSource):
    """The gradient of a gradient, which double backward is given."""

    index: int


@dataclass(frozen=True, slots=True)
class ConstantArray(InputSource):
    """An array that is a part of the program."""

    array: Any


#: Where inputs of a call come from, in the order in which an executable takes them.
INPUT_KINDS: tuple[type[InputSource], ...] = (
    FixedCell,
    SlotCell,
    ArgumentCell,
    PerCallValue,
    TracedNumber,
    ViewOffset,
)
