"""Function objects of further names: one for each place at which a function is public."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


def copy_of(function: FunctionType, name: str) -> FunctionType:
    """Return another function object that runs the same code, with its documentation and marks; its
    ``first_of`` is the one that it was made from. Where the code calls its own function, the copy
    calls the copy."""
    itself = CellType()
    cells = tuple(itself if _holds(cell, function) else cell for cell in function.__closure__ or ())
    made = FunctionType(function.__code__, function.__globals__, name, function.__defaults__, cells)
    itself.cell_contents = made
    made.__kwdefaults__ = function.__kwdefaults__
    made.__annotations__ = function.__annotations__
    made.__dict__.update(function.__dict__)
    made.__dict__["first_of"] = first_of(function)
    made.__doc__, made.__module__, made.__qualname__ = function.__doc__, function.__module__, name
    return made


def bare(function: FunctionType) -> FunctionType:
    """Return a function object of the same code and annotations, without any attribute: what
    `inspect.signature` is told by the code alone."""
    made = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__annotations__ = function.__annotations__
    return made


def _holds(cell: CellType, function: FunctionType) -> bool:
    try:
        return cell.cell_contents is function
    except ValueError:  # empty: the function is being made
        return False


def first_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that others of further names are copies of; the function itself where it
    is no copy."""
    return getattr(function, "first_of", function)


def name_of(function: Any) -> str:
    """Return the name under which a public function has its rule: aliases have that of their
    original."""
    return getattr(first_of(function), "__name__", "")


def signed_as(example: Callable[..., Any]) -> Callable[[_Function], _Function]:
    """Decorate a function that takes its arguments by hand to tell what it takes: what ``example``
    does."""

    def signed(function: _Function) -> _Function:
        function.__signature__ = inspect.signature(example)  # type: ignore[attr-defined]
        return function

    return signed
