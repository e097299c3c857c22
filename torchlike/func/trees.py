"""Nested tuples, lists and dictionaries of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike._runtime.trees import flatten as flatten
from torchlike._runtime.trees import unflatten as unflatten


def leaves(tree: Any) -> list[Any]:
    """Return the leaves of a tree."""
    return flatten(tree)[0]


def tree_map(function: Callable[..., Any], tree: Any) -> Any:
    """Apply ``function`` to each leaf and return the tree of the results."""
    found, structure = flatten(tree)
    return unflatten(structure, [function(x) for x in found])


def describe(structure: Any) -> str:
    """Describe a structure in words: ``tuple(*, dict(a=*))``."""
    if structure is None:
        return "*"
    parts = [describe(s) for s in structure[-1]]
    if len(structure) == 4:
        parts = [f"{key}={part}" for key, part in zip(structure[1], parts, strict=True)]
    kind = getattr(structure[0], "kind", structure[0])  # of a registered class, with its context
    return f"{kind.__name__}({', '.join(parts)})"
