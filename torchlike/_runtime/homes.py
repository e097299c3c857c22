"""Classes and functions that say they come from ``torch`` where that name means torchlike, and
where they stand.

Libraries look them up by ``__module__``: autoray takes a tensor's library from it, Keras finds a
DataLoader by it, and pickles name by it what they hold. Code that asks whether something is
torchlike's own asks `home`.
"""

from __future__ import annotations

import inspect
import sys
from typing import Any, ForwardRef

#: What says another module than its own, by id: itself, its own, and what it says. Tables of text,
#: so that thousands of names are nothing for the garbage collector to go through.
_shown: dict[int, Any] = {}
_homes: dict[int, str] = {}
_places: dict[int, str] = {}
#: The annotations of classes that say a module with other names than their own's.
_annotations: dict[int, dict[str, Any]] = {}


def home(x: Any) -> str:
    """Return the module in which a class or function stands, whatever it says; "" of what says
    none."""
    return _homes.get(id(x)) or str(getattr(x, "__module__", None) or "")


def show(x: Any, place: str) -> None:
    """Let a class or function of torchlike's say that it comes from a module of PyTorch's."""
    key = id(x)
    _shown[key], _homes[key], _places[key] = x, x.__module__, place
    if isinstance(x, type) and sys.modules.get(place) is not sys.modules.get(x.__module__):
        said = inspect.get_annotations(x)
        if said:
            _annotations[key] = said
            x.__annotations__ = {name: _read_at(x.__module__, kind) for name, kind in said.items()}
    x.__module__ = place


def _read_at(module: str, kind: Any) -> Any:
    """Return an annotation that `typing.get_type_hints` reads with the names of a module."""
    if isinstance(kind, ForwardRef) and kind.__forward_module__ is None:  # of a NamedTuple
        kind = kind.__forward_arg__
    if not isinstance(kind, str):
        return kind
    return ForwardRef(kind, is_argument=False, is_class=True, module=module)


def hide() -> None:
    """Let all say again where they stand, but for what somebody else has given another module."""
    for key, x in _shown.items():
        if x.__module__ == _places[key]:
            x.__module__ = _homes[key]
    for key, said in _annotations.items():
        _shown[key].__annotations__ = said
    for table in (_shown, _homes, _places, _annotations):
        table.clear()
