"""Guards on variables: globals, attributes, closures."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

from torchlike._jit.guards.values import MISSING, ValueGuard, same
from torchlike.tensor import Tensor


class VariableGuard(ValueGuard):
    """Base: one value under a name, which can be bound anew."""

    __slots__ = ()

    def put(self, value: Any) -> None:
        """Bind it to a value, or (MISSING) to none."""
        raise NotImplementedError

    def restore(self) -> None:
        self.put(self.before())


class NameGuard(VariableGuard):
    """A name in a dictionary that Python looks names up in: globals, an instance, a class."""

    __slots__ = ("name", "space", "value")

    def __init__(self, owner: Any, space: Any, name: str, value: Any, label: str) -> None:
        super().__init__(owner, label)
        self.space = space
        self.name = name
        self.value = value

    def now(self) -> Any:
        return self.space.get(self.name, MISSING)

    def before(self) -> Any:
        return self.value

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        now = self.space.get(self.name, MISSING)
        return now is self.value or same(now, self.value)

    def expression(self, name: Callable[[Any], str]) -> str | None:
        return f"{name(self.space.get)}({self.name!r}, {name(MISSING)}) is {name(self.value)}"

    def put(self, value: Any) -> None:
        if isinstance(self.space, types.MappingProxyType):
            if value is MISSING:
                delattr(self.owner, self.name)
            else:
                setattr(self.owner, self.name, value)
        elif value is MISSING:
            self.space.pop(self.name, None)
        else:
            self.space[self.name] = value


class MemberGuard(VariableGuard):
    """An attribute kept in ``__slots__``."""

    __slots__ = ("descriptor", "value")

    def __init__(self, owner: Any, descriptor: Any, label: str) -> None:
        super().__init__(owner, label)
        self.descriptor = descriptor
        self.value = self.now()

    def now(self) -> Any:
        try:
            return self.descriptor.__get__(self.owner)
        except AttributeError:
            return MISSING

    def before(self) -> Any:
        return self.value

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return same(self.now(), self.value)

    def put(self, value: Any) -> None:
        if value is MISSING:
            self.descriptor.__delete__(self.owner)
        else:
            self.descriptor.__set__(self.owner, value)


class CellGuard(VariableGuard):
    """A variable that functions share (a closure)."""

    __slots__ = ("value",)

    def __init__(self, cell: types.CellType, label: str) -> None:
        super().__init__(cell, label)
        self.value = self.now()

    def now(self) -> Any:
        try:
            return self.owner.cell_contents
        except ValueError:
            return MISSING

    def before(self) -> Any:
        return self.value

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        now = self.now()
        return now is self.value or same(now, self.value)

    def expression(self, name: Callable[[Any], str]) -> str | None:
        if self.value is MISSING:
            return None
        return f"{name(self.owner)}.cell_contents is {name(self.value)}"

    def put(self, value: Any) -> None:
        if value is MISSING:
            del self.owner.cell_contents
        else:
            self.owner.cell_contents = value
