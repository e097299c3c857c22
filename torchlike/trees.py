"""Nested arguments and results as leaves and a structure that can be a dictionary key.

Not jax.tree: that sorts dictionaries by key, so a function that concatenates ``d.values()`` would
see another order than it sees eagerly; and it opens every class somebody registered, so a module
given as an argument would reach the function as a copy.
"""

from __future__ import annotations

import copy
import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from typing import Any

_LEAF = None
_OPENED = frozenset((tuple, list, dict, OrderedDict, defaultdict))


def flatten(tree: Any, dataclass_too: bool = False) -> tuple[list[Any], Any]:
    """Leaves, and the structure of tuples, lists, dictionaries and named tuples around them.

    ``dataclass_too`` opens instances of dataclasses as well (results: a new instance is handed out
    at each call, as eager execution would).
    """
    leaves: list[Any] = []
    return leaves, _open(tree, leaves, dataclass_too)


def flatten_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any]:
    """``flatten((args, kwargs))``, quickly where no argument is a container."""
    leaves = [*args, *kwargs.values()] if kwargs else list(args)
    for leaf in leaves:
        kind = type(leaf)
        if kind in _OPENED or isinstance(leaf, tuple):
            return flatten((args, kwargs))
    return leaves, (len(args), tuple(kwargs))


def unflatten_call(structure: Any, leaves: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments again from what ``flatten_call`` gave."""
    if type(structure[0]) is int:
        n, names = structure
        return tuple(leaves[:n]), dict(zip(names, leaves[n:], strict=True))
    return unflatten(structure, leaves)


def _open(x: Any, leaves: list[Any], dataclass_too: bool) -> Any:
    kind = type(x)
    if kind is tuple or kind is list:
        return kind, tuple([_open(y, leaves, dataclass_too) for y in x])
    if kind is dict or kind is OrderedDict or kind is defaultdict:
        made = x.default_factory if kind is defaultdict else None
        return kind, tuple(x), made, tuple([_open(y, leaves, dataclass_too) for y in x.values()])
    if isinstance(x, tuple) and hasattr(kind, "_fields"):
        return kind, tuple([_open(y, leaves, dataclass_too) for y in x])
    if dataclass_too and dataclasses.is_dataclass(x) and not isinstance(x, type):
        names = tuple(f.name for f in dataclasses.fields(x) if hasattr(x, f.name))
        parts = tuple([_open(getattr(x, n), leaves, dataclass_too) for n in names])
        return _Instance(x), names, parts
    leaves.append(x)
    return _LEAF


class _Instance:
    """The dataclass instance that a result is a copy of."""

    def __init__(self, example: Any) -> None:
        self.example = copy.copy(example)

    def forget(self, names: tuple[str, ...]) -> None:
        """Keep no field: they hold what was there while the graph was captured."""
        for name in names:
            object.__setattr__(self.example, name, None)


def unflatten(structure: Any, leaves: Any) -> Any:
    """The tree again, with other leaves."""
    return _close(structure, iter(leaves))


def _close(structure: Any, leaves: Iterator[Any]) -> Any:
    if structure is _LEAF:
        return next(leaves)
    kind = structure[0]
    parts = [_close(s, leaves) for s in structure[-1]]
    if isinstance(kind, _Instance):
        made = copy.copy(kind.example)
        for name, value in zip(structure[1], parts, strict=True):
            object.__setattr__(made, name, value)
        return made
    if kind is tuple or kind is list:
        return kind(parts)
    if len(structure) == 4:
        made = defaultdict(structure[2]) if kind is defaultdict else kind()
        made.update(zip(structure[1], parts, strict=True))
        return made
    return kind._make(parts)


def forget_examples(structure: Any) -> None:
    """Let go of the values inside dataclass instances of a result's structure."""
    if structure is _LEAF:
        return
    if isinstance(structure[0], _Instance):
        structure[0].forget(structure[1])
    for part in structure[-1]:
        forget_examples(part)


def leaf_counts(structure: Any) -> tuple[int, tuple[str, ...], list[int]]:
    """Of a call's structure: how many positional arguments, the names of the others, and how many
    leaves each argument has."""
    if type(structure[0]) is int:
        n, names = structure
        return n, names, [1] * (n + len(names))
    positional, keywords = structure[-1]
    counts = [count_leaves(s) for s in (*positional[-1], *keywords[-1])]
    return len(positional[-1]), keywords[1], counts


def count_leaves(structure: Any) -> int:
    """How many leaves a structure has."""
    return 1 if structure is _LEAF else sum(map(count_leaves, structure[-1]))
