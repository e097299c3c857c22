"""``copy.deepcopy`` of tensors."""

from __future__ import annotations

import copy as copying
from typing import Any

from torchlike._core import errors, modes
from torchlike.tensor import Tensor, add_method, parts_of_state


def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Any:
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(errors.DEEPCOPY_NON_LEAF)
    if self._handles:
        return _copied_by_its_class(self, memo)
    # Tensors that shared a storage share the copied one.
    key = id(self._storage)
    if key not in memo:
        memo[key] = storage = self._storage.alike(self._storage.read())
        storage.strides = self._storage.strides
    memo[id(self)] = copy = self._on(memo[key], self._view)
    copy._requires_grad = self._requires_grad
    return _with_copied_state(self, copy, memo)


def _with_copied_state(self: Tensor, copy: Any, memo: dict[int, Any]) -> Any:
    """Give ``copy`` copies of the gradient, attributes and slots of this tensor; return it."""
    if self._grad is not None:
        copy._grad = self._grad.__deepcopy__(memo)
    own, slots = parts_of_state(Tensor.__getstate__(self))
    vars(copy).update(copying.deepcopy(own, memo))
    for name, value in slots.items():
        setattr(copy, name, copying.deepcopy(value, memo))
    return copy


def _copied_by_its_class(self: Tensor, memo: dict[int, Any]) -> Any:
    """Return what ``clone()`` gives of a wrapper subclass, with copies of what was set on it.
    RuntimeError for another class."""
    with modes.unrecorded():
        made = self.clone()
    if type(made) is not type(self):
        raise RuntimeError(
            "The default implementation of __deepcopy__() for wrapper subclasses only works "
            "for subclass types that implement clone() and for which cloning returns another "
            "instance of the same subclass. You should either properly implement clone() for "
            "your subclass or override __deepcopy__() if it is intended behavior for clone() "
            "to return an instance of a different type."
        )
    memo[id(self)] = made
    made._requires_grad = self._requires_grad
    return _with_copied_state(self, made, memo)


add_method("__deepcopy__", __deepcopy__)
