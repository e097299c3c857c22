"""What the cell of a wrapper subclass holds in an array's place: a shape and a dtype.

Such a tensor has no memory of its own; operators reach its class by ``__torch_dispatch__``.
Compiled forms refuse a `Wrapped`, and whatever else looks for an array says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torchlike._core.cells import StandIn
from torchlike._core.errors import NO_DATA


class NoMemory(NotImplementedError):
    """Something looked for the memory of a wrapper subclass."""


class Wrapped(StandIn):
    """A shape and a dtype; the values are known to a subclass of Tensor alone."""

    __slots__ = ()
    precedence = 1
    has_memory = False

    def __init__(self, shape: Sequence[int], dtype: Any) -> None:
        self.shape = tuple(shape)
        self.dtype = dtype

    @classmethod
    def execute(cls, exe: Any, arrays: list[Any], operands: Any, again: Callable[..., Any]) -> Any:
        raise NoMemory(refusal(exe.name))

    @classmethod
    def apply(cls, function: Callable[..., Any], arrays: list[Any]) -> Any:
        raise NoMemory(refusal("this operation"))

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise NoMemory(refusal("this operation"))

    __jax_array__ = __getitem__ = astype = reshape = _refuse

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise NoMemory(NO_DATA)


def refusal(what: str) -> str:
    """Return the message for something that found no way to ``__torch_dispatch__``."""
    return (
        f"{what} looks at memory, which a wrapper subclass has not, and is no operator that "
        "reaches __torch_dispatch__: use torch's operators"
    )
