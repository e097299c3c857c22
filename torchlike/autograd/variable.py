"""``Variable``, as tensors with a history once were called: old scripts wrap their data in it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from torchlike._core import errors
from torchlike._ops.creation.filled import empty
from torchlike.autograd.engine import queue_callback
from torchlike.tensor import Tensor


class _Meta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class _EngineBase:
    """The engine, as libraries know it that reach for it."""

    def queue_callback(self, callback: Callable[[], None]) -> None:
        """Call a function once the backward pass that runs has ended. RuntimeError outside of
        one."""
        queue_callback(callback)


class Variable(metaclass=_Meta):
    """``Variable(data, requires_grad=False)``: a leaf tensor on the memory of ``data``.

    Every tensor is an instance. TypeError when ``data`` is no tensor, RuntimeError when a tensor of
    whole numbers is to require grad. ``volatile`` has no effect: ``no_grad`` replaced it.
    """

    _execution_engine = _EngineBase()

    def __new__(
        cls, data: Any = None, requires_grad: bool = False, volatile: bool = False
    ) -> Tensor:
        if volatile:
            warnings.warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.",
                stacklevel=2,
            )
            if requires_grad:
                raise ValueError("Variable can't be volatile and require_grad at the same time!")
        if data is None:
            data = empty(0)
        elif not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if requires_grad and data.dtype.category < 2:
            raise RuntimeError(errors.FLOAT_ONLY_GRAD)
        return data._alias().requires_grad_(requires_grad)
