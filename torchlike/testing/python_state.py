"""Python values that a function may change outside of its arguments: kept, and brought back."""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable, MutableSequence
from typing import Any

import numpy as np

#: What is kept wherever it is found; of other objects the attributes are.
COLLECTIONS = (dict, list, set, deque, bytearray, np.ndarray)
_EMPTY = object()


class PythonState:
    """What objects held when they were added: attributes, entries, elements, a closure's variables,
    globals that a function names. Held objects are not copied: they are added themselves."""

    def __init__(self) -> None:
        #: Of each: its name, what it holds now, and how it gets back what it held.
        self._kept: list[tuple[str, Any, Callable[[], Any], Callable[[Any], None]]] = []

    def add(self, x: Any, name: str) -> None:
        """Keep what an object holds: a dictionary, list, set, deque, NumPy array, function, or
        another object's attributes. Nothing of what is none of these."""
        if isinstance(x, types.FunctionType):
            self._add_function(x)
        elif isinstance(x, dict):
            self._add_mapping(x, name, "[{!r}]")
        elif isinstance(x, (list, deque, bytearray)):
            self._keep(name, lambda: list(x), lambda held: _refill(x, held))
        elif isinstance(x, set):
            self._keep(name, lambda: set(x), lambda held: _refill_set(x, held))
        elif isinstance(x, np.ndarray) and x.flags.writeable:
            self._keep(name, x.copy, lambda held: np.copyto(x, held))
        elif isinstance(getattr(x, "__dict__", None), dict):
            self._add_mapping(vars(x), name, ".{}")

    def restore(self) -> list[str]:
        """Bring back what has changed, and return the names of it, such as ``self.count``."""
        changed = []
        for name, held, now, put in self._kept:
            if not _same(held, now()):
                put(held)
                changed.append(name)
        return changed

    def _keep(self, name: str, now: Callable[[], Any], put: Callable[[Any], None]) -> None:
        self._kept.append((name, now(), now, put))

    def _add_mapping(self, x: dict[Any, Any], name: str, of: str) -> None:
        held = dict(x)

        def put(value: Any, key: Any) -> None:
            if value is _EMPTY:
                x.pop(key, None)
            else:
                x[key] = value

        for key in held:
            self._keep(
                f"{name}{of.format(key)}".removeprefix("."),
                lambda key=key: x.get(key, _EMPTY),
                lambda value, key=key: put(value, key),
            )

        def forget(_: Any) -> None:
            for key in [key for key in x if key not in held]:
                x.pop(key)

        self._keep(name, lambda: set(x) <= held.keys(), forget)

    def _add_function(self, fn: types.FunctionType) -> None:
        for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
            self._keep(name, lambda cell=cell: _contents(cell), lambda v, cell=cell: _fill(cell, v))
        known = fn.__globals__
        for name in fn.__code__.co_names:
            if name in known:
                self._keep(
                    name,
                    lambda name=name: known.get(name, _EMPTY),
                    lambda value, name=name: known.__setitem__(name, value),
                )


def _same(held: Any, now: Any) -> bool:
    """Return whether two are one object, or collections of the same objects."""
    if isinstance(held, np.ndarray):
        return held.tobytes() == now.tobytes()
    if isinstance(held, list):
        return len(held) == len(now) and all(a is b for a, b in zip(held, now, strict=True))
    if isinstance(held, (set, bool)):
        return held == now
    return held is now


def _refill(x: MutableSequence[Any], held: list[Any]) -> None:
    x.clear()
    x.extend(held)


def _refill_set(x: set[Any], held: set[Any]) -> None:
    x.clear()
    x.update(held)


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not bound
        return _EMPTY


def _fill(cell: types.CellType, value: Any) -> None:
    if value is _EMPTY:
        del cell.cell_contents
    else:
        cell.cell_contents = value
