"""Tensors whose one value is known while operators are faked or recorded, through what is done with
them: ``torch.tensor(3.0)``, a view of it, a sum of two, one that was written in place."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from torchlike._ops.aten.tags import Tag
from torchlike.ops._aten.handlers import tensors_of, unhandled
from torchlike.tensor import Tensor
from torchlike.utils import _pytree as pytree


def is_one_value(t: Tensor) -> bool:
    """Return whether a tensor is small enough for its value to be followed: PyTorch follows one
    number."""
    return t.numel() <= 1 and not t.is_sparse and not t.is_meta


class Constants:
    """Follows constants, which are plain tensors beside those that a program sees."""

    def __init__(self) -> None:
        #: The memory of constants that something unknown was written into.
        self._overwritten: weakref.WeakSet[Any] = weakref.WeakSet()

    def valid(self, constant: Tensor | None) -> Tensor | None:
        """Return the constant, or None once it does not say the value any more."""
        gone = constant is None or constant._storage in self._overwritten
        return None if gone else constant

    def after(
        self, func: Any, args: Any, kwargs: Any, known: Callable[[Tensor], Tensor | None]
    ) -> Sequence[Tensor] | None:
        """Run an operator on constants, and return those of the tensors that it gives, in order;
        None where they are not known. What it writes is written into the constants too, or these
        are known no longer.

        known: the constant of a tensor, None for none.
        """
        given = tensors_of((*args, *kwargs.values()))
        constants = {id(t): c for t in given if (c := known(t)) is not None}
        if not constants:
            return None
        varying = {Tag.nondeterministic_seeded, Tag.inplace_view} & set(func.tags)
        if not varying and all(id(t) in constants for t in given):
            args_, kwargs_ = pytree.tree_map(lambda a: constants.get(id(a), a), (args, kwargs))
            with unhandled():
                made = tensors_of(pytree.tree_leaves(func(*args_, **kwargs_)))
            if all(map(is_one_value, made)):
                return made
            self._overwritten.update(v._storage for v in made)
        names = [a.name for a in func._schema.arguments]
        values = dict(zip(names, args, strict=False)) | kwargs
        for argument in func._schema.arguments:
            for t in tensors_of([values.get(argument.name)]) if argument.is_written else ():
                if id(t) in constants:
                    self._overwritten.add(constants[id(t)]._storage)
        return None
