"""Structures of arguments and results (torchlike._runtime.trees) as plain data, for a file."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any


def encode(structure: Any) -> list[Any] | None:
    """Encode a structure as lists, strings and numbers. TypeError for a class that a file cannot
    name."""
    if structure is None:
        return None
    kind = structure[0]
    if type(kind) is int:
        return ["call", kind, list(structure[1])]
    parts = [encode(s) for s in structure[-1]]
    if kind is tuple or kind is list:
        return [kind.__name__, parts]
    if kind is dict or kind is OrderedDict:
        if not all(isinstance(k, (str, int)) for k in structure[1]):
            raise TypeError("dictionaries among arguments and results need strings as keys")
        return ["dict", list(structure[1]), parts]
    if isinstance(kind, type) and issubclass(kind, tuple):
        return ["tuple", parts]  # a named tuple: its class is not in the file
    raise TypeError(
        f"arguments and results may be nested in tuples, lists and dictionaries, not in {kind!r}"
    )


def decode(data: Any) -> tuple[Any, ...] | None:
    """Decode a structure of `encode`."""
    if data is None:
        return None
    kind = data[0]
    if kind == "call":
        return data[1], tuple(data[2])
    if kind == "dict":
        return dict, tuple(data[1]), None, tuple(decode(d) for d in data[2])
    return {"tuple": tuple, "list": list}[kind], tuple(decode(d) for d in data[1])
