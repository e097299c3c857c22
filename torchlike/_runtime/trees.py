"""Nested arguments and results as leaves and a structure that can be a dictionary key.

Not jax.tree: that sorts dictionaries by key, so a function that concatenates ``d.values()`` would
see another order than it sees eagerly; and it opens every class somebody registered, so a module
given as an argument would reach the function as a copy. Not ``torch.utils._pytree`` either: its
specifications have no hash, and know nothing of containers that are one object.

Around it stand PyTorch's places (`torchlike.utils._pytree` with its keys and texts,
`torchlike.fx._pytree`), what makes tensors and modules nodes of JAX's trees (`torchlike.interop`),
and two files of names: of leaves in messages (`torchlike.testing.trees`), of entries in checkpoints
(`torchlike.distributed.checkpoint`). `torchlike.serialization.stablehlo.trees` writes a structure
to a file.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import operator
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from torchlike._runtime.homes import home

_LEAF = None
#: What a list or dictionary is in a structure that has it already: with its number among those.
AGAIN = "again"
_OPENED = {tuple, list, dict, OrderedDict, defaultdict}
CHANGEABLE = frozenset((list, dict, OrderedDict, defaultdict))

#: Classes that ``torch.utils._pytree`` was told of: how to take them apart and put them together.
registered: dict[type, tuple[Callable[[Any], tuple[list[Any], Any]], Callable[..., Any]]] = {}


def register(
    cls: type, flatten_fn: Callable[[Any], tuple[list[Any], Any]], unflatten_fn: Callable[..., Any]
) -> None:
    """Have trees open instances of ``cls`` too."""
    registered[cls] = flatten_fn, unflatten_fn
    _OPENED.add(cls)


def flatten(tree: Any, dataclass_too: bool = False) -> tuple[list[Any], Any]:
    """Return the leaves of a tree, and the structure of tuples, lists, dictionaries, named tuples
    and registered classes around them.

    ``dataclass_too`` opens instances of dataclasses as well (results: a new instance is handed out
    at each call, as eager execution would).
    """
    leaves: list[Any] = []
    return leaves, _open(tree, leaves, _Objects(None, {}) if dataclass_too else None, None)


def leaves(tree: Any, kind: type = object) -> list[Any]:
    """Return the leaves of a tree that are of a class."""
    return [x for x in flatten(tree)[0] if isinstance(x, kind)]


def tree_map(function: Callable[..., Any], tree: Any) -> Any:
    """Apply ``function`` to each leaf and return the tree of the results."""
    found, structure = flatten(tree)
    return unflatten(structure, [function(x) for x in found])


def flatten_result(
    tree: Any, own: Callable[[Any], bool], given: dict[int, Any]
) -> tuple[list[Any], Any]:
    """Flatten the result of a function as ``flatten`` does, dataclasses too and plain objects of
    which ``own`` says so. A list or dictionary whose id is in ``given`` is the leaf that stands
    there; any other is one object however often it is reached."""
    leaves: list[Any] = []
    seen: dict[int, int] = {}
    objects = _Objects(own, given)
    structure = _open(tree, leaves, objects, seen)
    return leaves, _Sharing(structure) if objects.shared else structure


def flatten_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any]:
    """Flatten ``(args, kwargs)`` as ``flatten`` does, quickly where no argument is a container."""
    leaves = [*args, *kwargs.values()] if kwargs else list(args)
    for leaf in leaves:
        kind = type(leaf)
        if kind in _OPENED or isinstance(leaf, tuple):
            return flatten((args, kwargs))
    return leaves, (len(args), tuple(kwargs))


class Leaves(list[Any]):
    """The leaves of a call, and the lists, dictionaries and objects around them, each once, in the
    order in which their numbers in the structure count them."""

    __slots__ = ("containers",)

    def __init__(self) -> None:
        self.containers: list[Any] = []


def flatten_arguments(
    args: tuple[Any, ...], kwargs: dict[str, Any], opened: Collection[type] = ()
) -> tuple[list[Any], Any]:
    """Flatten a call as ``flatten_call`` does, with a structure that also says which lists and
    dictionaries are one. Instances of the plain classes ``opened`` are taken apart as dictionaries
    of their attributes are."""
    leaves = [*args, *kwargs.values()] if kwargs else list(args)
    kinds = _OPENED.union(opened) if opened else _OPENED
    for leaf in leaves:
        if type(leaf) in kinds or isinstance(leaf, tuple):
            found = Leaves()
            seen = _Seen(opened, kinds, found.containers)
            return found, _open((args, kwargs), found, None, seen)
    return leaves, (len(args), tuple(kwargs))


def unflatten_call(
    structure: Any, leaves: list[Any], made: Made | None = None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments again from the result of ``flatten_call``; tell ``made`` of the
    containers that they are nested in."""
    if type(structure[0]) is int:
        n, names = structure
        return tuple(leaves[:n]), dict(zip(names, leaves[n:], strict=True))
    return _close(structure, iter(leaves), Made() if made is None else made)


def _open(
    x: Any, leaves: list[Any], objects: _Objects | None, seen: dict[int, int] | None
) -> tuple[Any, ...] | None:
    kind = type(x)
    if objects is not None and id(x) in objects.given:
        leaves.append(objects.given[id(x)])
        return _LEAF
    if kind is tuple:
        return kind, _open_all(x, leaves, objects, seen)
    is_given = type(seen) is _Seen and kind in seen.classes
    if seen is not None and (is_given or kind in CHANGEABLE):
        n = len(seen)
        number = seen.setdefault(id(x), n)
        if number != n:
            if objects is not None:
                objects.shared = True
            return AGAIN, number, ()
        if type(seen) is _Seen:
            seen.containers.append(x)
    if is_given:
        space = vars(x)
        return _GivenObject(kind), tuple(space), _open_all(space.values(), leaves, objects, seen)
    if kind is list:
        return kind, _open_all(x, leaves, objects, seen)
    if kind is dict or kind is OrderedDict or kind is defaultdict:
        made = x.default_factory if kind is defaultdict else None
        keys = tuple(x) if _TEXT.issuperset(map(type, x)) else _Keys(x)
        return kind, keys, made, _open_all(x.values(), leaves, objects, seen)
    if isinstance(x, tuple) and hasattr(kind, "_fields"):
        return kind, _open_all(x, leaves, objects, seen)
    if kind in registered:
        children, context = registered[kind][0](x)
        parts = _open_all(children, leaves, objects, seen)
        return _Registered(kind, context), parts
    if objects is not None and not isinstance(x, type):
        if dataclasses.is_dataclass(x):
            names = tuple(f.name for f in dataclasses.fields(x) if hasattr(x, f.name))
            parts = _open_all([getattr(x, n) for n in names], leaves, objects, seen)
            return _Instance(x), names, parts
        if objects.opens(x):
            space = vars(x)
            parts = _open_all(space.values(), leaves, objects, seen)
            return _PlainObject(kind), tuple(space), parts
    leaves.append(x)
    return _LEAF


def _open_all(
    xs: Iterable[Any], leaves: list[Any], objects: _Objects | None, seen: dict[int, int] | None
) -> tuple[Any, ...]:
    if objects is not None:
        return tuple([_open(x, leaves, objects, seen) for x in xs])
    parts: list[Any] = []
    opened = seen.opened if type(seen) is _Seen else _OPENED
    for x in xs:
        if type(x) in opened or isinstance(x, tuple):
            parts.append(_open(x, leaves, None, seen))
        else:  # most are: without a call it takes half the time
            leaves.append(x)
            parts.append(_LEAF)
    return tuple(parts)


class _Keys(tuple[Any, ...]):
    """Keys of a dictionary, told apart where Python calls them equal: 1 is not True."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is _Keys
            and tuple.__eq__(self, other)
            and all(map(operator.is_, map(type, self), map(type, other)))
        )

    __hash__ = tuple.__hash__


_TEXT = frozenset((str,))


class _Registered:
    """A registered class, and what ``unflatten_fn`` needs besides the children."""

    def __init__(self, kind: type, context: Any) -> None:
        self.kind = kind
        self.context = context

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Registered) and (self.kind, self.context) == (
            other.kind,
            other.context,
        )

    def __hash__(self) -> int:
        return hash(self.kind)


class _Sharing:
    """A structure in which a list or dictionary is named again."""

    def __init__(self, structure: Any) -> None:
        self.structure = structure


class Made:
    """What `unflatten_call` nested the leaves in."""

    def __init__(self) -> None:
        #: Lists and dictionaries, by their numbers.
        self.containers: list[Any] = []
        #: Instances of registered classes, each with its children and context.
        self.registered: list[tuple[Any, list[Any], Any]] = []


class _PlainObject:
    """The class of an object that consists of its attributes."""

    def __init__(self, kind: type) -> None:
        self.kind = kind


class _GivenObject(_PlainObject):
    """One that is an argument: there may be others of its form."""

    def __eq__(self, other: object) -> bool:
        return type(other) is _GivenObject and other.kind is self.kind

    def __hash__(self) -> int:
        return hash(self.kind)


def class_of_given(kind: Any) -> type | None:
    """Return the class of an argument that was taken apart, by what stands for it in a structure;
    None for what stands for something else."""
    return kind.kind if type(kind) is _GivenObject else None


class _Seen(dict[int, int]):
    """The numbers of the containers that were met among the arguments, by their ids, and which
    objects are taken apart: those of some ``classes``."""

    __slots__ = ("classes", "containers", "opened")

    def __init__(self, classes: Collection[type], opened: set[type], containers: list[Any]) -> None:
        self.classes, self.opened, self.containers = classes, opened, containers


class _Objects:
    """Which objects of a result are opened besides containers: those that a function made, once
    each (a second reference to one, or a circle, could not be told from another object)."""

    def __init__(self, own: Callable[[Any], bool] | None, given: dict[int, Any]) -> None:
        self._own = own
        #: Leaves that stand for lists and dictionaries, by the ids of those.
        self.given = given
        #: Whether a list or dictionary was reached twice.
        self.shared = False
        self._seen: set[int] = set()

    def opens(self, x: Any) -> bool:
        if self._own is None or not is_plain_class(type(x)) or id(x) in self._seen:
            return False
        self._seen.add(id(x))
        return self._own(x)


@functools.lru_cache(maxsize=4096)
def is_plain_class(kind: type) -> bool:
    """Return whether a class's instances are made by Python code and consist of their attributes
    alone."""
    return (
        bool(kind.__flags__ & _HEAP)
        and kind.__dictoffset__ != 0
        and kind.__new__ is object.__new__
        and not any(base.__dict__.get("__slots__") for base in kind.__mro__)
        and kind.__reduce_ex__ is object.__reduce_ex__
        and kind.__reduce__ is object.__reduce__
        and kind.__getstate__ is object.__getstate__
        and not any(hasattr(kind, n) for n in _OWN_WAYS)
        and home(kind).partition(".")[0] not in ("torchlike", "jax", "jaxlib", "builtins")
    )


#: Objects of more parts are not looked into.
_MOST_PARTS = 200


def parts_of(x: Any) -> dict[Any, Any]:
    """Return what a container, or an object of a plain class, consists of, by its keys or names;
    nothing of what does something (modules, functions, iterators) and of what has too much."""
    if isinstance(x, dict):
        parts = x
    elif isinstance(x, (list, tuple)):
        parts = dict(enumerate(x))
    elif is_plain_class(type(x)) and not callable(x) and not hasattr(x, "__next__"):
        parts = vars(x)
    else:
        return {}
    return parts if len(parts) <= _MOST_PARTS else {}


#: Methods by which a class says that it is more than its attributes.
_OWN_WAYS = ("__setstate__", "__copy__", "__deepcopy__", "__del__")


#: CPython's Py_TPFLAGS_HEAPTYPE: a class that a class statement made.
_HEAP = 1 << 9


class _Instance:
    """The dataclass instance that a result is a copy of."""

    def __init__(self, example: Any) -> None:
        self.example = copy.copy(example)

    def forget(self, names: tuple[str, ...]) -> None:
        """Keep no field: they hold what was there while the graph was captured."""
        for name in names:
            object.__setattr__(self.example, name, None)


def unflatten(structure: Any, leaves: Any) -> Any:
    """Rebuild a tree from its structure, with other leaves."""
    if type(structure) is _Sharing:
        return _close(structure.structure, iter(leaves), Made())
    return _close(structure, iter(leaves), None)


def _close(structure: Any, leaves: Iterator[Any], made_of: Made | None) -> Any:
    if structure is _LEAF:
        return next(leaves)
    kind = structure[0]
    if made_of is not None:
        if kind is AGAIN:
            return made_of.containers[structure[1]]
        if kind in CHANGEABLE or type(kind) is _GivenObject:
            return _closed_container(structure, leaves, made_of)
    parts = [_close(s, leaves, made_of) for s in structure[-1]]
    if isinstance(kind, _Instance):
        made = copy.copy(kind.example)
        for name, value in zip(structure[1], parts, strict=True):
            object.__setattr__(made, name, value)
        return made
    if isinstance(kind, _Registered):
        found = registered[kind.kind][1](parts, kind.context)
        if made_of is not None:
            made_of.registered.append((found, parts, kind.context))
        return found
    if isinstance(kind, _PlainObject):
        plain = object.__new__(kind.kind)
        plain.__dict__.update(zip(structure[1], parts, strict=True))
        return plain
    if kind is tuple or kind is list:
        return kind(parts)
    if len(structure) == 4:
        made = defaultdict(structure[2]) if kind is defaultdict else kind()
        made.update(zip(structure[1], parts, strict=True))
        return made
    return kind._make(parts)


def _closed_container(structure: Any, leaves: Iterator[Any], made_of: Made) -> Any:
    """Rebuild a list or dictionary, which is known before its elements are: one may be itself."""
    kind = structure[0]
    if type(kind) is _GivenObject:
        made: Any = object.__new__(kind.kind)
    else:
        made = defaultdict(structure[2]) if kind is defaultdict else kind()
    made_of.containers.append(made)
    if kind is list:
        for s in structure[-1]:
            made.append(_close(s, leaves, made_of))
        return made
    entries = vars(made) if type(kind) is _GivenObject else made
    for key, s in zip(structure[1], structure[-1], strict=True):
        entries[key] = _close(s, leaves, made_of)
    return made


def forget_examples(structure: Any) -> None:
    """Let go of the values inside dataclass instances of a result's structure."""
    if type(structure) is _Sharing:
        structure = structure.structure
    if structure is _LEAF:
        return
    if isinstance(structure[0], _Instance):
        structure[0].forget(structure[1])
    for part in structure[-1]:
        forget_examples(part)


def split_call(structure: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the structure of each positional argument and of each keyword's, of a call's
    structure."""
    if type(structure[0]) is int:
        n, names = structure
        return (_LEAF,) * n, dict.fromkeys(names, _LEAF)
    positional, keywords = structure[-1]
    return positional[-1], dict(zip(keywords[1], keywords[-1], strict=True))


def leaf_counts(structure: Any) -> tuple[int, tuple[str, ...], list[int]]:
    """Return, of a call's structure, how many positional arguments there are, the names of the
    others, and how many leaves each argument has."""
    positional, keywords = split_call(structure)
    counts = [count_leaves(s) for s in (*positional, *keywords.values())]
    return len(positional), tuple(keywords), counts


def count_leaves(structure: Any) -> int:
    """Return how many leaves a structure has."""
    return 1 if structure is _LEAF else sum(map(count_leaves, structure[-1]))


def describe(structure: Any) -> str:
    """Describe a structure in words: ``tuple(*, dict(a=*))``."""
    if structure is _LEAF:
        return "*"
    parts = [describe(s) for s in structure[-1]]
    if len(structure) == 4:
        parts = [f"{key}={part}" for key, part in zip(structure[1], parts, strict=True)]
    kind = getattr(structure[0], "kind", structure[0])  # of a registered class, with its context
    return f"{kind.__name__}({', '.join(parts)})"
