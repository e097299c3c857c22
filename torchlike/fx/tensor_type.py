"""Gradual types of tensors: annotations that give sizes, of which ``Dyn`` is any."""

from __future__ import annotations

from typing import Any

__all__ = ["Dyn", "TensorType", "is_consistent", "is_more_precise"]


class TensorType:
    """The type of tensors of a size, in an annotation: ``TensorType((1, 2, Dyn))``."""

    __module__ = "torch.fx.tensor_type"
    __hash__ = None  # type: ignore[assignment]  # as PyTorch's, which can be compared alone

    def __init__(self, dim: Any) -> None:
        self.__origin__ = TensorType
        self.__args__ = dim

    def __repr__(self) -> str:
        return f"TensorType[{self.__args__}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, self.__class__) and list(self.__args__) == list(other.__args__)

    @staticmethod
    def __class_getitem__(*args: Any) -> TensorType:
        if len(args) == 1 and isinstance(args[0], tuple):
            args = args[0]
        return TensorType(tuple(args))


class _DynType:
    """The type of `Dyn`."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self) -> None:
        self.__name__ = "_DynType"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, self.__class__)

    def __str__(self) -> str:
        return "Dyn"

    __repr__ = __str__


#: Any type, or any size of a dimension.
Dyn = _DynType()


def is_consistent(t1: Any, t2: Any) -> bool:
    """Return whether something may be of both types: the relation is symmetric, not transitive.

    Example:
      >>> from torchlike.fx.tensor_type import Dyn, TensorType, is_consistent
      >>> is_consistent(TensorType((2, Dyn)), TensorType((2, 3)))
      True
    """
    return _related(t1, t2, is_consistent, t1 == Dyn or t2 == Dyn)


def is_more_precise(t1: Any, t2: Any) -> bool:
    """Return whether the first type says at least what the second does.

    Example:
      >>> from torchlike.fx.tensor_type import Dyn, TensorType, is_more_precise
      >>> is_more_precise(TensorType((2, Dyn)), TensorType((2, 3)))
      False
    """
    return _related(t1, t2, is_more_precise, t2 == Dyn)


def _related(t1: Any, t2: Any, relation: Any, holds: bool) -> bool:
    if holds or t1 == t2:
        return True
    if isinstance(t1, TensorType) and isinstance(t2, TensorType):
        return len(t1.__args__) == len(t2.__args__) and all(map(relation, t1.__args__, t2.__args__))
    return False
