"""Nested state dicts as one flat table, with names of joined keys, and what they name changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchlike.tensor import Tensor


class StateDictEntry:
    """One entry of a nested state dict: its name, its value, how to put another in its place."""

    __slots__ = ("name", "put", "value")

    def __init__(self, name: str, value: Any, put: Callable[[Any], None]) -> None:
        self.name, self.value, self.put = name, value, put


def leaves(nested: Any, prefix: str = "") -> Iterator[StateDictEntry]:
    """Yield the entries of nested dictionaries, and of lists that hold tensors or dictionaries
    somewhere (others are values), in order. ValueError for two entries of one name."""
    seen: set[str] = set()
    for leaf in _walk(nested, prefix):
        if leaf.name in seen:
            raise ValueError(f"duplicated flatten key {leaf.name}")
        seen.add(leaf.name)
        yield leaf


def _walk(nested: Any, prefix: str) -> Iterator[StateDictEntry]:
    items = nested.items() if isinstance(nested, dict) else enumerate(nested)
    for key, value in list(items):
        name = f"{prefix}.{key}" if prefix else str(key)
        if _is_nested(value):
            yield from _walk(value, name)
        else:
            yield StateDictEntry(name, value, _putter(nested, key))


def _putter(nested: Any, key: Any) -> Callable[[Any], None]:
    def put(value: Any) -> None:
        nested[key] = value

    return put


def _is_nested(value: Any) -> bool:
    if isinstance(value, dict):
        return bool(value)
    return isinstance(value, list) and any(isinstance(x, Tensor) or _is_nested(x) for x in value)
