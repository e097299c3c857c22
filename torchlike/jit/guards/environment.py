"""What a capture took for granted besides cells, asked again at each call.

Plain Python values that user code read (see ``watch``) are compared at each call, at ~50 ns a name.
So are optimizers' settings and the identities of their state tensors. Modules' own attributes,
flags and hooks are compared only after something was changed through them (``modes.epoch``).
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

from torchlike._compat.settings import get_float32_matmul_precision
from torchlike._core import shared_hooks
from torchlike._core.tensor import Tensor
from torchlike.jit.capture.capture import rebound_slots
from torchlike.jit.capture.libraries import is_library
from torchlike.jit.guards import places
from torchlike.jit.guards.places import MISSING, Name, describe, same

_VALUES = (int, float, complex, bool, str, bytes, type(None))
_TABLES = ("_parameters", "_buffers", "_modules")


class Snapshot:
    """Python as a capture saw it."""

    def __init__(self, capture: Any) -> None:
        watch = capture.watch
        bound = {(id(s.owner), s.name) for s in capture.slots_written.values()}
        self.names: list[tuple[Any, str, Any]] = []
        self._labels: list[Any] = []
        others: list[Any] = []
        for place in watch.places.values():
            if isinstance(place, Name):
                if (id(place.owner), place.name) in bound or _is_library_module(place.value):
                    continue
                self.names.append((place.space.get, place.name, place.value))
                self._labels.append(place)
            else:
                others.append(place)
        for m in {**watch.modules, **capture.modules}.values():
            for name in _library_names(type(m)):
                value = m.__dict__.get(name)
                if type(value) is list and all(isinstance(x, _VALUES) for x in value):
                    others.append(places.Items(value, f"{type(m).__name__}.{name}"))
        self._others = others
        self._checks = [place.holds for place in others]
        #: Tables of parameters, buffers and children may be written to directly, which moves no
        #: epoch. Modules without children are passed over (most have none, and get none so), but
        #: for containers and those whose table the code names.
        named = {id(owner) for owner in capture.tables.owners()}
        self._tables = [
            places.Bindings(table, rebound_slots.of(m) | {name for i, name in bound if i == id(m)})
            for m in {**watch.modules, **capture.modules}.values()
            for kind in _TABLES for table in [m.__dict__.get(kind)]
            if table or (table is not None and (
                kind != "_modules" or id(m) in named or hasattr(type(m), "__len__")
            ))
        ]  # fmt: skip
        #: So may those of hooks, which most modules have none of.
        self._tables += [
            places.Bindings(table, frozenset())
            for m in {**watch.modules, **capture.modules}.values()
            for name, table in m.__dict__.items() if _is_of_hooks(name, table) and table
        ]  # fmt: skip
        self._checks += [table.holds for table in self._tables]
        self._spaces = watch.spaces()
        self._optimizers = [Settings(o, capture) for o in capture.optimizers.values()]
        self._checks += [o.holds for o in self._optimizers]
        own = [t for o in capture.optimizers.values() for t in o._hooks.values()]
        self._precision = get_float32_matmul_precision()
        self._hook_tables = [(table, tuple(table)) for table in (*shared_hooks.TABLES, *own)]
        #: Tensors reached by name, and whether they required grad.
        self._tensor_names = [(t, watch.label_of(t)) for t in watch.tensors.values()]
        self._flags = [(t, t.requires_grad) for t in watch.tensors.values()]
        reached = list(watch.tensors.values())
        #: What an in-place operation on what has a history exchanges: compared at each call.
        self._nodes = [(t, t._node) for t in reached if "_node" in t.__dict__]
        #: Most never had a history; asking their dictionaries takes half the time.
        self._without_node_then = [t for t in reached if "_node" not in t.__dict__]
        self._without_node = [t.__dict__ for t in self._without_node_then]
        #: What ``t.t_()`` and ``t.data = …`` exchange; these move ``modes.epoch``.
        self._memories = [(t, t._storage, t._view) for t in reached]
        #: Views have the history of their base.
        self._bases = [(t._base, t._base._history) for t in reached if t._base is not None]
        self._shapes = [(t, t._storage.shape) for t in reached]
        changed = capture.attributes_written
        self._attributes = [
            (owner, name, value) for owner, name, value in capture.attributes.values()
            if (id(owner), name) not in changed
        ]  # fmt: skip
        #: What is only counted up does not matter, whoever does it (an eager call).
        recorded = {(owner, name) for owner, name in changed if watch.only_records(name)}
        names = frozenset(watch.names)
        modules = {**watch.modules, **capture.modules}
        self._modules = [
            (m, skip, known, _plain(m, skip, known))
            for m in modules.values()
            for known in [None if watch.is_whole(m) or _is_by_key(m) else names]
            for skip in [
                rebound_slots.of(m) | {name for owner, name in (bound | recorded) if owner == id(m)}
            ]
        ]

    def holds(self) -> bool:
        """Whether plain Python values are unchanged."""
        for get, name, value in self.names:
            now = get(name, MISSING)
            if now is not value and not same(now, value):
                return False
        for t, node in self._nodes:
            if t._node is not node:
                return False
        for own in self._without_node:
            if "_node" in own and own["_node"] is not None:
                return False
        for base, history in self._bases:
            if base._history != history:
                return False
        for owner, space in self._spaces:
            if owner.__dict__ is not space:
                return False
        for check in self._checks:  # noqa: SIM110 - a generator costs 0.3 µs more
            if not check():
                return False
        return True

    def conditions(self, name: Callable[[Any], str]) -> list[str]:
        """Expressions of which all are True only if ``holds`` is; see `Place.condition`."""
        missing = name(MISSING)
        return [
            *(f"{name(get)}({n!r}, {missing}) is {name(value)}" for get, n, value in self.names),
            *(f"{name(t)}._node is {name(node)}" for t, node in self._nodes),
            *(f"'_node' not in {name(own)}" for own in self._without_node),
            *(f"{name(base)}._history == {history}" for base, history in self._bases),
            *(f"{name(owner)}.__dict__ is {name(space)}" for owner, space in self._spaces),
            *(place.condition(name) for place in (*self._others, *self._tables)),
            *(f"{name(settings.holds)}()" for settings in self._optimizers),
        ]

    def structure_holds(self) -> bool:
        """Whether the modules' attributes, hooks and flags are unchanged."""
        return next(self._structure_differences(), None) is None

    def difference(self) -> str:
        """What changed, in words; "" when nothing did."""
        for place in (*self._labels, *self._others):
            if not place.holds():
                return (
                    f"`{place.label}` changed: {describe(place.before())} → {describe(place.now())}"
                )
        for owner, space in self._spaces:
            if owner.__dict__ is not space:
                return f"the __dict__ of {describe(owner)} was replaced"
        for t, node in (*self._nodes, *((t, None) for t in self._without_node_then)):
            if t._node is not node:
                name = next(name for known, name in self._tensor_names if known is t)
                return f"the history of `{name}` changed"
        if any(base._history != history for base, history in self._bases):
            return "the history of a view's base changed"
        for settings in self._optimizers:
            if not settings.holds():
                return settings.difference()
        return next(self._structure_differences(), "")

    @property
    def size(self) -> int:
        """How many places are compared at each call."""
        return len(self.names) + len(self._checks) + len(self._spaces)

    def storage_names(self) -> dict[int, str]:
        """Names of tensors that were reached: {id(storage): name}."""
        names = {id(t._storage): name for t, name in self._tensor_names}
        for module, *_ in self._modules:
            for table in _TABLES[:2]:
                for name, t in module.__dict__.get(table, {}).items():
                    if t is not None:
                        names.setdefault(id(t._storage), f"{type(module).__name__}.{name}")
        for settings in self._optimizers:
            settings.name_states(names)
        return names

    def labels(self) -> list[str]:
        """The places that are compared at each call, as messages name them."""
        return [p.label for p in (*self._labels, *self._others)]

    def values(self) -> list[str]:
        """What is in the places of ``labels``, in a few words."""
        return [describe(p.before()) for p in (*self._labels, *self._others)]

    def _structure_differences(self) -> Iterator[str]:
        precision = get_float32_matmul_precision()
        if precision != self._precision:
            yield f"the precision of float32 products changed: {self._precision} → {precision}"
        for owner, name, value in self._attributes:
            now = owner.__dict__.get(name)
            if not same(now, value):
                kind = type(owner).__name__
                yield f"`{kind}.{name}` changed: {describe(value)} → {describe(now)}"
        for t, flag in self._flags:
            if t.requires_grad != flag:
                yield f"requires_grad of a {describe(t)} changed: {flag} → {not flag}"
        for t, storage, view in self._memories:
            if t._storage is not storage or t._view is not view:
                name = next(name for known, name in self._tensor_names if known is t)
                yield f"the shape or data of `{name}` changed"
        for t, shape in self._shapes:
            if t._storage.shape != shape:
                yield f"the shape of a {describe(t)} changed: {shape} → {t._storage.shape}"
        for table, ids in self._hook_tables:
            if tuple(table) != ids:
                yield "the hooks on an optimizer's step, or on all modules or steps, changed"
        for module, skip, names, before in self._modules:
            for name in rebound_slots.of(module) - skip:
                yield f"`{type(module).__name__}.{name}` is now bound by a jitted function"
            now = _plain(module, skip, names)
            if now != before:
                name = next(n for n in (*before, *now) if before.get(n) != now.get(n))
                was, became = before.get(name, MISSING), now.get(name, MISSING)
                yield f"`{type(module).__name__}.{name}` changed: {was} → {became}"


class Settings:
    """An optimizer's groups and state tensors: whether its step would still be the same program.

    Numbers that the program asks for anew at each run (a learning rate) may change, but for their
    being zero, which some rules leave out.
    """

    def __init__(self, optimizer: Any, capture: Any) -> None:
        self._optimizer = optimizer
        self._groups = list(optimizer.param_groups)
        self._live = [(g, k) for g in self._groups for k in g if (id(g), k) in capture.host_places]
        self._fixed = [
            (g, k, v) for g in self._groups for k, v in g.items()
            if (id(g), k) not in capture.host_places and k != "params"
        ]  # fmt: skip
        self._zero = [(g, k, _is_zero(g[k])) for g, k in self._live]
        self._params = [(g, tuple(map(id, g["params"]))) for g in self._groups]
        self._kept = [g["params"][:] for g in self._groups]
        self._state = optimizer.state
        #: (whose, what it is, ids of its tensors, the tensors, which keeps the ids theirs).
        self._states = [
            (p, s, tuple(map(id, s.values())), list(s.values())) for p, s in self._state.items()
            if isinstance(s, dict)
        ]  # fmt: skip
        self._n_states = len(self._state)
        self._sizes = [(g, len(g)) for g in self._groups]

    def holds(self) -> bool:
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
            if now is not value and not same(now, value) and not _equal_tuples(now, value):
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

    def difference(self) -> str:
        """What changed, in words."""
        kind = type(self._optimizer).__name__
        for group, name, value in self._fixed:
            now = group.get(name, MISSING)
            if not same(now, value) and not _equal_tuples(now, value):
                return f"`{kind}.{name}` changed: {describe(value)} → {describe(now)}"
        for group, name, zero in self._zero:
            if _is_zero(group[name]) != zero:
                return f"`{kind}.{name}` changed: {'0' if zero else 'nonzero'} → {group[name]}"
        if len(self._optimizer.param_groups) != len(self._groups):
            return f"the parameter groups of {kind} changed"
        return f"the parameters or state of {kind} were replaced"


def _is_zero(value: Any) -> bool:
    return False if isinstance(value, Tensor) else value == 0


def _equal_tuples(a: Any, b: Any) -> bool:
    """Pairs such as ``betas``."""
    return type(a) is tuple and type(b) is tuple and len(a) == len(b) and all(map(same, a, b))


def _is_library_module(value: Any) -> bool:
    if not isinstance(value, types.ModuleType):
        return False
    return is_library(value.__name__, getattr(value, "__file__", None) or "<frozen>")


@functools.lru_cache(maxsize=4096)
def _library_names(cls: type) -> frozenset[str]:
    """Attributes that the library's own code of a module class reads (Linear: in_features …)."""
    found: set[str] = set()
    for base in cls.__mro__:
        if str(base.__module__).partition(".")[0] == "torchlike":
            for value in base.__dict__.values():
                code = getattr(getattr(value, "__wrapped__", value), "__code__", None)
                if code is not None:
                    found.update(code.co_names)
    return frozenset(found)


def _is_of_hooks(name: str, table: Any) -> bool:
    """Whether a module's attribute is a table of hooks."""
    return name.endswith("_hooks") and isinstance(table, dict)


def _is_by_key(module: Any) -> bool:
    """Whether attributes of a module are asked for by keys, which code does not name."""
    return getattr(type(module), "_attributes_by_key", False)


def _plain(module: Any, skip: frozenset[str], names: frozenset[str] | None) -> dict[str, Any]:
    """What a module's graph depends on besides cells: its class, plain values that some code names
    (any of them, where ``names`` is None), and the identities of its tensors, submodules, functions
    and hooks (but for attributes in ``skip``, which the program binds itself)."""
    found: dict[str, Any] = {"__class__": _HeldAs(type(module))}
    named = module.__dict__ if names is None else names | _library_names(type(module))
    for name, value in module.__dict__.items():
        if name in skip:
            continue
        if isinstance(value, _VALUES):
            if name in named and name[:2] != "__":
                found[name] = type(value).__name__, repr(value)
        elif isinstance(value, Tensor):
            found[name] = id(value), value.requires_grad
        elif _is_of_hooks(name, value):
            found[name] = tuple(value), _HeldAs(value)  # ids of handles: never used twice
        elif name == "_non_persistent_buffers_set":
            found[name] = sorted(value)
        elif name == "_keys" and _is_by_key(module):
            found[name] = list(value)
        elif name in named and name not in _TABLES:
            found[name] = "held", _HeldAs(value)
    for table in _TABLES:
        for name, value in module.__dict__.get(table, {}).items():
            if name not in skip:
                flag = value.requires_grad if isinstance(value, Tensor) else None
                found[f"{table}.{name}"] = id(value), flag
    return found


class _HeldAs:
    """A value compared by identity, but for tuples of plain values; kept alive."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _HeldAs):
            return False
        return places.same(self.value, other.value) or _equal_tuples(self.value, other.value)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return describe(self.value)
