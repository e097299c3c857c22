"""How a lower room calls something in a room above it: by what that room has registered here.

A `Provided` is one function that a room above gives; a `Signal` is a moment at which any number of
functions are called. Both are declared where they are used, with a sentence, and `ALL` lists them.
(Methods of Tensor are given by `add_method` in ``extension.py``.) tests/test_package.py says that
each is provided once the package is imported, and by whom.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Provided:
    """A function that one room above provides."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.function: Callable[..., Any] | None = None
        ALL.append(self)

    def by(self, function: _Function) -> _Function:
        """Provide the function (also a decorator). TypeError where another one is provided."""
        if self.function is not None:
            raise TypeError(f"provided twice: {self.what}")
        self.function = function
        return function

    @property
    def providers(self) -> list[str]:
        """The rooms that provide it."""
        return [] if self.function is None else [self.function.__module__]

    def __call__(self, *args: object) -> Any:
        assert self.function is not None, f"not provided yet: {self.what}"
        return self.function(*args)


class Signal:
    """A moment at which rooms above want to be called."""

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
        return [function.__module__ for function in self._functions]

    def __call__(self, *args: object) -> None:
        for function in self._functions:
            function(*args)


#: Everything that a lower room asks of one above.
ALL: list[Provided | Signal] = []
