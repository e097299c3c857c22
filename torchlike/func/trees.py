"""Nested tuples, lists and dictionaries of tensors, and prefixes of them (``in_dims``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike._core.trees import count_leaves
from torchlike._core.trees import flatten as flatten
from torchlike._core.trees import unflatten as unflatten


def leaves(tree: Any) -> list[Any]:
    """The leaves of a tree."""
    return flatten(tree)[0]


def tree_map(function: Callable[..., Any], tree: Any) -> Any:
    """``function`` on each leaf."""
    found, structure = flatten(tree)
    return unflatten(structure, [function(x) for x in found])


def describe(structure: Any) -> str:
    """A structure in words: ``tuple(*, dict(a=*))``."""
    if structure is None:
        return "*"
    parts = [describe(s) for s in structure[-1]]
    if len(structure) == 4:
        parts = [f"{key}={part}" for key, part in zip(structure[1], parts, strict=True)]
    return f"{structure[0].__name__}({', '.join(parts)})"


def broadcast(prefix: Any, structure: Any, message: Callable[[], str]) -> list[Any]:
    """The value of `prefix` (an int or None, or a tree of them) for each leaf of a structure: one
    for all leaves below its place.

    ValueError with `message` where the two do not match.
    """
    found: list[Any] = []
    if not _spread(prefix, structure, found):
        raise ValueError(message())
    return found


def _spread(prefix: Any, structure: Any, found: list[Any]) -> bool:
    if not isinstance(prefix, (tuple, list, dict)):
        found += [prefix] * count_leaves(structure)
        return True
    if structure is None:
        return False
    parts = structure[-1]
    if len(structure) == 4:
        if not isinstance(prefix, dict) or set(prefix) != set(structure[1]):
            return False
        values = [prefix[key] for key in structure[1]]
    else:
        if isinstance(prefix, dict) or len(prefix) != len(parts):
            return False
        values = list(prefix)
    return all(_spread(v, part, found) for v, part in zip(values, parts, strict=True))
