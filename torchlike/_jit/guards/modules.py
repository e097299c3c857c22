"""Guards on modules and optimizers, and on slots: what their attributes hold at a call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torchlike._jit.guards.guard import ARGUMENTS, MISSING, Guard, describe, equal_tuples, same
from torchlike._jit.guards.keys import PLAIN, describe_slot, is_plain
from torchlike._jit.guards.sources import PlaceSlot, Slot, rebound_slots
from torchlike._runtime import targets
from torchlike._runtime.homes import home
from torchlike.tensor import Tensor

PLAIN_VALUES = (int, float, complex, bool, str, bytes, type(None))
#: The tables in which a module keeps its tensors and children.
TABLES = ("_parameters", "_buffers", "_modules")


class ModuleGuard(Guard):
    """A module's class, attributes, flags and hooks, and the identities of what it holds."""

    __slots__ = ("before", "module", "names", "skip")
    follows_epoch = True

    def __init__(self, module: Any, skip: frozenset[str], names: frozenset[str] | None) -> None:
        """Guard a module. Attributes in ``skip`` are the program's own to bind. ``names``: the
        plain values that code names; None for all."""
        self.module = module
        self.skip = skip
        self.names = names
        self.before = _plain(module, skip, names)

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return self._newly_bound() is None and (
            _plain(self.module, self.skip, self.names) == self.before
        )

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        kind, before = type(self.module).__name__, self.before
        bound = self._newly_bound()
        if bound is not None:
            return f"`{kind}.{bound}` is now bound by a jitted function"
        now = _plain(self.module, self.skip, self.names)
        name = next(n for n in (*before, *now) if before.get(n) != now.get(n))
        if name.endswith("_hooks"):
            return f"the hooks of {kind} changed"
        was, became = before.get(name, MISSING), now.get(name, MISSING)
        label = f"`{kind}.{name.rpartition('.')[2]}`"
        if not (_is_of_tensor(was) or _is_of_tensor(became)):
            return f"{label} changed: {_shown(was)} → {_shown(became)}"
        if MISSING in (was, became):
            return f"{label} was {'added' if was is MISSING else 'removed'}"
        if _is_of_tensor(was) and _is_of_tensor(became) and was[0] == became[0]:
            return f"requires_grad of {label} changed: {was[1]} → {became[1]}"
        return f"{label} was bound to another object"

    @property
    def values(self) -> list[tuple[str, str]]:
        """The plain values that code of the user's names: their names, and what they were."""
        kind = type(self.module).__name__
        unnamed = library_names(type(self.module)) - (self.names or frozenset())
        return [
            (f"{kind}.{name}", _shown(entry))
            for name, entry in self.before.items()
            if _is_of_value(entry) and name not in unnamed
        ]

    def _newly_bound(self) -> str | None:
        """Return the name of a slot of the module that some program has begun to bind; None where
        there is none."""
        return next(iter(rebound_slots.of(self.module) - self.skip), None)


class AttributeGuard(Guard):
    """A plain attribute of a module (its ``training``) that the body looked up."""

    __slots__ = ("name", "owner", "value")
    follows_epoch = True

    def __init__(self, owner: Any, name: str, value: Any) -> None:
        self.owner = owner
        self.name = name
        self.value = value

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return same(self.owner.__dict__.get(self.name), self.value)

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        now, kind = self.owner.__dict__.get(self.name), type(self.owner).__name__
        return f"`{kind}.{self.name}` changed: {describe(self.value)} → {describe(now)}"


class HookTableGuard(Guard):
    """The hooks on all modules or all optimizers, or on the step of one optimizer."""

    __slots__ = ("hooks", "table")
    follows_epoch = True

    def __init__(self, table: Mapping[Any, Any]) -> None:
        self.table = table
        self.hooks = tuple(table)

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return tuple(self.table) == self.hooks

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        return "the hooks on an optimizer's step, or on all modules or steps, changed"


class PrecisionGuard(Guard):
    """What ``torch.set_float32_matmul_precision`` and ``cudnn.allow_tf32`` were told."""

    __slots__ = ("precisions",)
    follows_epoch = True

    def __init__(self) -> None:
        self.precisions = targets.float32.key()

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return targets.float32.key() == self.precisions

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        kinds = zip(
            ("products", "convolutions"), self.precisions, targets.float32.key(), strict=True
        )
        return "; ".join(
            f"the precision of float32 {kind} changed: {before} → {now}"
            for kind, before, now in kinds
            if before != now
        )


@functools.lru_cache(maxsize=4096)
def library_names(cls: type) -> frozenset[str]:
    """Return the attributes that the library's own code of a module class reads (Linear:
    in_features …)."""
    found: set[str] = set()
    for base in cls.__mro__:
        if home(base).partition(".")[0] == "torchlike":
            for value in base.__dict__.values():
                code = getattr(getattr(value, "__wrapped__", value), "__code__", None)
                if code is not None:
                    found.update(code.co_names)
    return frozenset(found)


def is_of_hooks(name: str, table: Any) -> bool:
    """Return whether a module's attribute is a table of hooks."""
    return name.endswith("_hooks") and isinstance(table, dict)


def is_by_key(module: Any) -> bool:
    """Return whether attributes of a module are asked for by keys, which code does not name."""
    return getattr(type(module), "_attributes_by_key", False)


def _plain(module: Any, skip: frozenset[str], names: frozenset[str] | None) -> dict[str, Any]:
    """Return what a module's graph depends on besides cells: its class, plain values that some code
    names (any of them, where ``names`` is None), and the identities of its tensors, submodules,
    functions and hooks (but for attributes in ``skip``, which the program binds itself)."""
    found: dict[str, Any] = {"__class__": _HeldAs(type(module))}
    named = module.__dict__ if names is None else names | library_names(type(module))
    for name, value in module.__dict__.items():
        if name in skip:
            continue
        if isinstance(value, PLAIN_VALUES):
            if name in named and name[:2] != "__":
                found[name] = type(value).__name__, repr(value)
        elif isinstance(value, Tensor):
            found[name] = id(value), value.requires_grad
        elif is_of_hooks(name, value):
            found[name] = tuple(value), _HeldAs(value)  # ids of handles: never used twice
        elif name == "_non_persistent_buffers_set":
            found[name] = sorted(value)
        elif name == "_keys" and is_by_key(module):
            found[name] = list(value)
        elif name in named and name not in TABLES:
            found[name] = "held", _HeldAs(value)
    for table in TABLES:
        for name, value in module.__dict__.get(table, {}).items():
            if name not in skip:
                flag = value.requires_grad if isinstance(value, Tensor) else None
                found[f"{table}.{name}"] = id(value), flag
    return found


def _is_of_tensor(entry: Any) -> bool:
    """Return whether an entry of the result of `_plain` stands for a tensor or a submodule."""
    return isinstance(entry, tuple) and isinstance(entry[0], int)


def _is_of_value(entry: Any) -> bool:
    """Return whether an entry of the result of `_plain` stands for a plain value."""
    return isinstance(entry, tuple) and isinstance(entry[0], str) and isinstance(entry[1], str)


def _shown(entry: Any) -> str:
    """Show an entry of the result of `_plain`, for messages: a value's name of its kind is left
    out."""
    found = entry[1] if isinstance(entry, tuple) else entry
    return found if isinstance(found, str) else repr(found)


class _HeldAs:
    """A value compared by identity, but for tuples of plain values; kept alive."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _HeldAs):
            return False
        return same(self.value, other.value) or equal_tuples(self.value, other.value)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return describe(self.value)


# -------------------------------------------------------------------------------------------------
# Guards on optimizers whose step is part of a program.


class OptimizerGuard(Guard):
    """An optimizer's groups and state tensors: whether its step would still be the same program.

    Numbers that the program asks for anew at each run (a learning rate) may change, but for their
    being zero, which some rules leave out.
    """

    def __init__(self, optimizer: Any, capture: Any) -> None:
        self._optimizer = optimizer
        self._groups, anew = list(optimizer.param_groups), capture.per_call.places
        self._live = [(g, k) for g in self._groups for k in g if (id(g), k) in anew]
        self._fixed = [
            (g, k, v)
            for g in self._groups
            for k, v in g.items()
            if (id(g), k) not in anew and k != "params"
        ]
        self._zero = [(g, k, _is_zero(g[k])) for g, k in self._live]
        self._params = [(g, tuple(map(id, g["params"]))) for g in self._groups]
        self._kept = [g["params"][:] for g in self._groups]
        self._state = optimizer.state
        #: (whose, what it is, ids of its tensors, the tensors, which keeps the ids theirs).
        self._states = [
            (p, s, tuple(map(id, s.values())), list(s.values()))
            for p, s in self._state.items()
            if isinstance(s, dict)
        ]
        self._n_states = len(self._state)
        self._sizes = [(g, len(g)) for g in self._groups]

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        optimizer = self._optimizer
        groups = optimizer.param_groups
        if optimizer.state is not self._state or len(self._state) != self._n_states:
            return False
        if len(groups) != len(self._groups):
            return False
        for now, before in zip(groups, self._groups, strict=True):
            if now is not before:
                return False
        for group, n in self._sizes:
            if len(group) != n:
                return False
        for group, ids in self._params:
            if tuple(map(id, group["params"])) != ids:
                return False
        for group, name, value in self._fixed:
            now = group.get(name, MISSING)
            if now is not value and not same(now, value) and not equal_tuples(now, value):
                return False
        for group, name, zero in self._zero:
            if _is_zero(group[name]) != zero:
                return False
        get = self._state.get
        return all(
            get(p) is state and tuple(map(id, state.values())) == ids
            for p, state, ids, _ in self._states
        )

    def name_states(self, names: dict[int, str]) -> None:
        """Add names of state tensors."""
        for p, state in self._state.items():
            of = names.get(id(p._storage), "a parameter") if isinstance(p, Tensor) else str(p)
            for name, t in state.items():
                if isinstance(t, Tensor):
                    names.setdefault(id(t._storage), f"{name} of {of}")

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        kind = type(self._optimizer).__name__
        for group, name, value in self._fixed:
            now = group.get(name, MISSING)
            if not same(now, value) and not equal_tuples(now, value):
                return f"`{kind}.{name}` changed: {describe(value)} → {describe(now)}"
        for group, name, zero in self._zero:
            if _is_zero(group[name]) != zero:
                return f"`{kind}.{name}` changed: {'0' if zero else 'nonzero'} → {group[name]}"
        if len(self._optimizer.param_groups) != len(self._groups):
            return f"the parameter groups of {kind} changed"
        return f"the parameters or state of {kind} were replaced"


def _is_zero(value: Any) -> bool:
    return False if isinstance(value, Tensor) else value == 0


# -------------------------------------------------------------------------------------------------
# Guards on slots: what `p.grad`, a module's buffer and their like hold at a call.


class SlotGuard(Guard):
    """Of a slot that programs rebind: whether it holds a tensor, and of which shape and dtype."""

    __slots__ = ("described", "slot")
    of_arguments = True

    def __init__(self, slot: Slot) -> None:
        self.slot = slot
        value = slot.initial
        self.described: Any = not slot.is_missing if value is None else describe_slot(value)

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        slot = self.slot
        now = slot.value(arguments)
        if now is None:
            return self.described is (slot.of_tensor or slot.is_there())
        return bool(describe_slot(now) == self.described)

    def expression(self, name: Callable[[Any], str]) -> str | None:
        slot = self.slot
        if not slot.of_tensor or slot.argument >= 0:
            return None
        now = f"{name(slot.owner)}._whole_dict.get({slot.name!r})"
        if self.described is True:
            return f"{now} is None"
        before = self.described
        if not isinstance(before, tuple) or before[2:] != (*PLAIN[:4], 0, *PLAIN[4:]):
            return None
        shape, dtype = before[:2]
        own = name(slot)  # its locals
        plain = is_plain(now, own, shape, dtype, name)
        return f"({plain} or {name(self.check)}({ARGUMENTS}))"

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        slot, before = self.slot, self.described
        now = slot.value(arguments)
        present = describe_slot(now) if now is not None else slot.is_there()
        name = slot_label(slot)
        if isinstance(present, bool) or isinstance(before, bool):
            words = {True: "None", False: "nothing"}
            was, became = (
                words[x] if isinstance(x, bool) else "a tensor" for x in (before, present)
            )
            return f"{name} changed: {was} → {became}"
        if isinstance(now, Tensor) and present[0] != before[0]:
            return f"the shape of {name} changed: {before[0]} → {present[0]}"
        return f"the kind of {name} changed"


class BoundSlotGuard(Guard):
    """Of a slot that only a change of a module rebinds: the very object that it holds."""

    __slots__ = ("expected", "slot")
    follows_epoch = True

    def __init__(self, slot: Slot) -> None:
        self.slot = slot
        self.expected = slot.initial

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        slot = self.slot
        return slot.value(()) is self.expected and not rebound_slots.has(slot.owner, slot.name)

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        return f"{slot_label(self.slot)} was bound to another tensor"


class FlagGuard(Guard):
    """The ``requires_grad`` of a leaf from outside, which the program switches."""

    __slots__ = ("leaf", "requires_grad")

    def __init__(self, leaf: Tensor, requires_grad: bool) -> None:
        self.leaf = leaf
        self.requires_grad = requires_grad

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return self.leaf._requires_grad is self.requires_grad

    def expression(self, name: Callable[[Any], str]) -> str | None:
        return f"{name(self.leaf)}._requires_grad is {self.requires_grad}"

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        before = self.requires_grad
        return f"the requires_grad of a tensor changed: {before} → {not before}"


def slot_label(slot: Slot) -> str:
    """Return the name of a slot in messages: `` `Linear.bias` ``, `` `Parameter.grad` ``."""
    if isinstance(slot, PlaceSlot):
        return f"`{slot.name}`"
    return f"`{type(slot.owner).__name__}.{slot.name.removeprefix('_')}`"
