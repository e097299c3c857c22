"""Methods that stand in a room above their class: ops on Tensor, what needs views on a storage."""

from __future__ import annotations

from typing import Any

from torchlike._core.tensor import Tensor


def add_method(name: str, function: Any, of: type = Tensor) -> None:
    """Put a method on a class of this room. TypeError when the name is taken.

    This is the only way in which a room gives something to a class below it.
    """
    if name in of.__dict__:
        raise TypeError(f"{of.__name__}.{name} is defined twice")
    setattr(of, name, function)
