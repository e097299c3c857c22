"""`Bindings`, slots and attributes that a capture looks up and binds, and `HostValues`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from torchlike._jit.capture.cells import Cells, outside_of_capture
from torchlike._jit.capture.frame_observer import FrameObserver
from torchlike._jit.guards.guard import MISSING
from torchlike._jit.guards.sources import Slot, rebound_slots, set_slot
from torchlike.random.generator import Generator
from torchlike.tensor import Tensor


class Bindings:
    """The slots and plain attributes that one capture looks up and binds."""

    def __init__(self, cells: Cells, placeholders: Mapping[int, int]) -> None:
        self._cells = cells
        self._placeholders = placeholders
        self.slots: dict[tuple[int, str], Slot] = {}
        self.written: dict[tuple[int, str], Slot] = {}
        #: Plain Python attributes read and written: (owner, name, value then).
        self.attributes: dict[tuple[int, str], tuple[Any, str, Any]] = {}
        self.attributes_written: dict[tuple[int, str], tuple[Any, str, Any]] = {}

    def _slot(self, owner: Any, name: str) -> Slot | None:
        if isinstance(owner, Tensor) and (
            self._cells.is_created(owner._storage) or self._cells.is_adopted(owner)
        ):
            return None
        key = (id(owner), name)
        slot = self.slots.get(key)
        if slot is None:
            slot = self.slots[key] = Slot(owner, name, self._placeholders.get(id(owner), -1))
        return slot

    def slot_read(self, owner: Any, name: str) -> None:
        """Record that a tensor-holding attribute is being looked up."""
        slot = self._slot(owner, name)
        if slot is not None and (id(owner), name) not in self.written:
            slot.is_read = True

    def slot_write(self, owner: Any, name: str) -> None:
        """Record that a tensor-holding attribute is about to be bound."""
        slot = self._slot(owner, name)
        if slot is not None:
            self.written[(id(owner), name)] = slot

    def see_plain_slots(self, observer: FrameObserver, modules: Mapping[int, Any]) -> None:
        """Record the slots among the plain attributes of modules, which are looked up unseen: those
        that some program binds, and that code here loads."""
        for module in modules.values():
            for name in rebound_slots.of(module):
                if (id(module), name) not in self.slots and name not in _registered(module):
                    self._slot(module, name)
        labels = observer.labels_of_storages()
        for slot in self.slots.values():
            if slot.is_read or slot.of_tensor:
                continue
            if slot.name not in _registered(slot.owner) and observer.loads(slot.name):
                slot.is_read = True
            elif isinstance(slot.initial, Tensor) and slot.initial._storage in self._cells.inputs:
                # Read past the attribute (``module.buffers()``), unless there is another way.
                ways = labels.get(id(slot.initial._storage), ())
                slot.is_read = all(x.rpartition(".")[2] == slot.name for x in ways)

    def is_rebound(self, slot: Slot) -> bool:
        """Return whether a slot may hold another tensor at each call: one that this function or
        another jitted one binds, or a tensor's own (``.grad``). A module's other slots change only
        when ``modes.epoch`` moves."""
        if not (slot.is_missing or slot.is_there()):
            return False  # the body deleted it
        key = (id(slot.owner), slot.name)
        return slot.of_tensor or key in self.written or rebound_slots.has(slot.owner, slot.name)

    def read_attribute(self, owner: Any, name: str) -> None:
        """Record that a plain attribute (a module's ``training``) is being looked up."""
        key = (id(owner), name)
        if key not in self.attributes and key not in self.attributes_written:
            self.attributes[key] = (owner, name, owner.__dict__.get(name))

    def write_attribute(self, owner: Any, name: str) -> None:
        """Record that a plain attribute is about to be set."""
        self.attributes_written.setdefault(
            (id(owner), name), (owner, name, owner.__dict__.get(name, MISSING))
        )

    def roll_back(self) -> None:
        """Put slots back as they were before the capture."""
        for slot in self.written.values():
            # One that was made or deleted inside is left as it is: no program that is kept reads
            # it, and its place in the table is the right one.
            if not slot.is_missing and slot.is_there():
                set_slot(slot.owner, slot.name, slot.initial)

    def restore_attributes(self) -> None:
        """Put plain attributes back as they were before the capture."""
        for owner, name, value in self.attributes_written.values():
            if value is MISSING:
                owner.__dict__.pop(name, None)
            else:
                owner.__dict__[name] = value

    def restore_missing(self) -> None:
        """Take away slots that were made, and put back those that were deleted."""
        for slot in self.written.values():
            if slot.is_missing:
                slot.remove()
            elif not slot.is_there():  # in no table
                slot.owner.__dict__[slot.name] = slot.initial


class HostValues:
    """The numbers that Python provides anew at each call of one program."""

    def __init__(self, drawn: Sequence[Any]) -> None:
        #: Those that an earlier trace of the same call already got, to be used again.
        self._drawn = list(drawn)
        #: What provides each, and the array that stands for it in the trace.
        self.getters: list[tuple[Callable[[], Any], Any]] = []
        #: What the getters gave, as they gave it: a float passed as an array instead would be
        #: another signature to jax.jit, and the second call would compile the program again.
        self.first_values: list[Any] = []
        #: Entries of parameter groups that are asked for anew at each run: (id(group), name).
        self.places: set[tuple[int, str]] = set()
        #: Why the program must not be used again, if somebody said so.
        self.unrepeatable = ""
        self._undo: dict[int, tuple[Any, Callable[[], None]]] = {}

    def host_value(self, getter: Callable[[], Any]) -> Any:
        """Return the first value of ``getter``, which provides one at each call, in the order asked
        for, and record it as an input of the program."""
        place = getattr(getter, "place", None)
        if place is not None:
            self.places.add((id(place[0]), place[1]))
        with outside_of_capture():
            again = len(self.getters) < len(self._drawn)
            value = self._drawn[len(self.getters)] if again else getter()
            # A copy, and not by jnp.array: that compiles a program, 10 to 25 ms in a new process.
            placeholder = jax.device_put(np.array(value))
        self.getters.append((getter, placeholder))
        self.first_values.append(value)
        return placeholder

    def do_not_repeat(self, why: str) -> None:
        """Say that the next call will want another program (this one's steps happen only once)."""
        self.unrepeatable = why

    def undo_on_failure(self, owner: Any, undo: Callable[[], None]) -> None:
        """Call ``undo`` if the capture fails; the first one given for an owner counts."""
        self._undo.setdefault(id(owner), (owner, undo))

    def fail(self) -> None:
        """Put back what drawing host values changed (the states of random generators)."""
        for _, undo in self._undo.values():
            undo()

    def generators(self) -> list[Generator]:
        """Return the random generators that the body draws from."""
        return [owner for owner, _ in self._undo.values() if isinstance(owner, Generator)]


def _registered(module: Any) -> set[str]:
    """Return the names of a module's parameters and buffers, whose look-ups are seen."""
    own = module.__dict__
    return {*own.get("_parameters", ()), *own.get("_buffers", ())}
