"""The meta device: arrays that have a shape and a dtype but no values.

A storage on ``device="meta"`` holds a MetaArray. An op that meets one is not run but evaluated
abstractly by ``jax.eval_shape``, through the same pure function and the same checks; so a model of
any size is built, moved and stepped through without its memory.

The simplest kind of cell (`cells`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from torchlike._core import devices
from torchlike._core.cells import StandIn
from torchlike._core.dispatch.executable import Aval, Executable
from torchlike._core.dtypes import DIFFERENTIABLE
from torchlike._core.errors import NO_DATA, NO_ITEM
from torchlike._core.storage import Storage
from torchlike._core.storage import _rebuild_meta as rebuild_meta

if TYPE_CHECKING:
    from jax.typing import DTypeLike

    from torchlike._core.cells import Argument, Execute, Result, Value, Write
    from torchlike._core.dispatch.record import OpNode
    from torchlike._core.views import View
    from torchlike.tensor import Tensor


class MetaArray(StandIn):
    """A shape and a dtype without values."""

    __slots__ = ()
    has_address = False

    def __init__(self, shape: Sequence[int], dtype: DTypeLike) -> None:
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype)

    def astype(self, dtype: DTypeLike) -> MetaArray:
        return MetaArray(self.shape, dtype)

    def reshape(self, *shape: int | tuple[int, ...]) -> MetaArray:
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        return call(lambda x: x.reshape(wanted), self)

    def __getitem__(self, index: object) -> MetaArray:
        return call(lambda x: x[index], self)

    def __array__(self, *args: object, **kwargs: object) -> np.ndarray:
        raise NotImplementedError(NO_DATA)

    device = devices.META

    @classmethod
    def execute(
        cls, exe: Executable, arrays: list[Argument], operands: Sequence[object], again: Execute
    ) -> Result:
        """Evaluate an executable abstractly. RuntimeError where another operand, other than a
        number or indices, has values."""
        for a in arrays:
            if isinstance(a, jax.Array) and a.ndim and a.dtype in DIFFERENTIABLE:
                raise RuntimeError("Tensor on device cpu is not on the expected device meta!")
        return again(_abstract(exe), arrays, operands)

    @classmethod
    def backward(cls, node: OpNode, cotangents: list[Value]) -> Sequence[Value | None]:
        backward = _abstract(node.exe).backward(node.avals)
        return backward(node.saved, node.residuals, tuple(cotangents))

    @classmethod
    def apply(cls, function: Callable[..., object], arrays: list[Argument]) -> Any:
        return call(function, *arrays)

    def write_view(self, storage: Storage, view: View, array: Value, write: Write) -> None:
        storage.version += 1

    def reduced(self, storage: Storage) -> tuple[object, ...]:
        return _rebuilt, (self.shape, self.dtype, storage.strides)

    def host_values(self, t: Tensor, asked: str, instead: str) -> np.ndarray:
        if t.numel() == 1 and asked != ".tolist()":
            raise RuntimeError(NO_ITEM)
        raise NotImplementedError(NO_DATA)

    def __repr__(self) -> str:
        return f"MetaArray({self.shape}, {self.dtype})"


def _meta(aval: jax.ShapeDtypeStruct) -> MetaArray:
    return MetaArray(aval.shape, aval.dtype)


def involved(arrays: object) -> bool:
    """Return whether a pytree of operands holds a MetaArray."""
    return any(type(a) is MetaArray for a in jax.tree_util.tree_leaves(arrays))


def call(function: Callable[..., object], *arrays: object) -> Any:
    """Evaluate ``function(*arrays)`` without computing: return MetaArrays for the results."""
    return jax.tree_util.tree_map(_meta, jax.eval_shape(function, *arrays))


class AbstractExecutable(Executable):
    """An executable on the meta device: every compiled form gives shapes and computes nothing."""

    __slots__ = ()

    def __init__(self, concrete: Executable) -> None:
        for field in Executable.__slots__:
            if hasattr(concrete, field):
                setattr(self, field, getattr(concrete, field))
        self.forward = functools.partial(call, concrete.forward)
        self.forward_vjp = functools.partial(call, concrete.forward_vjp)
        self._donating = self.forward
        self._backward, self.double, self.abstract = {}, {}, self

    def backward(self, unsaved_avals: tuple[Aval | None, ...]) -> Callable[..., Any]:
        return functools.partial(call, super().backward(unsaved_avals))


def _abstract(exe: Executable) -> Executable:
    if exe.abstract is None:
        exe.abstract = AbstractExecutable(exe)
    return exe.abstract


def _rebuilt(shape: Sequence[int], dtype: Any, strides: tuple[int, ...] | None) -> Storage:
    """Unpickle a storage without data."""
    storage = Storage(MetaArray(shape, dtype))
    storage.strides = strides
    return storage


rebuild_meta.by(_rebuilt)
