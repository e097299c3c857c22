"""Guards on modules: their attributes, parameters, hooks and flags."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from torchlike._jit.capture.slots import rebound_slots
from torchlike._jit.guards.guard import Guard
from torchlike._jit.guards.values import MISSING, describe, equal_tuples, same
from torchlike._runtime import targets
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
        if str(base.__module__).partition(".")[0] == "torchlike":
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
