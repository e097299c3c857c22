"""``torch.utils._pytree``: nested containers as leaves and a specification, as PyTorch opens them.

Dictionaries keep their order and None is a leaf. `register_pytree_node` adds classes. For JAX's own
trees see ``torchlike.interop``.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from types import UnionType
from typing import Any, NamedTuple

from torchlike._core.size import Size, size_of
from torchlike._ops.reduce.reduction import RETURN_TYPES
from torchlike._runtime import trees
from torchlike.utils import treespec_text
from torchlike.utils.tree_keys import GetAttrKey, MappingKey, SequenceKey
from torchlike.utils.tree_keys import key_get as key_get
from torchlike.utils.tree_keys import keystr as keystr

__all__ = [
    "Context",
    "DumpableContext",
    "FlattenFn",
    "FromDumpableContextFn",
    "LeafSpec",
    "PyTree",
    "PyTreeSpec",
    "ToDumpableContextFn",
    "TreeSpec",
    "UnflattenFn",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "is_structseq",
    "is_structseq_class",
    "is_structseq_instance",
    "key_get",
    "keystr",
    "register_dataclass",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_dumps",
    "treespec_loads",
    "treespec_pprint",
]

PyTree = Any
Context = Any
FlattenFn = Callable[[Any], tuple[list[Any], Any]]
UnflattenFn = Callable[[Iterable[Any], Any], Any]
DumpableContext = Any
ToDumpableContextFn = FromDumpableContextFn = Callable[[Any], Any]
_IsLeaf = Callable[[Any], bool] | None


class _Container(NamedTuple):
    """How to take a container apart, ``(children, context)``, and put it together again.

    ``keys`` names the children, given the container and how many there are; None where nobody said.
    """

    flatten_fn: Callable[[Any], tuple[list[Any], Any]]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]
    keys: Callable[[Any, int], Iterable[Any]] | None = None


def _list_flatten(x: Any) -> tuple[list[Any], Any]:
    return list(x), None


def _list_unflatten(values: Iterable[Any], _: Any) -> list[Any]:
    return list(values)


def _list_flatten_with_keys(x: Any) -> tuple[list[Any], Any]:
    return [(SequenceKey(i), v) for i, v in enumerate(x)], None


def _dict_flatten(d: Any) -> tuple[list[Any], Any]:
    return list(d.values()), list(d)


def _dict_unflatten(values: Iterable[Any], context: Any) -> dict[Any, Any]:
    return dict(zip(context, values, strict=True))


def _dict_flatten_with_keys(d: Any) -> tuple[list[Any], Any]:
    return [(MappingKey(k), v) for k, v in d.items()], list(d)


def _places(_: Any, count: int) -> Iterable[Any]:
    return map(SequenceKey, range(count))


def _mapping_keys(d: Any, _: int) -> Iterable[Any]:
    return map(MappingKey, d)


SUPPORTED_NODES: dict[Any, _Container] = {
    tuple: _Container(lambda t: (list(t), None), lambda c, _: tuple(c), _places),
    list: _Container(_list_flatten, _list_unflatten, _places),
    dict: _Container(_dict_flatten, _dict_unflatten, _mapping_keys),
    OrderedDict: _Container(
        _dict_flatten, lambda c, keys: OrderedDict(zip(keys, c, strict=True)), _mapping_keys
    ),
    defaultdict: _Container(
        lambda d: (list(d.values()), [d.default_factory, list(d)]),
        lambda c, made: defaultdict(made[0], zip(made[1], c, strict=True)),
        _mapping_keys,
    ),
    deque: _Container(
        lambda d: (list(d), d.maxlen), lambda c, most: deque(c, maxlen=most), _places
    ),
    Size: _Container(lambda s: (list(s), None), lambda c, _: size_of(c), _places),
}
SUPPORTED_NODES[namedtuple] = _Container(
    lambda t: (list(t), type(t)), lambda c, kind: kind(*c), lambda t, _: map(GetAttrKey, t._fields)
)
_DICTIONARIES = (dict, OrderedDict, defaultdict)


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[list[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Callable[[Any], tuple[list[Any], Any]] | None = None,
) -> None:
    """Open instances of ``cls`` too, here and where ``torchlike.jit`` meets them.

    Args:
      serialized_type_name: the name by which `treespec_dumps` writes the class.
      to_dumpable_context: gives what JSON can write of a context, which ``from_dumpable_context``
        takes. JSON writes the context itself without them.
      flatten_with_keys_fn: gives ``(key, child)`` pairs in place of the children.

    ValueError when it is registered already, and for one direction of writing without the other.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    treespec_text.set_form(cls, serialized_type_name, to_dumpable_context, from_dumpable_context)
    _keep(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


def _register_namedtuple(cls: type, *, serialized_type_name: str) -> None:
    """Register the name by which `treespec_dumps` writes a class of named tuples."""
    treespec_text.set_form(cls, serialized_type_name, None, None)


class ConstantNode(NamedTuple):
    """The context of an object that is part of a tree's structure."""

    value: Any


#: Classes whose instances have no leaves.
CONSTANT_NODES: set[type] = set()


def register_constant(cls: type) -> None:
    """Make instances of ``cls`` part of a tree's structure: they have no leaves.

    Two structures are equal where the instances are, so TypeError for a class without an ``__eq__``
    of its own, and for one that cannot be hashed.
    """
    for name, lacking in (("__eq__", object.__eq__), ("__hash__", None)):
        if getattr(cls, name) is lacking:
            raise TypeError(
                f"register_constant(cls) expects `cls` to have a non-default `{name}` "
                "implementation."
            )

    def flatten(x: Any) -> tuple[list[Any], Any]:
        return [], ConstantNode(x)

    _keep(cls, flatten, lambda _, context: context.value, flatten)
    CONSTANT_NODES.add(cls)


def is_constant_class(cls: Any) -> bool:
    """Return whether instances of ``cls`` are part of a tree's structure."""
    return isinstance(cls, type) and cls in CONSTANT_NODES


def _register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[list[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    to_str_fn: Any = None,
    maybe_from_str_fn: Any = None,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Callable[[Any], tuple[list[Any], Any]] | None = None,
) -> None:
    # The older function, which replaces what was registered before.
    warnings.warn(
        "`torch.utils._pytree._register_pytree_node` is deprecated. Please use "
        "`torch.utils._pytree.register_pytree_node` instead.",
        FutureWarning,
        stacklevel=2,
    )
    treespec_text.set_form(cls, serialized_type_name, to_dumpable_context, from_dumpable_context)
    _keep(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


def _keep(cls: type, flatten_fn: Any, unflatten_fn: Any, named: Any) -> None:
    if cls in SUPPORTED_NODES:
        warnings.warn(
            f"{cls} is already registered as pytree node. Overwriting the previous registration.",
            stacklevel=3,
        )
    keys = None if named is None else lambda x, _: [key for key, _ in named(x)[0]]
    SUPPORTED_NODES[cls] = _Container(flatten_fn, unflatten_fn, keys)
    trees.register(cls, flatten_fn, unflatten_fn)


def is_namedtuple(x: Any) -> bool:
    """Return whether ``x`` is an instance of a class made by ``namedtuple``, or such a class."""
    kind = x if isinstance(x, type) else type(x)
    return issubclass(kind, tuple) and isinstance(getattr(kind, "_fields", None), tuple)


is_namedtuple_class = is_namedtuple_instance = is_namedtuple


def is_structseq(x: Any) -> bool:
    """Return whether ``x`` is the result of a function with several (``torch.max``), or its
    class."""
    return (x if isinstance(x, type) else type(x)) in RETURN_TYPES.values()


is_structseq_class = is_structseq_instance = is_structseq


def _get_node_type(tree: Any) -> Any:
    """Return the key of a node in SUPPORTED_NODES: its type, ``namedtuple`` for all named
    tuples."""
    return namedtuple if is_namedtuple(type(tree)) else type(tree)


def _container(x: Any, is_leaf: _IsLeaf) -> _Container | None:
    if is_leaf is not None and is_leaf(x):
        return None
    found = SUPPORTED_NODES.get(type(x))
    return SUPPORTED_NODES.get(_get_node_type(x)) if found is None else found


class TreeSpec:
    """The containers of a tree: the type, its context (keys, …) and the specs of its children.

    ``type`` is None for a leaf.
    """

    __slots__ = ("_children", "context", "num_leaves", "num_nodes", "type")

    def __init__(self, type: Any, context: Any, children_specs: Iterable[TreeSpec]) -> None:
        self.type = type
        self.context = context
        self._children = list(children_specs)
        leaf = type is None
        self.num_nodes = 1 + sum(c.num_nodes for c in self._children)
        self.num_leaves = 1 if leaf else sum(c.num_leaves for c in self._children)

    @property
    def num_children(self) -> int:
        return len(self._children)

    def children(self) -> list[TreeSpec]:
        """Return the specs of the children."""
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        """Return the spec of one child."""
        return self._children[index]

    def is_leaf(self) -> bool:
        """Return whether the tree is a leaf."""
        return self.type is None

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Return the tree with these leaves. Raises ValueError for another number of them."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec "
                f"refers to a pytree that holds {self.num_leaves} items ({self})."
            )
        return self._closed(iter(leaves))

    def _closed(self, leaves: Iterator[Any]) -> Any:
        if self.type is None:
            return next(leaves)
        parts = [c._closed(leaves) for c in self._children]
        return SUPPORTED_NODES[self.type].unflatten_fn(parts, self.context)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """Return what stands in another tree where this one has leaves. Raises ValueError where
        they differ."""
        if self.type is None:
            return [tree]
        kind = _get_node_type(tree)
        both_dictionaries = kind in _DICTIONARIES and self.type in _DICTIONARIES
        if kind is not self.type and not both_dictionaries:
            raise ValueError(f"Node type mismatch; expected {self.type}, but got {kind}.")
        parts, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if both_dictionaries:
            keys = self.context[1] if self.type is defaultdict else self.context
            missing, extra = set(keys) - set(tree), set(tree) - set(keys)
            if missing or extra:
                raise ValueError(
                    "Node keys mismatch"
                    + (f"; missing key(s): {missing}" if missing else "")
                    + (f"; extra key(s): {extra}." if extra else ".")
                )
            parts = [tree[k] for k in keys]
        elif len(parts) != len(self._children):
            raise ValueError(
                f"Node arity mismatch; expected {len(self._children)}, but got {len(parts)}."
            )
        if kind is namedtuple and context is not self.context:
            raise ValueError(
                f"Node context mismatch for node type {kind}; expected {self.context}, but got "
                f"{context}."
            )
        return [
            x for c, part in zip(self._children, parts, strict=True) for x in c.flatten_up_to(part)
        ]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeSpec) and (self.type, self.context, self._children) == (
            other.type,
            other.context,
            other._children,
        )

    def __hash__(self) -> int:
        return hash((self.type, repr(self.context), tuple(self._children)))

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        head = f"TreeSpec({self.type.__name__}, {self.context}, ["
        space = " " * (indent + 2)
        return head + f",\n{space}".join(c.__repr__(indent + 2) for c in self._children) + "])"


class LeafSpec(TreeSpec):
    """The spec of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, ())


PyTreeSpec = TreeSpec


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """Write a spec as JSON, which PyTorch reads as well.

    TypeError for no spec, and for a context that JSON cannot write. NotImplementedError for a class
    registered without ``serialized_type_name``. ValueError for another protocol than 1.
    """
    if not isinstance(treespec, TreeSpec):
        raise _no_spec(treespec)
    return treespec_text.dumps(treespec, protocol)


def treespec_loads(serialized: str) -> TreeSpec:
    """Read a spec that `treespec_dumps` wrote.

    NotImplementedError for a class whose name is not registered. ValueError for another protocol.
    """
    return treespec_text.loads(serialized, TreeSpec, LeafSpec)


class _Star:
    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """Return the tree of a spec as text, with ``*`` for each leaf."""
    return repr(tree_unflatten([_Star() for _ in range(treespec.num_leaves)], treespec))


def _no_spec(x: Any) -> TypeError:
    return TypeError(
        f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(x)}."
    )


def _open(x: Any, is_leaf: _IsLeaf, leaves: list[Any]) -> TreeSpec:
    container = _container(x, is_leaf)
    if container is None:
        leaves.append(x)
        return LeafSpec()
    children, context = container.flatten_fn(x)
    kind = type(x) if type(x) in SUPPORTED_NODES else _get_node_type(x)
    return TreeSpec(kind, context, [_open(c, is_leaf, leaves) for c in children])


def tree_flatten(tree: Any, is_leaf: _IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """Flatten a tree to ``(leaves, spec)``; a node for which ``is_leaf`` is true is not opened."""
    leaves: list[Any] = []
    return leaves, _open(tree, is_leaf, leaves)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """Return the tree of a spec with these leaves. Raises TypeError for something else than a
    spec."""
    if not isinstance(treespec, TreeSpec):
        raise _no_spec(treespec)
    return treespec.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: _IsLeaf = None) -> list[Any]:
    """Return the leaves of a tree."""
    return tree_flatten(tree, is_leaf)[0]


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """Return the leaves of a call's arguments."""
    return tree_leaves((args, kwargs))


def tree_iter(tree: Any, is_leaf: _IsLeaf = None) -> Iterator[Any]:
    """Iterate over the leaves of a tree."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: _IsLeaf = None) -> TreeSpec:
    """Return the spec of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_is_leaf(tree: Any, is_leaf: _IsLeaf = None) -> bool:
    """Return whether a tree is a leaf."""
    return _container(tree, is_leaf) is None


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: _IsLeaf = None) -> Any:
    """Apply ``func`` to each leaf (and what ``rests`` have in its place) and return the tree of the
    results."""
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(spec.flatten_up_to(r) for r in rests)]
    return spec.unflatten([func(*row) for row in zip(*columns, strict=True)])


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: _IsLeaf = None) -> Any:
    """Call ``func`` on each leaf for its effect; gives the tree."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _chooses(only: Any) -> Callable[[Any], Any]:
    if isinstance(only, (type, tuple, UnionType)):
        return lambda x: isinstance(x, only)
    return only


def tree_map_only(
    only: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: _IsLeaf = None
) -> Any:
    """Apply `tree_map` to the leaves of a type (or types, or for which a predicate holds)."""
    chosen = _chooses(only)
    return tree_map(lambda x: func(x) if chosen(x) else x, tree, is_leaf=is_leaf)


def tree_map_only_(
    only: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: _IsLeaf = None
) -> Any:
    """Apply `tree_map_` to the leaves that `tree_map_only` chooses."""
    tree_map_only(only, func, tree, is_leaf)
    return tree


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: _IsLeaf = None) -> bool:
    """Return whether ``pred`` holds for every leaf."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: _IsLeaf = None) -> bool:
    """Return whether ``pred`` holds for any leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(
    only: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: _IsLeaf = None
) -> bool:
    """Return whether ``pred`` holds for every leaf of a type."""
    chosen = _chooses(only)
    return all(pred(x) for x in tree_leaves(tree, is_leaf) if chosen(x))


def tree_any_only(
    only: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: _IsLeaf = None
) -> bool:
    """Return whether ``pred`` holds for any leaf of a type."""
    chosen = _chooses(only)
    return any(pred(x) for x in tree_leaves(tree, is_leaf) if chosen(x))


def _broadcast_to_and_flatten(
    tree: Any, treespec: TreeSpec, is_leaf: _IsLeaf = None
) -> list[Any] | None:
    """Return the value of a tree for each leaf of a spec, a leaf of the tree for all leaves below
    its place; None where the two do not match."""
    found: list[Any] = []
    return found if _spread(tree, treespec, is_leaf, found) else None


def _spread(tree: Any, spec: TreeSpec, is_leaf: _IsLeaf, found: list[Any]) -> bool:
    container = _container(tree, is_leaf)
    if container is None:
        found += [tree] * spec.num_leaves
        return True
    kind = _get_node_type(tree)
    both_dictionaries = kind in _DICTIONARIES and spec.type in _DICTIONARIES
    if kind is not spec.type and not both_dictionaries:
        return False
    parts, context = container.flatten_fn(tree)
    if kind is namedtuple and context is not spec.context:
        return False
    if both_dictionaries:
        keys = spec.context[1] if spec.type is defaultdict else spec.context
        if set(keys) != set(tree):
            return False
        parts = [tree[k] for k in keys]
    return len(parts) == spec.num_children and all(
        _spread(part, child, is_leaf, found)
        for part, child in zip(parts, spec.children(), strict=True)
    )


def tree_flatten_with_path(
    tree: Any, is_leaf: _IsLeaf = None
) -> tuple[list[tuple[tuple[Any, ...], Any]], TreeSpec]:
    """Flatten a tree as ``tree_flatten`` does, with each leaf as ``(keys, leaf)``; `keystr` writes
    the keys as a path.

    ValueError for a class that was registered without ``flatten_with_keys_fn``.
    """
    return list(_with_paths((), tree, is_leaf)), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree: Any, is_leaf: _IsLeaf = None) -> list[tuple[tuple[Any, ...], Any]]:
    """Return the leaves of a tree, each as ``(keys, leaf)``."""
    return list(_with_paths((), tree, is_leaf))


def tree_map_with_path(
    func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: _IsLeaf = None
) -> Any:
    """Apply `tree_map` with the keys of each leaf as ``func``'s first argument."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    others = (
        zip(*(spec.flatten_up_to(r) for r in rests), strict=True) if rests else [()] * len(found)
    )
    return spec.unflatten([func(*place, *row) for place, row in zip(found, others, strict=True)])


def _with_paths(
    path: tuple[Any, ...], x: Any, is_leaf: _IsLeaf
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    container = _container(x, is_leaf)
    if container is None:
        yield path, x
        return
    if container.keys is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {type(x)}. Please pass a "
            "flatten_with_keys_fn argument to register_pytree_node."
        )
    parts = container.flatten_fn(x)[0]
    for key, part in zip(container.keys(x, len(parts)), parts, strict=True):
        yield from _with_paths((*path, key), part, is_leaf)


def register_dataclass(
    cls: type,
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Open instances of a dataclass, whose fields are the children.

    Args:
      field_names: which fields; all of them by default.
      drop_field_names: fields that are lost; these must have defaults.

    ValueError for what is no dataclass, and for names that are no fields.
    """
    if not dataclasses.is_dataclass(cls):
        raise ValueError(f"Only dataclasses can be registered with this function: {cls}")
    own = [f.name for f in dataclasses.fields(cls)]
    dropped = set(drop_field_names or ())
    names = [n for n in own if n not in dropped] if field_names is None else list(field_names)
    if set(names) | dropped != set(own) and field_names is not None:
        raise ValueError(f"field_names {names} are not the fields of {cls}, which are {own}")

    def flatten(x: Any) -> tuple[list[Any], Any]:
        return [getattr(x, n) for n in names], names

    def flatten_with_keys(x: Any) -> tuple[list[Any], Any]:
        return [(GetAttrKey(n), getattr(x, n)) for n in names], names

    kind: Any = cls
    register_pytree_node(
        cls,
        flatten,
        lambda values, context: kind(**dict(zip(context, values, strict=True))),
        serialized_type_name=serialized_type_name or f"{cls.__module__}.{cls.__qualname__}",
        flatten_with_keys_fn=flatten_with_keys,
    )
