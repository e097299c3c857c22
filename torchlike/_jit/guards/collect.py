"""Collects the guards of a program: all that its capture took for granted, as one list.

The order matters twice: a guard may rely on those before it, and a recompilation is explained by
the first that does not hold.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from typing import Any

from torchlike._core.storage import Storage
from torchlike._extensions import shared_hooks
from torchlike._jit.capture.capture import Capture
from torchlike._jit.capture.libraries import is_library
from torchlike._jit.capture.slots import Slot, rebound_slots
from torchlike._jit.guards.containers import HooksGuard, ItemsGuard, TableGuard
from torchlike._jit.guards.guard import Guard
from torchlike._jit.guards.identity import IdentityGuard, asks_for_bases
from torchlike._jit.guards.memory import (
    ApartGuard,
    ArgumentCellGuard,
    ForeignArgumentsGuard,
    SlotCellGuard,
)
from torchlike._jit.guards.modules import (
    PLAIN_VALUES,
    TABLES,
    AttributeGuard,
    HookTableGuard,
    ModuleGuard,
    PrecisionGuard,
    is_by_key,
    is_of_hooks,
    library_names,
)
from torchlike._jit.guards.numbers import NumbersGuard
from torchlike._jit.guards.objects import AttributesOfGuard
from torchlike._jit.guards.optimizers import OptimizerGuard
from torchlike._jit.guards.places import PlaceGuard
from torchlike._jit.guards.slots import BoundSlotGuard, FlagGuard, SlotGuard
from torchlike._jit.guards.tensors import (
    BaseHistoryGuard,
    CellsInUseGuard,
    HistoryGuard,
    LeafHooksGuard,
    RetainsGradGuard,
    TensorGuard,
)
from torchlike._jit.guards.variables import NameGuard
from torchlike._jit.guards.weak import weakened
from torchlike.tensor import Tensor


def guards_of(
    capture: Capture,
    arguments: Sequence[Tensor],
    as_themselves: Sequence[int],
    cells: Sequence[Storage],
    flags: Sequence[tuple[Any, Any, Any]],
    written: Sequence[str],
) -> list[Guard]:
    """Return the guards of the program of ``capture``.

    ``arguments`` are the tensors of the call, ``as_themselves`` the positions of those that were
    captured as state from outside too. ``cells`` are the program's own, ``flags`` the leaves whose
    ``requires_grad`` it changes, ``written`` the kinds of places that it writes to.
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
    return {(id(s.owner), s.name) for s in capture.slots_written.values()}


def _rebound(capture: Capture) -> list[Slot]:
    """Return the slots that were read and hold another tensor from call to call."""
    return [s for s in capture.slots.values() if s.is_read and capture.is_rebound(s)]


def _of_slots(capture: Capture) -> Iterator[Guard]:
    for slot in capture.slots.values():
        if slot.is_read:
            yield SlotGuard(slot) if capture.is_rebound(slot) else BoundSlotGuard(slot)
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
    written: Sequence[str],
) -> Iterator[Guard]:
    rebound = _rebound(capture)
    own = [(i, arguments[i]._storage) for i in as_themselves]
    yield from (ArgumentCellGuard(i, cell) for i, cell in own)
    if capture.observer.compares or asks_for_bases(capture):
        guard = IdentityGuard(arguments, capture, cells)
        if guard.asks:
            yield guard
    shared = _shared(rebound, capture, {id(cell) for _, cell in own})
    yield from (SlotCellGuard(slot, cell) for slot, cell in shared)
    known = frozenset(map(id, (*cells, *(cell for _, cell in shared))))
    if written:
        slots, moves = [slot for slot, _ in shared], any(kind != "fixed" for kind in written)
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
    observer, changed = capture.observer, capture.attributes_written
    yield PrecisionGuard()
    for owner, name, value in capture.attributes.values():
        if (id(owner), name) not in changed:
            yield AttributeGuard(owner, name, value)
    own = [t for o in capture.optimizers.values() for t in o._hooks.values()]
    yield from map(HookTableGuard, (*shared_hooks.TABLES, *own))
    # What is only counted up does not matter, whoever does it (an eager call).
    recorded = {(owner, name) for owner, name in changed if observer.only_records(name)}
    bound, names = _bound(capture) | recorded, frozenset(observer.names)
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
    slots: dict[int, int] = {}
    for slot in capture.slots.values():
        if isinstance(slot.initial, Tensor):
            key = id(slot.initial._storage)
            slots[key] = slots.get(key, 0) + 1
    labels = capture.observer.labels_of_storages()
    found = []
    for slot in rebound:
        if not isinstance(slot.initial, Tensor):
            continue
        storage = slot.initial._storage
        ways = labels.get(id(storage), ())
        others = [x for x in ways if x.rpartition(".")[2] != slot.name]
        if slots[id(storage)] > 1 or others or len(ways) > 1 or id(storage) in arguments:
            found.append((slot, storage))
    return found


def _is_library_module(value: Any) -> bool:
    if not isinstance(value, types.ModuleType):
        return False
    return is_library(value.__name__, getattr(value, "__file__", None) or "<frozen>")
