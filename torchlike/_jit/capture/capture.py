"""`Capture` records what a function reads, writes, makes and draws while it is traced.

While a capture runs, every read of a Storage comes here. ``jax.make_jaxpr`` keeps each concrete
array that it meets among ``jaxpr.consts`` as the very same object, so it is enough to remember
which array belongs to which cell: after the one run of the Python body those constants become the
program's inputs. No second run, no list of modules, nothing declared.

Besides cells there are *slots*: attributes that hold tensors and are rebound rather than written,
such as ``p.grad`` or a module's buffer. And *per-call values*: numbers that Python has to provide
anew at each call, such as a learning rate or the draws of a random generator.

A capture holds its parts: `Cells`, `Bindings` (slots and attributes), `PerCallValues`, `Refusals`,
and the `FrameObserver`, which sees what Python code reads. Tensors, ops, modules and optimizers
report to the capture (`RunningCapture` is what they know of it), and it hands on to the part.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from jax import core

from torchlike._core import tape
from torchlike._core.storage import Storage
from torchlike._extensions import shared_hooks
from torchlike._jit.capture.cells import Bindings, Cells, PerCallValues, outside_of_capture
from torchlike._jit.capture.effects import DeferredPrints, Tables
from torchlike._jit.capture.frame_observer import FrameObserver
from torchlike._jit.capture.refusals import Refusals, is_library, trace_counts, users_line
from torchlike._jit.guards.containers import HooksGuard, ItemsGuard, TableGuard
from torchlike._jit.guards.guard import Guard, NameGuard
from torchlike._jit.guards.modules import (
    PLAIN_VALUES,
    TABLES,
    AttributeGuard,
    BoundSlotGuard,
    FlagGuard,
    HookTableGuard,
    ModuleGuard,
    OptimizerGuard,
    PrecisionGuard,
    SlotGuard,
    is_by_key,
    is_of_hooks,
    library_names,
)
from torchlike._jit.guards.objects import AttributesOfGuard
from torchlike._jit.guards.sources import CellSource, FixedCell, PlaceSlot, Slot, rebound_slots
from torchlike._jit.guards.tensors import (
    ApartGuard,
    ArgumentCellGuard,
    BaseHistoryGuard,
    CellsInUseGuard,
    ForeignArgumentsGuard,
    HistoryGuard,
    IdentityGuard,
    LeafHooksGuard,
    NumbersGuard,
    PlaceGuard,
    RetainsGradGuard,
    SlotCellGuard,
    TensorGuard,
    TogetherGuard,
    retains,
    values_of,
)
from torchlike._jit.guards.weak import weakened
from torchlike.autograd.conditional_grad import GIVEN, When
from torchlike.tensor import Tensor


class Postponed(BaseException):
    """A capture has made more tensors than one at a first call may: it ends here, all that it did
    is undone, and the call runs eagerly. No Exception, which user code may catch."""


class Capture:
    """The running record of one capture.

    Attributes:
      cells, bindings, per_call, refused, observer: its parts.
      n_made, most: how many tensors the body has made, and how many it may.
    """

    defers = is_eager = False

    def __init__(self, name: str, drawn: Sequence[Any] = ()) -> None:
        self.name = name
        #: Whether ``torch.jit.is_scripting()`` is to say yes.
        self.scripting = False
        #: Whether it is another trace of what was compiled, for create_graph outside (see double).
        self.is_retraced = False
        #: Whether checks of values become a part of the program, and whether one has.
        self.checks_values = False
        self.has_checks = False
        #: Nodes recorded before the capture have a smaller sequence number.
        self.first_sequence = tape.next_sequence()
        #: What the function sees instead of its arguments: {id(placeholder): which argument}.
        self.placeholders: dict[int, int] = {}
        self.refused = Refusals(name)
        self.cells = Cells(self.placeholders, self.refused.refuse)
        self.bindings = Bindings(self.cells, self.placeholders)
        #: Tables of modules, hooks and optimizers that the body was about to change.
        self.tables = Tables(self.bindings.written.values())
        #: Plain Python values that user code can read.
        self.observer = FrameObserver(self.placeholders, self.tables)
        self.per_call = PerCallValues(drawn, self.observer.has_written)
        self.refused.errors_of_jax = self.observer.errors_of_jax
        self.prints = DeferredPrints(
            self.observer.say, self.refused.refuse_value, self.observer.is_from_outside
        )
        self.n_made, self.most = 0, math.inf
        self.modules: dict[int, Any] = {}
        #: Ids of modules that the body made.
        self.made_modules: set[int] = set()
        self.optimizers: dict[int, Any] = {}
        #: Names that one branch on a value bound and the other did not, or a loop's turns alone.
        self.maybe_unbound: set[str] = set()
        #: What chex had counted before: a body that is run once more is no second trace.
        self._traces = dict(trace_counts())
        #: Gradients that leaves have or not, as a value decides: {id: (gradient, condition)}.
        self.conditions: dict[int, tuple[Tensor, Any]] = {}
        #: Arguments of which code asked on which devices they lie, and what it was told.
        self.places_asked: dict[int, Any] = {}
        #: The accelerator that the program is on (a torchlike.device); None for the CPU.
        self.place: Any = None
        #: What code made of arguments' values: (position, function) -> its result.
        self.numbers: dict[tuple[int, Callable[[Any], Any]], Any] = {}
        #: Of which tensors code asked whether they keep their gradients: {id: (tensor, or position
        #: among the arguments, answer)}.
        self.retaining: dict[int, tuple[Tensor | int, bool]] = {}
        #: The ranks that run the program together, once it has a collective (distributed/captured).
        self.ranks: Any = None
        #: What else may refuse the capture once the body has run.
        self._last_checks: list[Callable[[], None]] = []
        self._hand_on()

    def _hand_on(self) -> None:
        """Let each part take what is reported to the capture: no call between them."""
        cells, bindings, refused, drawn = self.cells, self.bindings, self.refused, self.per_call
        self.is_created = cells.is_created
        self.read, self.write, self.traced, self.unless = (
            cells.read,
            cells.write,
            cells.traced,
            cells.unless,
        )
        self.adopt_view, self.is_adopted = cells.adopt_view, cells.is_adopted
        self.history_write, self.field_write = cells.history_write, cells.field_write
        self.hook_write, self.outside = cells.hook_write, outside_of_capture
        self.slots = bindings.slots
        self.slot_read, self.slot_write = bindings.slot_read, bindings.slot_write
        self.read_attribute = bindings.read_attribute
        self.write_attribute = bindings.write_attribute
        self.per_call_value, self.do_not_repeat = drawn.per_call_value, drawn.do_not_repeat
        self.undo_on_failure = drawn.undo_on_failure
        self.refusals, self.remember_refusal = refused.errors, refused.remember
        self.refuse, self.refuse_value = refused.refuse, refused.refuse_value
        self.paused, self.unseen = self.observer.paused, self.observer.unseen
        self.setting_seen = self.observer.see_setting

    def adopt(self, storage: Storage) -> None:
        """Record a cell that was made during the capture."""
        self.n_made += 1
        if self.n_made > self.most:
            self.end_large()
        self.cells.adopt(storage)

    def end_large(self) -> None:
        """End a capture that has made more than it may, unless it has done what cannot be undone:
        then it is to be the call."""
        if self.n_made > self.most:
            undone = not self.per_call.unrepeatable and self.observer.can_be_undone()
            if undone and self.by_numpy():
                raise Postponed
            self.most = math.inf

    def by_numpy(self) -> bool:
        """Return whether NumPy computes eager calls: nothing is cut over several devices."""
        shardings = (getattr(array, "sharding", None) for array in self.cells.inputs.values())
        return self.place is None and all(s is None or s.num_devices == 1 for s in shardings)

    # -- gradients that there are or not -----------------------------------------------------------

    def condition_of(self, gradient: Tensor | None) -> When:
        """Return the condition under which a leaf has the gradient that it holds."""
        if gradient is None:
            return {}
        _, condition = self.conditions.get(id(gradient), (None, True))
        return {GIVEN: condition}

    def hold_gradient(self, t: Tensor, when: When) -> None:
        """Record that ``t.grad`` is a gradient on this condition, and else None."""
        gradient: Any = t._grad
        if when[GIVEN] is True:
            self.conditions.pop(id(gradient), None)
        else:
            self.conditions[id(gradient)] = gradient, when[GIVEN]

    def check_gradient(self, gradient: Tensor | None) -> None:
        """Refuse to say what a ``.grad`` holds that is None or not as a value decides."""
        if id(gradient) in self.conditions:
            self.refuse_value(
                "the .grad of a tensor that only one branch on a value used (is it None?)",
                "an optimizer's step, clip_grad_norm_, or torchlike.where on both results",
            )

    # -- ranks, and the end of the body ------------------------------------------------------------

    def join_ranks(self, make: Callable[[], Any]) -> Any:
        """Return the ranks over which the program runs: those of the first collective, which
        ``make`` gives."""
        if self.ranks is None:
            self.ranks = make()
        return self.ranks

    def check_at_end(self, check: Callable[[], None]) -> None:
        """Call ``check``, which may refuse, once the body has run."""
        self._last_checks.append(check)

    def run_last_checks(self) -> None:
        for check in self._last_checks:
            check()

    # -- what tensors, modules and optimizers report -----------------------------------------------

    def data_write(self, t: Tensor, value: Tensor) -> None:
        """Refuse ``t.data = value`` but for tensors that are made here alone: each call would have
        to swap cells."""
        own = self.cells.is_created(t._storage) or self.cells.is_adopted(t)
        if not (own and self.cells.is_created(value._storage)):
            self.refuse("`tensor.data = value`", "tensor.data.copy_(value)")

    def table_write(self, owner: Any, table: Any, what: str) -> None:
        """Record that a table of parameters, children, hooks or groups is about to change."""
        self.tables.about_to_change(owner, table, what, users_line)

    def module_made(self, module: Any) -> None:
        """Record that a module is being made."""
        self.made_modules.add(id(module))

    def retains_grad_seen(self, t: Tensor) -> None:
        """Record whether a tensor that is asked keeps its gradient: a guard where it is from
        outside."""
        argument = self.placeholders.get(id(t))
        if argument is not None or self.observer.has_visited(t):
            self.retaining.setdefault(id(t), (t if argument is None else argument, retains(t)))

    def enter_module(self, module: Any) -> None:
        """Record a module that is being called: its plain attributes become guards."""
        self.modules[id(module)] = module

    def enter_optimizer(self, optimizer: Any) -> None:
        """Record an optimizer that takes a step: its groups and state become guards."""
        self.optimizers[id(optimizer)] = optimizer

    def place_asked(self, t: Tensor, sharding: Any) -> None:
        """Record that code asked on which devices a tensor lies, and was told ``sharding``: a guard
        where it is an argument. (Of other cells from outside the place does not change.)"""
        position = self.placeholders.get(id(t))
        if position is not None:
            self.places_asked[position] = sharding

    def numbers_asked(self, t: Tensor, read: Callable[[np.ndarray], Any]) -> Any:
        """Return the result of ``read`` for an argument's values and record it as a guard. None for
        a tensor that is no argument, or that was written. (Ragged tensors ask how long their parts
        are.)"""
        position = self.placeholders.get(id(t))
        if position is None or t._storage in self.cells.values:
            return None
        if (position, read) not in self.numbers:
            with outside_of_capture():
                if isinstance(t._storage.concrete(), core.Tracer):
                    return None
                self.numbers[position, read] = read(values_of(t))
        return self.numbers[position, read]

    def note_check(self) -> str:
        """Record that the program is about to check values, and return the user's line, which
        begins with a space: `` (train.py:41)``."""
        self.has_checks = True
        return self.refused.line()

    def see_plain_slots(self) -> None:
        """Record the slots among the plain attributes of modules, which are looked up unseen."""
        self.bindings.see_plain_slots(self.observer, {**self.observer.modules, **self.modules})

    # -- undoing -----------------------------------------------------------------------------------

    def roll_back(self) -> None:
        """Put cells and slots back as they were before the capture."""
        self.cells.roll_back()
        self.bindings.roll_back()

    def undo_python(self) -> None:
        """Put plain Python values back: the capture failed, or the body runs once more."""
        self.bindings.restore_attributes()
        self.observer.restore()
        counts = trace_counts()
        counts.clear()
        counts.update(self._traces)
        self.tables.restore()
        self.bindings.restore_missing()
        self.cells.restore_host_values()


def guards_of(
    capture: Capture,
    arguments: Sequence[Tensor],
    as_themselves: Sequence[int],
    cells: Sequence[Storage],
    flags: Sequence[tuple[Any, Any, Any]],
    written: Sequence[CellSource],
) -> list[Guard]:
    """Return the guards of the program of ``capture``.

    ``arguments`` are the tensors of the call, ``as_themselves`` the positions of those that were
    captured as state from outside too. ``cells`` are the program's own, ``flags`` the leaves whose
    ``requires_grad`` it changes, ``written`` the places that it writes to.

    The order matters twice: a guard may rely on those before it, and a recompilation is explained
    by the first that does not hold.
    """
    found = [
        *_of_slots(capture),
        *_of_values(capture),
        *_of_tensors(capture),
        *map(OptimizerGuard, capture.optimizers.values(), (capture,) * len(capture.optimizers)),
        *(FlagGuard(leaf, before) for leaf, before, _ in flags if isinstance(leaf, Tensor)),
        *_of_memory(capture, arguments, as_themselves, cells, written),
        *(PlaceGuard(i, sharding) for i, sharding in capture.places_asked.items()),
        *(NumbersGuard(i, read, found) for (i, read), found in capture.numbers.items()),
        *_of_modules(capture),
        *(RetainsGradGuard(of, value) for of, value in capture.retaining.values()),
        CellsInUseGuard(cells),
    ]
    if not capture.observer.weak:
        return found
    refs = capture.observer.weak_referents()
    capture.observer.let_go()
    return list(weakened(found, refs))


def _modules(capture: Capture) -> list[Any]:
    """Return the modules that were called, or reached by name."""
    return list({**capture.observer.modules, **capture.modules}.values())


def _bound(capture: Capture) -> set[tuple[int, str]]:
    """Return the slots that the program binds: (id of the owner, name)."""
    return {(id(s.owner), s.name) for s in capture.bindings.written.values()}


def _rebound(capture: Capture) -> list[Slot]:
    """Return the slots that were read and hold another tensor from call to call."""
    return [s for s in capture.slots.values() if s.is_read and capture.bindings.is_rebound(s)]


def _of_slots(capture: Capture) -> Iterator[Guard]:
    for slot in capture.slots.values():
        if slot.is_read:
            yield SlotGuard(slot) if capture.bindings.is_rebound(slot) else BoundSlotGuard(slot)
    leaves = {id(s.owner): s.owner for s in capture.slots.values() if s.argument < 0}
    yield from (LeafHooksGuard(t) for t in leaves.values() if isinstance(t, Tensor))


def _of_values(capture: Capture) -> Iterator[Guard]:
    """Yield the guards on plain Python values that user code read, and on the tables of modules."""
    observer, bound = capture.observer, _bound(capture)
    found = [
        guard
        for guard in observer.guards.values()
        if not isinstance(guard, NameGuard)
        or not ((id(guard.owner), guard.name) in bound or _is_library_module(guard.value))
    ]
    yield from sorted(found, key=lambda guard: not isinstance(guard, NameGuard))
    modules = _modules(capture)
    for m in modules:
        for name in library_names(type(m)):
            value = m.__dict__.get(name)
            if type(value) is list and all(isinstance(x, PLAIN_VALUES) for x in value):
                yield ItemsGuard(value, f"{type(m).__name__}.{name}")
    yield from (AttributesOfGuard(owner, space) for owner, space in observer.spaces())
    # Modules without children are passed over (most have none, and get none so), but for containers
    # and those whose table the code names.
    named = {id(owner) for owner in capture.tables.owners()}
    for m in modules:
        kind = type(m).__name__
        apart = rebound_slots.of(m) | {name for owner, name in bound if owner == id(m)}
        for which in TABLES:
            table = m.__dict__.get(which)
            if table or (
                table is not None
                and (which != "_modules" or id(m) in named or hasattr(type(m), "__len__"))
            ):
                yield TableGuard(table, apart, kind)
    for m in modules:
        for name, table in m.__dict__.items():
            if is_of_hooks(name, table) and table:
                yield HooksGuard(table, frozenset(), type(m).__name__)


def _of_tensors(capture: Capture) -> Iterator[Guard]:
    """Yield the guards on tensors that were reached by name."""
    observer = capture.observer
    for t in observer.tensors.values():
        label = observer.label_of(t)
        yield HistoryGuard(t, label)
        yield TensorGuard(t, label)
        if t._base is not None:
            yield BaseHistoryGuard(t._base)


def _of_memory(
    capture: Capture,
    arguments: Sequence[Tensor],
    as_themselves: Sequence[int],
    cells: Sequence[Storage],
    written: Sequence[CellSource],
) -> Iterator[Guard]:
    rebound = _rebound(capture)
    own = [(i, arguments[i]._storage) for i in as_themselves]
    yield from (ArgumentCellGuard(i, cell) for i, cell in own)
    compares, asks_for_bases = capture.observer.compares, capture.observer.asks_for_bases()
    if compares or asks_for_bases:
        reached = capture.observer.comparable_tensors() if compares else None
        guard = IdentityGuard(arguments, reached, rebound, cells, asks_for_bases)
        if guard.asks:
            yield guard
    shared = _shared(rebound, capture, {id(cell) for _, cell in own})
    yield from (SlotCellGuard(slot, cell) for slot, cell in shared)
    together = _together(rebound)
    yield from (TogetherGuard(slots) for slots in together)
    known = frozenset(map(id, (*cells, *(cell for _, cell in shared))))
    if written:
        slots = [*(slot for slot, _ in shared), *(s for one in together for s in one[1:])]
        moves = not all(isinstance(where, FixedCell) for where in written)
        apart = [
            s
            for s in rebound
            if isinstance(s.initial, Tensor) and s not in slots and (moves or not s.of_tensor)
        ]
        if apart:
            yield ApartGuard(apart, known)
    foreign = [i for i in range(len(arguments)) if i not in as_themselves]
    if foreign and known:
        yield ForeignArgumentsGuard(foreign, known)


def _of_modules(capture: Capture) -> Iterator[Guard]:
    """Yield the guards on what changes of modules and settings only with ``modes.epoch``."""
    observer, changed = capture.observer, capture.bindings.attributes_written
    yield PrecisionGuard()
    for owner, name, value in capture.bindings.attributes.values():
        if (id(owner), name) not in changed:
            yield AttributeGuard(owner, name, value)
    own = [t for o in capture.optimizers.values() for t in o._hooks.values()]
    yield from map(HookTableGuard, (*shared_hooks.TABLES, *own))
    # What is only counted up does not matter, whoever does it (an eager call).
    recorded = {(owner, name) for owner, name in changed if observer.only_records(name)}
    bound = _bound(capture) | recorded | capture.bindings.released
    names = frozenset(observer.names)
    for m in _modules(capture):
        skip = rebound_slots.of(m) | {name for owner, name in bound if owner == id(m)}
        yield ModuleGuard(m, skip, None if observer.is_whole(m) or is_by_key(m) else names)


def _shared(
    rebound: Sequence[Slot], capture: Capture, arguments: set[int]
) -> list[tuple[Slot, Storage]]:
    """Return the rebound slots whose tensor the function may have read in another way too (through
    a closure, a second slot, an argument: ``arguments`` are the ids of those that are state), with
    its storage. One cell has one place to be found at the next call, so the program is for calls
    where they are the same."""
    slots: dict[int, list[Slot]] = {}
    for slot in capture.slots.values():
        if isinstance(slot.initial, Tensor):
            slots.setdefault(id(slot.initial._storage), []).append(slot)
    labels = capture.observer.labels_of_storages()
    places = any(isinstance(slot, PlaceSlot) for slot in rebound)
    bindings = capture.bindings
    apart = bindings.slots.keys() | bindings.released
    held = capture.observer.storages_held(apart) if places else set()
    found = []
    for slot in rebound:
        if not isinstance(slot.initial, Tensor):
            continue
        storage = slot.initial._storage
        ways = labels.get(id(storage), ())
        others = [x for x in ways if x.rpartition(".")[2] != slot.name]
        also = slots[id(storage)]
        if all(isinstance(s, PlaceSlot) for s in also):  # they may move together
            is_shared = bool(ways) or id(storage) in held
        else:
            is_shared = len(also) > 1 or bool(others) or len(ways) > 1
        if is_shared or id(storage) in arguments:
            found.append((slot, storage))
    return found


def _together(rebound: Sequence[Slot]) -> list[list[Slot]]:
    """Return the places that lie on one cell, for each cell of several."""
    found: dict[int, list[Slot]] = {}
    for slot in rebound:
        if isinstance(slot, PlaceSlot) and isinstance(slot.initial, Tensor):
            found.setdefault(id(slot.initial._storage), []).append(slot)
    return [slots for slots in found.values() if len(slots) > 1]


def _is_library_module(value: Any) -> bool:
    if not isinstance(value, types.ModuleType):
        return False
    return is_library(value.__name__, getattr(value, "__file__", None) or "<frozen>")
