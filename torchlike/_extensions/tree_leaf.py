"""Stands for a tensor's array where JAX rebuilt the tensor around something that is no array.

``jax.tree.map(lambda a: a.shape, tensor)`` gives a tree of the same structure, whose leaf is a
tuple; it goes back into ``jax.tree.map`` beside the first. Such a tensor is a node and no more.
"""

from __future__ import annotations

from typing import Any

from torchlike._core.cells import StandIn

#: What tensors and JAX ask a cell for; a leaf may know it (``jax.ShapeDtypeStruct``).
_ASKED = frozenset(("dtype", "ndim", "shape", "sharding", "size", "weak_type"))


class TreeLeaf(StandIn):
    """A leaf that is no array, in a cell. AttributeError for what only arrays have."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __getattr__(self, name: str) -> Any:
        if name in _ASKED and hasattr(self.value, name):
            return getattr(self.value, name)
        raise AttributeError(
            f"this tensor is a node of a JAX tree around {self.value!r}, which is no array and has "
            f"no {name!r}; tensor.jax() gives the leaf"
        )

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"a tensor around {self.value!r} has no values; tensor.jax() is the leaf")

    @classmethod
    def execute(cls, exe: Any, arrays: list[Any], operands: Any, again: Any) -> Any:
        leaf = next(a for a in arrays if type(a) is cls)
        raise TypeError(f"{exe.name}: a tensor around the leaf {leaf.value!r} has no values")

    def shown(self, t: Any) -> str:
        return f"{type(t).__name__}({self!r})"

    def as_jax(self) -> Any:
        return self.value

    def __repr__(self) -> str:
        return f"leaf={self.value!r}"
