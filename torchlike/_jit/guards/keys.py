"""Makes hashable keys of a call's arguments, which choose the programs that may fit."""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import types
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

import numpy as np

from torchlike._core import devices
from torchlike._core.size import Size
from torchlike._jit.guards.sources import hooks_of
from torchlike._runtime.trees import leaf_counts, parts_of
from torchlike.tensor import FIELDS, Tensor

#: Values that cannot change, compared by value.
BY_VALUE = frozenset((int, bool, str, bytes, type(None), type(...), Size, devices.device))


class ObjectKey:
    """An argument that is what it is: an object, compared by identity and kept alive.

    Not by its ``__eq__``: two objects may call themselves equal and hold different numbers.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return type(other) is ObjectKey and other.value is self.value

    def __repr__(self) -> str:
        return f"{type(self.value).__name__} object at {id(self.value):#x}"


class NoKey(TypeError):
    """An argument that no key describes: a NumPy array, whose numbers may change, or a list that
    is nested too deeply."""


def static_key(leaf: Any) -> Any:
    """Return the key of an argument that is no tensor; raise `NoKey` for a NumPy array."""
    kind = type(leaf)
    if kind in BY_VALUE:
        return kind, leaf
    if kind is float:
        return kind, leaf.hex()  # 0.0 is not -0.0, and NaN is NaN
    if kind is complex:
        return kind, repr(leaf)
    # {1} equals {True}, and code may go through a set in its order; tuples are in sets.
    if kind is frozenset or kind is tuple:
        return kind, tuple(map(static_key, leaf))
    if kind is range:  # two are equal that give the same numbers, whatever their ends
        return kind, leaf.start, leaf.stop, leaf.step
    if kind is slice:
        return kind, static_key(leaf.start), static_key(leaf.stop), static_key(leaf.step)
    if isinstance(leaf, np.generic):
        return kind, leaf.dtype, leaf.tobytes()
    if isinstance(leaf, np.ndarray):
        raise NoKey(
            "a NumPy array was passed to a jitted function, where it would be frozen: pass "
            "torchlike.from_numpy(array)"
        )
    if kind is types.MethodType:
        return kind, ObjectKey(leaf.__self__), ObjectKey(leaf.__func__)
    if kind is functools.partial:
        names = tuple(leaf.keywords)
        parts = [static_key(v) for v in (*leaf.args, *leaf.keywords.values())]
        return kind, static_key(leaf.func), names, tuple(parts)
    if isinstance(leaf, (int, float, str, bytes)):  # subclasses: an enum's members, np.str_
        is_own = hasattr(kind, "__members__") or bool(getattr(leaf, "__dict__", None))
        return kind, ObjectKey(leaf) if is_own else (kind, repr(leaf))
    return ObjectKey(leaf)


# -------------------------------------------------------------------------------------------------
# Signatures of tensors: what of one chooses the program, among the arguments or in a slot.


#: The signature of a tensor that has nothing but a storage on the device, in the usual order.
#: Before these come shape and dtype, and behind the fourth which earlier tensor it shares memory
#: with.
PLAIN = None, None, False, True, Tensor, (), None
#: How many parts a signature has.
_PARTS = len(PLAIN) + 3
#: Where the memory stands among them.
_ALIAS = 6
#: The fields of a tensor that has no history, hooks, base or attributes of its user's.
_STORED = frozenset(("_storage", "_view"))
#: And those of a view that may have the history of its base.
_VIEWED = _STORED | {"_base", "_made_by"}


def signature(t: Tensor, first: dict[int, int]) -> tuple[Any, ...]:
    """Return the parts of a tensor on which a program depends, and which earlier tensor it shares
    memory with."""
    storage = t._storage
    alias = first.setdefault(id(storage), len(first))
    view = t._view
    chain = None if view is None else (view.steps, view.dynamic)
    own = t._whole_dict
    if len(own) == 1 and storage.host is None:  # as most are: nothing but a storage
        array = storage.cell
        return (
            array.shape,
            array.dtype,
            storage.strides,
            None,
            False,
            True,
            alias,
            type(t),
            (),
            None,
        )
    if own.keys() <= _STORED:
        return (
            storage.shape,
            storage.dtype,
            storage.strides,
            chain,
            False,
            True,
            alias,
            type(t),
            (),
            None,
        )
    users = (
        ()
        if own.keys() <= FIELDS
        else tuple([(k, static_key(v)) for k, v in own.items() if k not in FIELDS])
    )
    if t._inference:  # x.is_inference() is a bool to Python
        users += (("is_inference()", True),)
    return (
        storage.shape,
        storage.dtype,
        storage.strides,
        chain,
        t.requires_grad,
        t._node is None,
        alias,
        type(t),
        users,
        None if t._hooks is None else hooks_of(t),
    )


def of_other_memory(signature: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the signature of such a tensor that shares memory with no earlier one."""
    return (*signature[:_ALIAS], 0, *signature[_ALIAS + 1 :])


def without_sizes(key: tuple[Any, ...], first: int) -> tuple[Any, ...]:
    """Return the key of a call, whose leaves begin at ``first``, as all calls have it that differ
    from it in sizes alone. (So do the strides and views of tensors.)"""
    return (*key[:first], *map(_without_sizes, key[first:]))


def without_objects(key: tuple[Any, ...], first: int) -> tuple[Any, ...]:
    """Return the key of a call, whose leaves begin at ``first``, as all calls have it that differ
    from it in which objects are given alone: other ones of the same classes. Modules and classes
    are not made for one call, and stay."""
    return (*key[:first], *map(_without_object, key[first:]))


def _without_object(leaf: Any) -> Any:
    if not isinstance(leaf, ObjectKey) or isinstance(leaf.value, type):
        return leaf
    is_module = "_parameters" in getattr(leaf.value, "__dict__", ())
    return leaf if is_module else ("object of", type(leaf.value))


def _without_sizes(leaf: Any) -> Any:
    if type(leaf) is tuple and len(leaf) == _PARTS:
        shape, dtype, _, chain, *rest = leaf
        return len(shape), dtype, chain is None, *rest
    return leaf


def is_plain(tensor: str, local: str, shape: Any, dtype: Any, name: Callable[[Any], str]) -> str:
    """Return source that is true only of a tensor whose signature is `PLAIN`, of this shape and
    dtype.

    It calls the tensor, its storage and its array ``t{local}``, ``s{local}`` and ``a{local}``.
    """
    t, s, a = (f"{letter}{local}" for letter in "tsa")
    return (
        f"type({t} := {tensor}) is {name(Tensor)} and len({t}._whole_dict) == 1"
        f" and ({s} := {t}._storage).host is None and {s}.strides is None"
        f" and ({a} := {s}.cell).shape == {name(shape)} and {a}.dtype is {name(dtype)}"
    )


def is_view_of_data(t: Tensor) -> bool:
    """Return whether a tensor is a view without history, hooks or attributes of its user's."""
    is_view = t._view is not None and t._whole_dict.keys() <= _VIEWED
    return is_view and not t.requires_grad and t._node is None


def of_view(tensor: str, local: str, signature: tuple[Any, ...], name: Callable[[Any], str]) -> str:
    """Return source that is true only of a view of data that has this signature, whatever other
    tensor shares its memory. It calls the tensor and its storage as `is_plain` does."""
    t, s, v = (f"{letter}{local}" for letter in "tsv")
    shape, dtype, strides, (steps, dynamic) = signature[: _VIEW + 1]
    begins = "" if dynamic is TRACED else f" and {v}.dynamic == {name(dynamic)}"
    return (
        f"type({t} := {tensor}) is {name(signature[_ALIAS + 1])}"
        f" and ({v} := {t}._view) is not None and {v}.steps == {name(steps)}{begins}"
        f" and {t}._whole_dict.keys() <= {name(_VIEWED)}"
        f" and not {t}.requires_grad and {t}._node is None"
        f" and ({s} := {t}._storage).strides == {name(strides)}"
        f" and {s}.shape == {name(shape)} and {s}.dtype is {name(dtype)}"
    )


def describe_slot(value: Any) -> Any:
    """Return the part of a slot's value on which a program depends. In its place True says that the
    slot is None, False that there is none."""
    if isinstance(value, Tensor):
        return signature(value, {})
    return ObjectKey(value) if isinstance(value, np.ndarray) else ("value", static_key(value))


#: After so many recompilations caused by one number, it is traced.
TRACE_AFTER = 2
#: So with the offset of a view and a string, which cost the program nothing.
TRACE_OTHERS_AFTER = 1
#: A view of data is a batch whose base has so many times its elements.
_BATCHES = 4
#: Stands for a traced number's value in a key, and for the numbers that say where a view begins.
TRACED = "any value"
#: Where in the signature of a tensor its view stands: the steps, and their numbers.
_VIEW = 3
_NUMBERS = frozenset((int, float))
#: What may be traced where it changes: numbers as inputs, strings where nothing reads them.
_TRACEABLE = _NUMBERS | {str}


class Numbers:
    """The numbers among one function's arguments, by structure of the call and leaf.

    A number is static at first: the graph is made for its value. When the same argument has made
    the function compile again twice by changing its value, it is traced from then on (see
    ``scalars``); where its value turns out to be needed in Python it stays static for good.

    So it is with the offset of a view in its base (the 4 of ``x[:, 4:5]``), once it has changed, or
    at once where the view is a small part of its base, as a batch of a data set is: steps take the
    numbers that indexing gave them as arrays, so one program reads from wherever a view begins. It
    is needed where the program gives out a view on the argument's memory. And so with a string,
    once it has changed: where the body does not read it, the program is for any.
    """

    def __init__(
        self, fn: Callable[..., Any], static_argnums: Any, static_argnames: Any, dynamic: Any
    ) -> None:
        if dynamic not in (None, True, False):
            raise ValueError(f"dynamic must be True, False or None, not {dynamic!r}")
        self.dynamic = dynamic
        try:
            self._parameters = list(inspect.signature(fn).parameters.values())
        except (TypeError, ValueError):
            self._parameters = []
        self._names = frozenset(_strings(static_argnames))
        self._numbers = frozenset(_ints(static_argnums))
        self._check(fn)
        #: Whether a call has to look here before its key is complete.
        self.active = bool(dynamic or self._names or self._numbers)
        self._traced: dict[Any, set[int]] = {}
        self._refused: set[tuple[Any, int]] = set()
        self._changes: dict[tuple[Any, int], int] = {}
        self._static: dict[Any, frozenset[int]] = {}
        #: The structures of which the views are known that are traced at once.
        self._looked_at: set[Any] = set()

    def _check(self, fn: Any) -> None:
        """Raise ValueError where a static argument is named that the function does not have."""
        if not self._parameters:
            return
        name = getattr(fn, "__qualname__", type(fn).__name__)
        names = {p.name for p in self._parameters}
        takes_any = {p.kind for p in self._parameters}
        for unknown in self._names - names:
            if inspect.Parameter.VAR_KEYWORD not in takes_any:
                raise ValueError(f"static_argnames: {name}() has no argument '{unknown}'")
        for i in self._numbers:
            if not -len(names) <= i < len(names) and (
                inspect.Parameter.VAR_POSITIONAL not in takes_any
            ):
                raise ValueError(f"static_argnums: {name}() has no argument {i}")

    def rewrite(self, key: list[Any], first: int, leaves: Sequence[Any], structure: Any) -> Any:
        """Take traced numbers' values out of a key whose leaves begin at ``first``.

        Returns which leaves are traced. TypeError for a tensor in a static argument's place.
        """
        static = self._static_leaves(structure)
        for i in static:
            if isinstance(leaves[i], Tensor):
                raise TypeError(
                    f"argument {i} was declared static and is a tensor: static arguments are plain "
                    "Python values, which the graph is compiled for"
                )
        marked = self._traced.get(structure, ())
        wanted: Iterable[int] = range(len(leaves)) if self.dynamic else marked
        traced = [
            i
            for i in wanted
            if type(leaves[i]) in _NUMBERS
            and i not in static
            and (structure, i) not in self._refused
        ]
        for i in traced:
            key[first + i] = (type(leaves[i]), TRACED)
        for i in marked:
            if isinstance(leaves[i], Tensor) and leaves[i]._view is not None:
                key[first + i] = with_offset(key[first + i], TRACED)
                traced.append(i)
            elif type(leaves[i]) is str:
                key[first + i] = str, TRACED
                traced.append(i)
        return traced

    def expect_batches(self, leaves: Sequence[Any], structure: Any) -> bool:
        """Trace from now on where views begin that are small parts of their bases. Return whether a
        call of a structure that is new has such views."""
        if self.dynamic is False or structure in self._looked_at:
            return False
        self._looked_at.add(structure)
        found = {i for i, x in enumerate(leaves) if isinstance(x, Tensor) and _is_batch(x)}
        if found:
            self._traced.setdefault(structure, set()).update(found)
            self.active = True
        return bool(found)

    def changed(self, old: Any, new: Any, first: int) -> None:
        """Count a recompilation for each number, or offset of a view, where their values are all
        that changed."""
        if self.dynamic is False or len(old) != len(new) or old[:first] != new[:first]:
            return
        at = [i for i, (a, b) in enumerate(zip(old[first:], new[first:], strict=True)) if a != b]
        structure = new[0]
        moved = {i for i in at if _is_moved(old[first + i], new[first + i])}
        for i in at:
            if i in moved:
                continue
            a, b = old[first + i], new[first + i]
            kinds = {x[0] if isinstance(x, tuple) and len(x) == 2 else None for x in (a, b)}
            if len(kinds) > 1 or not kinds <= _TRACEABLE:
                return
        static = self._static_leaves(structure)
        for i in at:
            where = structure, i
            self._changes[where] = self._changes.get(where, 0) + 1
            is_number = i not in moved and old[first + i][0] is not str
            after = TRACE_AFTER if is_number else TRACE_OTHERS_AFTER
            if self._changes[where] >= after and where not in self._refused | static:
                self._traced.setdefault(structure, set()).add(i)
                self.active = True

    def refuse(self, structure: Any, positions: Iterable[int]) -> None:
        """Note that the values of these leaves are needed in Python, and trace them no more."""
        for i in positions:
            self._refused.add((structure, i))
            self._traced.get(structure, set()).discard(i)

    def is_needed(self, structure: Any, leaf: int) -> bool:
        """Return whether the value of a number among the arguments was found to be needed in
        Python."""
        return (structure, leaf) in self._refused

    def _static_leaves(self, structure: Any) -> frozenset[int]:
        """Return the leaves that belong to arguments declared static."""
        if not (self._names or self._numbers):
            return frozenset()
        found = self._static.get(structure)
        if found is None:
            n_positional, names, counts = leaf_counts(structure)
            static, at = set(), 0
            for j, count in enumerate(counts):
                name = self._parameter(j) if j < n_positional else names[j - n_positional]
                if name in self._names or self._index(j, n_positional, name) in self._indices():
                    static |= set(range(at, at + count))
                at += count
            found = self._static[structure] = frozenset(static)
        return found

    def _parameter(self, i: int) -> str:
        return self._parameters[i].name if i < len(self._parameters) else ""

    def _index(self, j: int, n_positional: int, name: str) -> int:
        if j < n_positional:
            return j
        return next((k for k, p in enumerate(self._parameters) if p.name == name), -1)

    def _indices(self) -> frozenset[int]:
        n = len(self._parameters)
        return frozenset(i + n if i < 0 else i for i in self._numbers)


class Opened:
    """The classes of which objects among one function's arguments are taken apart, as lists and
    dictionaries are: those of which each call may be given another one (a cache, a batch). All
    others are arguments as themselves."""

    def __init__(self) -> None:
        self.classes: frozenset[type] = frozenset()
        self._refused: set[type] = set()

    def refuse(self) -> bool:
        """Take no more objects of these classes apart; return whether any were."""
        self._refused |= self.classes
        found, self.classes = bool(self.classes), frozenset()
        return found

    def add_changed(self, leaves: Iterable[Any], changed: Container[int]) -> bool:
        """Take apart the objects, and those that lead to them, of which the ids are ``changed``.
        Return whether there are new classes."""
        found: set[type] = set()
        seen: set[int] = set()

        def leads(x: Any) -> bool:
            parts = parts_of(x)
            if id(x) in seen or not parts:
                return False
            seen.add(id(x))
            below = [leads(y) for y in parts.values()]  # all of them
            if not any(below) and id(x) not in changed:
                return False
            if not isinstance(x, (list, dict, tuple)):
                found.add(type(x))
            return True

        with contextlib.suppress(RecursionError):  # too deep to be taken apart
            for leaf in leaves:
                leads(leaf)
            return self._add(found)
        return False

    def watch(self, leaves: Sequence[Any]) -> Callable[[], bool]:
        """Look at the objects among the arguments of a call that is to run eagerly; return what
        takes those apart, once it has run, that have attributes then which were missing or None, or
        lists that were empty, and says whether any holds a tensor of another shape."""
        before: dict[int, tuple[Any, dict[Any, Any]]] = {}

        def look(x: Any) -> None:
            if id(x) not in before and not isinstance(x, Tensor):
                before[id(x)] = x, _state(x)
                for part in parts_of(x).values():
                    look(part)

        def look_again() -> bool:
            made, grows = set(), False
            for i, (x, had) in before.items():
                now = _state(x)
                if now.keys() - had.keys():
                    made.add(i)
                grows |= any(k in now and now[k] != shape for k, shape in had.items())
            if made:
                self.add_changed(leaves, made)
            return grows

        with contextlib.suppress(RecursionError):  # too deep to be taken apart
            for x in (*leaves, *getattr(leaves, "containers", ())):
                look(x)
        return look_again

    def add_other(self, old: Iterable[Any], new: Iterable[Any]) -> bool:
        """Take apart the objects that are not the same in the keys of two calls that are alike but
        for them. Return whether there are new classes."""
        found: set[type] = set()
        seen: set[int] = set()

        def compare(a: Any, b: Any) -> None:
            parts = parts_of(b)
            if a is b or type(a) is not type(b) or id(b) in seen or not parts:
                return
            seen.add(id(b))
            if not isinstance(b, (list, dict, tuple)):
                found.add(type(b))
            before = parts_of(a)
            for name, x in parts.items():
                compare(before.get(name), x)

        with contextlib.suppress(RecursionError):
            for a, b in zip(old, new, strict=True):
                if isinstance(a, ObjectKey) and isinstance(b, ObjectKey):
                    compare(a.value, b.value)
            return self._add(found)
        return False

    def _add(self, found: set[type]) -> bool:
        new = found - self.classes
        if not new or not new.isdisjoint(self._refused):
            return False
        self.classes |= new
        return True


def _state(x: Any) -> dict[Any, Any]:
    """Return the names of an object's attributes that are not None, and the shapes of those that
    are tensors; of a list whether it has elements."""
    if isinstance(x, list):
        return {True: None} if x else {}
    if isinstance(x, (dict, tuple)):
        return {}
    held = parts_of(x).items()
    return {k: v.shape if isinstance(v, Tensor) else None for k, v in held if v is not None}


def _is_batch(t: Tensor) -> bool:
    """Return whether a tensor is a small part of data that it is a view of."""
    view = t._view
    if view is None or not view.dynamic or t.requires_grad:
        return False
    return t._storage.size >= _BATCHES * math.prod(view.geometry.size)


def with_offset(signature: Any, offset: Any) -> Any:
    """Return the signature of a tensor whose view has these numbers."""
    steps, _ = signature[_VIEW]
    return (*signature[:_VIEW], (steps, offset), *signature[_VIEW + 1 :])


def is_at_any_offset(signature: Any) -> bool:
    """Return whether a tensor's signature is that of a view wherever it begins."""
    chain = signature[_VIEW]
    return chain is not None and chain[1] is TRACED


def signature_at_any_offset(t: Tensor, first: dict[int, int]) -> Any:
    """Return a tensor's signature; that of a view without the numbers that say where it begins."""
    found = signature(t, first)
    return found if found[_VIEW] is None else with_offset(found, TRACED)


def _is_moved(old: Any, new: Any) -> bool:
    """Return whether two signatures are of one tensor's view at two offsets."""
    if not (isinstance(old, tuple) and isinstance(new, tuple) and len(old) == len(new) > _VIEW + 1):
        return False
    a, b = old[_VIEW], new[_VIEW]
    both = isinstance(a, tuple) and isinstance(b, tuple)
    return both and with_offset(old, None) == with_offset(new, None) and TRACED not in (a[1], b[1])


def _strings(given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    found = (given,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(x, str) for x in found):
        raise TypeError(f"static_argnames must be a string or several, not {given!r}")
    return found


def _ints(given: Any) -> tuple[int, ...]:
    if given is None:
        return ()
    found = (given,) if isinstance(given, int) else tuple(given)
    if not all(isinstance(x, int) and not isinstance(x, bool) for x in found):
        raise TypeError(f"static_argnums must be an int or several, not {given!r}")
    return found
