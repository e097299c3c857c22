"""The ``__dict__`` that an object shows its user, who may copy, replace and write it.

Libraries carry what a user set on one tensor over to another by ``new.__dict__ = old.__dict__`` or
``new.__dict__.update(old.__dict__)``. What makes the object what it is must not go along.
"""

from __future__ import annotations

import copy as copying
from collections.abc import Callable, Container, Mapping
from typing import Any


class ShownAttributes(dict[str, Any]):
    """The attributes of an object that are its user's. What is written here is set on the object.

    A true dictionary, for ``dir()`` reads no other, with what there is when it is asked for. A copy
    is a plain dictionary.
    """

    __slots__ = ("_hidden", "_whole")

    def __init__(self, whole: dict[str, Any], hidden: Container[str]) -> None:
        super().__init__((name, v) for name, v in whole.items() if name not in hidden)
        self._whole, self._hidden = whole, hidden

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self._whole[name] = value

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        del self._whole[name]

    def pop(self, name: str, *default: Any) -> Any:
        """Remove an attribute and return it. KeyError without one and a default."""
        if name in self:
            self._whole.pop(name, None)
        return super().pop(name, *default)

    def popitem(self) -> tuple[str, Any]:
        """Remove the attribute that was set last and return it with its name."""
        name, value = super().popitem()
        self._whole.pop(name, None)
        return name, value

    def clear(self) -> None:
        """Remove all attributes."""
        for name in self:
            self._whole.pop(name, None)
        super().clear()

    def setdefault(self, name: str, default: Any = None) -> Any:
        """Return an attribute, which is set where there is none."""
        if name not in self:
            self[name] = default
        return self[name]

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Set attributes, of those given that are not hidden."""
        for name, value in dict(*args, **kwargs).items():
            if name not in self._hidden:
                self[name] = value

    def __ior__(self, other: Any) -> ShownAttributes:  # type: ignore[override, misc]
        self.update(other)
        return self

    def copy(self) -> dict[str, Any]:
        return dict(self)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return copying.deepcopy(dict(self), memo)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return dict, (dict(self),)


def shown_attributes(whole: Callable[[Any], dict[str, Any]], hidden: Container[str]) -> Any:
    """Return a class's ``__dict__``: of an object, whose attributes are those of ``whole(object)``,
    it shows all that are not ``hidden``, and replaces these where it is assigned."""

    def show(self: Any) -> ShownAttributes:
        return ShownAttributes(whole(self), hidden)

    def replace(self: Any, attributes: Mapping[str, Any]) -> None:
        new = dict(attributes)
        shown = show(self)
        shown.clear()
        shown.update(new)

    return property(show, replace)
