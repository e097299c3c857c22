"""The meta device: arrays that have a shape and a dtype but no values.

A storage on ``device="meta"`` holds a MetaArray. An op that meets one is not run but evaluated
abstractly by ``jax.eval_shape``, through the same pure function and the same checks; so a model of
any size is built, moved and stepped through without its memory.

The hot path does not ask for it: a compiled function refuses a MetaArray with an error, and only
then is the call looked at again (``involved``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from torchlike._core.errors import NO_DATA


class StandIn:
    """What stands in a cell in an array's place: immutable, with a shape and a dtype."""

    __slots__ = ("dtype", "shape")
    weak_type = False
    shape: tuple[int, ...]
    dtype: Any

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    def __deepcopy__(self, memo: Any) -> StandIn:
        return self


class MetaArray(StandIn):
    """A shape and a dtype without values."""

    __slots__ = ()

    def __init__(self, shape: Sequence[int], dtype: Any) -> None:
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype)

    def astype(self, dtype: Any) -> MetaArray:
        return MetaArray(self.shape, dtype)

    def reshape(self, *shape: Any) -> MetaArray:
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        return call(lambda x: x.reshape(wanted), self)

    def __getitem__(self, index: Any) -> MetaArray:
        return call(lambda x: x[index], self)

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise NotImplementedError(NO_DATA)

    def __repr__(self) -> str:
        return f"MetaArray({self.shape}, {self.dtype})"


def _meta(aval: Any) -> MetaArray:
    return MetaArray(aval.shape, aval.dtype)


def involved(arrays: Any) -> bool:
    """Return whether a pytree of operands holds a MetaArray."""
    return any(type(a) is MetaArray for a in jax.tree_util.tree_leaves(arrays))


def call(function: Callable[..., Any], *arrays: Any) -> Any:
    """Evaluate ``function(*arrays)`` without computing: return MetaArrays for the results."""
    return jax.tree_util.tree_map(_meta, jax.eval_shape(function, *arrays))
