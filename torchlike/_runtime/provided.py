"""How a lower room calls something in a room above it: by what that room has registered here.

A `Provided` is one function that a room above gives; a `Signal` is a moment at which any number of
functions are called. Both are declared where they are used, with a sentence, and `ALL` lists them.
(Methods of Tensor are given by `add_method` in ``torchlike/tensor.py``.) tests/test_package.py says
that each is provided once the package is imported, and by whom.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from torchlike._runtime.homes import home

#: Everything that a lower room asks of one above.
ALL: list[Provided | Signal] = []

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Provided:
    """A function that one room above provides. With a ``default`` it may come later, once there is
    something to look at such as a mesh: until then it is the default."""

    def __init__(self, what: str, default: Callable[..., Any] | None = None) -> None:
        self.what = what
        self.is_provided = False
        self.is_optional = default is not None
        #: What is called. Hot paths call it here, or ask before whether it `is_provided`.
        self.function: Callable[..., Any] = default or self._missing
        ALL.append(self)

    def _missing(self, *args: Any) -> Any:
        raise AssertionError(f"not provided yet: {self.what}")

    def by(self, function: _Function) -> _Function:
        """Provide the function (also a decorator). TypeError where another one is provided."""
        if self.is_provided and self.function is not function:
            raise TypeError(f"provided twice: {self.what}")
        self.function, self.is_provided = function, True
        return function

    @property
    def providers(self) -> list[str]:
        """The rooms that provide it."""
        return [home(self.function)] if self.is_provided else []

    def get(self) -> Callable[..., Any]:
        """Return the function that is provided."""
        assert self.is_provided, f"not provided yet: {self.what}"
        return self.function

    def __call__(self, *args: object) -> Any:
        return self.function(*args)


class Signal:
    """A moment at which rooms above want to be called."""

    is_optional = False

    def __init__(self, what: str) -> None:
        self.what = what
        self._functions: list[Callable[..., Any]] = []
        ALL.append(self)

    def call(self, function: _Function) -> _Function:
        """Have a function called at each such moment (also a decorator)."""
        self._functions.append(function)
        return function

    @property
    def providers(self) -> list[str]:
        """The rooms whose functions are called."""
        return [home(function) for function in self._functions]

    def __call__(self, *args: object) -> None:
        for function in self._functions:
            function(*args)


class_made = Signal("a class was made that derives from Tensor or Module")


def for_each_subclass(cls: type, tell: Callable[[type], None]) -> None:
    """Call ``tell`` with each class that derives from ``cls``, directly or not: today's at once,
    others when they are made (`class_made`)."""
    for found in _below(cls):
        tell(found)

    def tell_of(made: type) -> None:
        if issubclass(made, cls):
            tell(made)

    tell_of.__module__ = tell.__module__
    class_made.call(tell_of)


def _below(cls: type) -> set[type]:
    found = type.__subclasses__(cls)
    return set(found).union(*map(_below, found))
