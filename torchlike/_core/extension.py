"""Methods that stand in a room above their class: ops on Tensor, what needs views on a storage."""

from __future__ import annotations

from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any

from torchlike.tensor import Tensor


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


def add_method(name: str, function: Any, of: type = Tensor) -> None:
    """Put a method on a class of this room. TypeError when the name is taken.

    This is the only way in which a room gives something to a class below it. Tensor gets an object
    of its own: ``__torch_function__`` tells ``torch.add`` from ``torch.Tensor.add``.
    """
    if name in of.__dict__:
        raise TypeError(f"{of.__name__}.{name} is defined twice")
    if of is Tensor and isinstance(function, FunctionType):
        function = copy_of(function, name)
        function.__module__, function.__qualname__ = "torchlike", f"Tensor.{name}"
    elif of is Tensor and isinstance(function, property):
        parts: tuple[Any, ...] = (function.fget, function.fset, function.fdel)
        function = property(
            *(copy_of(f, name) if isinstance(f, FunctionType) else f for f in parts),
            doc=function.__doc__,
        )
    setattr(of, name, function)
