"""The parts of a capture: `Cells`, `Bindings` (slots and attributes) and `PerCallValues`."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import core, lax
from jax.sharding import NamedSharding

from torchlike._core import modes
from torchlike._core.devices import accelerator_of
from torchlike._core.storage import Storage, is_alone_on_host
from torchlike._jit.capture.frame_observer import FrameObserver
from torchlike._jit.capture.scalars import Number
from torchlike._jit.guards.guard import MISSING
from torchlike._jit.guards.sources import Slot, hooks_of, rebound_slots, set_slot
from torchlike._runtime import value_check
from torchlike._runtime.jax_private.primitives import convert
from torchlike.random.generator import Generator
from torchlike.tensor import Tensor


def check_memory_of_made(storage: Storage, doing: str, refuse: Callable[[str, str], Any]) -> None:
    """Refuse to do something with memory that a tensor made inside shares with NumPy or a buffer: a
    program knows nothing of what those see."""
    if storage.host is not None and not is_alone_on_host(storage):
        refuse(
            f"{doing} memory that a NumPy array or buffer has too (torch.from_numpy)",
            "a copy, such as torch.tensor(array)",
        )


class Cells:
    """The cells of one capture. One that existed before is an input when it is read, an output when
    it is written."""

    def __init__(self, placeholders: Mapping[int, int], refuse: Callable[[str, str], Any]) -> None:
        self._placeholders = placeholders
        self._refuse = refuse
        self.inputs: dict[Storage, Any] = {}
        self._seen_arrays: set[int] = set()
        #: Cells that held host values, those values, and the arrays that they hold since.
        self._host_values: list[tuple[Storage, Any, Any]] = []
        self._created: dict[int, weakref.ref[Storage]] = {}
        #: Cells written, with their contents before.
        self.written: dict[Storage, tuple[Any, Any, int]] = {}
        #: What the cells written hold now, as far as this capture goes.
        self.values: dict[Storage, Any] = {}
        #: Views made during the capture.
        self._views: dict[int, weakref.ref[Tensor]] = {}
        #: Tensors from outside whose autograd history an in-place op changed, as they were.
        self._histories: dict[int, tuple[Tensor, tuple[Any, ...]]] = {}
        #: Tensors on cells from outside whose own fields changed, as they were, and by what.
        self._fields: dict[int, tuple[Tensor, tuple[Any, ...], str]] = {}
        #: Leaves from outside on which a hook was registered, and the hooks that they had.
        self._hooked: dict[int, tuple[Tensor, Any]] = {}

    def adopt(self, storage: Storage) -> None:
        """Record a storage as made during the capture."""
        self._created[id(storage)] = weakref.ref(storage)

    def is_created(self, storage: Storage) -> bool:
        reference = self._created.get(id(storage))
        return reference is not None and reference() is storage

    def created_alive(self) -> list[Storage]:
        """Return the storages made during the capture that something still holds."""
        return [s for s in (r() for r in self._created.values()) if s is not None]

    def read(self, storage: Storage) -> Any:
        """Return the value of a cell and make one that existed before an input, at its first
        read."""
        if storage in self.values:
            return self.values[storage]
        if self.is_created(storage):
            return storage.concrete()
        return self._input(storage)

    def _input(self, storage: Storage) -> Any:
        """Return the array that a cell that existed before held when the capture began, as an input
        of the program."""
        found = self.inputs.get(storage)
        if found is None:
            with outside_of_capture():
                found = self.concrete(storage)
                modes.current.place = modes.current.place or accelerator_of(found)
                if id(found) in self._seen_arrays:
                    found = _another_handle(found)  # two cells may hold one array
            self._seen_arrays.add(id(found))
            self.inputs[storage] = found
        return found

    def concrete(self, storage: Storage) -> Any:
        """Return a cell's array, and remember the host value in whose place it is."""
        before = storage.cell
        found = storage.concrete()
        if type(before) is np.ndarray and found is storage.cell:
            self._host_values.append((storage, before, found))
        return found

    def restore_host_values(self) -> None:
        """Put host values back into their cells, for an eager call: NumPy computes with those."""
        for storage, value, array in self._host_values:
            if storage.cell is array:
                storage.cell = value
        self._host_values.clear()

    def results(self, has_checks: bool) -> list[Any]:
        """Return the arrays that the cells written are to hold: what they held, where a check of
        values fails."""
        if not has_checks:
            return [self.values[storage] for storage in self.written]
        return [self.or_before(self.values[storage], storage) for storage in self.written]

    def or_before(self, new: Any, storage: Storage) -> Any:
        """Return a value for a cell from outside, bound to what the cell held before, which counts
        where a check of values fails."""
        old = self._input(storage)
        if not isinstance(new, jax.Array) or (new.shape, new.dtype) != (old.shape, old.dtype):
            return new
        return value_check.kept.bind(new, old)

    def traced(self, storage: Storage, array: Any) -> Any:
        """Return an array as JAX's own functions and the user's may have it: one of a cell from
        outside traced, so that nobody can freeze its value (``float(t.jax())``)."""
        known = self.is_created(storage) or isinstance(array, core.Tracer)
        if known or not isinstance(array, jax.Array):
            return array
        weak = getattr(array, "weak_type", False)
        return convert(array, array.dtype, weak)

    def write(self, storage: Storage, array: Any) -> None:
        """Record a write to a cell, which is an output if it existed before."""
        if not self.is_created(storage):
            if storage not in self.written:
                self.written[storage] = (storage.cell, storage.host, storage.version)
            # The cell itself keeps its contents: another thread may be using it.
            held = getattr(storage.cell, "sharding", None)
            if isinstance(held, NamedSharding) and storage.shape == array.shape:
                array = lax.with_sharding_constraint(array, held)  # and its place on a mesh
            self.values[storage] = array
            if storage.shape == array.shape and storage.dtype == array.dtype:
                return
        check_memory_of_made(storage, "writing to", self._refuse)
        storage.cell, storage.host = array, None

    @contextlib.contextmanager
    def unless(self, condition: Any) -> Iterator[None]:
        """Have the cells from outside that are written in a `with` block keep what they held where
        ``condition`` (a 0-dim bool array) is True: a step that a program takes or not."""
        before = dict(self.values)
        yield
        for storage, value in list(self.values.items()):
            held = before.get(storage)
            if held is value:
                continue
            if held is None:
                del self.values[storage]
                held = self.read(storage)
            self.values[storage] = jnp.where(condition, held, value)

    def history_write(self, t: Tensor) -> None:
        """Record the autograd history of a tensor from outside that an in-place op is about to
        change."""
        if not self.is_created(t._storage) and id(t) not in self._histories:
            self._histories[id(t)] = (t, (t._node, t._output_nr, t._requires_grad, t._history))

    def adopt_view(self, t: Tensor) -> None:
        """Record a tensor that was made during the capture on a storage that may be from
        outside."""
        self._views[id(t)] = weakref.ref(t)

    def is_adopted(self, t: Tensor) -> bool:
        """Return whether `adopt_view` was told of this very tensor."""
        made_here = self._views.get(id(t))
        return made_here is not None and made_here() is t

    def field_write(self, t: Tensor, asked: str) -> None:
        """Record a tensor's own geometry and ``requires_grad``, which are about to change."""
        if self.is_created(t._storage) or self.is_adopted(t):
            return
        if id(t) not in self._fields:
            before = t._view, t._node, t._output_nr, t._requires_grad
            self._fields[id(t)] = t, before, asked

    def hook_write(self, leaf: Tensor) -> None:
        """Record the hooks of a leaf on which one is about to be registered."""
        if not (self.is_created(leaf._storage) or self.is_adopted(leaf)):
            self._hooked.setdefault(id(leaf), (leaf, hooks_of(leaf)))

    def check_hooks(self, reasons: list[str]) -> None:
        """Refuse hooks that the body leaves on arguments, and record as a reason against a program
        those on other leaves from outside."""
        for leaf, before in self._hooked.values():
            if hooks_of(leaf) == before:
                continue
            if id(leaf) in self._placeholders:
                self._refuse("registering a hook on an argument", "a hook on a clone of it")
            reasons.append(
                "it registers a hook on a tensor from outside, which a compiled program would do "
                "only once; register it outside"
            )

    def flags_written(self) -> list[tuple[Tensor, Any]]:
        """Return the leaves from outside whose ``requires_grad`` changed, each with what it was.

        JitCaptureError for other changes to a tensor from outside: the compiled function would
        make them only once.
        """
        flags = []
        for t, (view, node, _, requires_grad), asked in self._fields.values():
            if t._view is not view or t._node is not node:
                self._refuse(f"{asked} on a tensor from outside", asked.replace("_()", "()"))
            if t._requires_grad is not requires_grad:
                flags.append((t, requires_grad))
        return flags

    def check_histories(self) -> None:
        """Refuse to leave a tensor from outside with a history made of tracers."""
        for t, (node, *_) in self._histories.values():
            if t._node is not node and t._node is not None:
                self._refuse(
                    "writing a value that requires grad into a tensor from outside",
                    "value.detach(), or write under torchlike.no_grad()",
                )

    def roll_back(self) -> None:
        """Put cells, and tensors from outside, back as they were before the capture."""
        for storage, (cell, host, version) in self.written.items():
            storage.cell, storage.host, storage.version = cell, host, version
        for t, (node, nr, requires_grad, history) in self._histories.values():
            t._node, t._output_nr, t._requires_grad, t._history = node, nr, requires_grad, history
        for t, before, _ in self._fields.values():
            t._view, t._node, t._output_nr, t._requires_grad = before


@contextlib.contextmanager
def outside_of_capture() -> Iterator[None]:
    """Suspend the capture: what is computed and made inside is concrete and existed before."""
    with modes.capturing(None), jax.ensure_compile_time_eval():
        yield


def _another_handle(array: Any) -> Any:
    """Make a second jax.Array object on the same buffers."""
    return jax.make_array_from_single_device_arrays(
        array.shape, array.sharding, [shard.data for shard in array.addressable_shards]
    )


# -------------------------------------------------------------------------------------------------
# `Bindings`, slots and attributes that a capture looks up and binds, and `PerCallValues`.


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
        #: Those among them on which the program does not depend.
        self.released: set[tuple[int, Any]] = set()

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
        return slot.moves or key in self.written or rebound_slots.has(slot.owner, slot.name)

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


class PerCallValues:
    """The numbers that Python provides anew at each call of one program."""

    def __init__(self, drawn: Sequence[Any], has_written: Callable[[Any, str], bool]) -> None:
        """Begin with none. ``has_written`` says whether the body wrote to a dictionary's entry."""
        #: Those that an earlier trace of the same call already got, to be used again.
        self._drawn = list(drawn)
        self._has_written = has_written
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

    def per_call_value(self, getter: Callable[[], Any]) -> Any:
        """Return the first value of ``getter``, which provides one at each call, in the order asked
        for, and record it as an input of the program. What the body itself has put there (`given`)
        is a number of its own."""
        place = getattr(getter, "place", None)
        if place is not None:
            self.places.add((id(place[0]), place[1]))
            value = getter.given()  # type: ignore[attr-defined]
            if type(value) is Number:
                return convert(value._read(), np.dtype(np.float64), False)
            if self._has_written(*place) and not isinstance(value, Tensor):
                return jax.device_put(np.array(float(value)))
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
        """Put back what drawing per-call values changed (the states of random generators)."""
        for _, undo in self._undo.values():
            undo()

    def generators(self) -> list[Generator]:
        """Return the random generators that the body draws from."""
        return [owner for owner, _ in self._undo.values() if isinstance(owner, Generator)]


def _registered(module: Any) -> set[str]:
    """Return the names of a module's parameters and buffers, whose look-ups are seen."""
    own = module.__dict__
    return {*own.get("_parameters", ()), *own.get("_buffers", ())}
