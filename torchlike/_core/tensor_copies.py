"""Copies of tensors, and what pickles keep of one beside its storage."""

from __future__ import annotations

import copy as copying
import copyreg
from typing import Any

from torchlike._core import errors, modes
from torchlike._core.tensor_class import TensorFields

#: The attributes that are the tensor itself; anything else in __dict__ is the user's.
FIELDS = frozenset(
    (
        "_storage",
        "_view",
        "_base",
        "_requires_grad",
        "_node",
        "_output_nr",
        "_grad",
        "_history",
        "_made_by",
        "_accumulator",
        "_hooks",
        "_inference",
        "_retained",
    )
)


class TensorCopies(TensorFields):
    """Copy a ``Tensor`` with ``copy.deepcopy``, and tell pickles what was set on it."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        if not self.is_leaf:
            raise RuntimeError(errors.DEEPCOPY_NON_LEAF)
        if self._handles:
            return self._copied_by_its_class(memo)
        # Tensors that shared a storage share the copied one.
        key = id(self._storage)
        if key not in memo:
            memo[key] = storage = self._storage.alike(self._storage.read())
            storage.strides = self._storage.strides
        memo[id(self)] = copy = self._on(memo[key], self._view)
        copy._requires_grad = self._requires_grad
        return self._with_copied_state(copy, memo)

    def _with_copied_state(self, copy: Any, memo: dict[int, Any]) -> Any:
        """Give ``copy`` copies of the gradient, attributes and slots of this tensor; return it."""
        if self._grad is not None:
            copy._grad = self._grad.__deepcopy__(memo)
        own, slots = parts_of_state(TensorCopies.__getstate__(self))
        vars(copy).update(copying.deepcopy(own, memo))
        for name, value in slots.items():
            setattr(copy, name, copying.deepcopy(value, memo))
        return copy

    def _copied_by_its_class(self, memo: dict[int, Any]) -> Any:
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
        return self._with_copied_state(made, memo)

    def __getstate__(self) -> Any:
        """Return what was set on the tensor: its attributes, or None. Where its class has slots,
        these and the slots that are filled."""
        own = {k: v for k, v in self.__dict__.items() if k not in FIELDS} or None
        names = copyreg._slotnames(type(self))  # type: ignore[attr-defined]
        slots = {name: getattr(self, name) for name in names if hasattr(self, name)}
        return (own, slots) if slots else own


def set_state(t: Any, state: object) -> Any:
    """Give ``t`` what ``__getstate__`` told of another tensor, which its class may take in a way of
    its own; return it."""
    if hasattr(t, "__setstate__"):
        t.__setstate__(state)
        return t
    for part in parts_of_state(state):
        for name, value in part.items():
            setattr(t, name, value)
    return t


def parts_of_state(state: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return attributes and slots. RuntimeError for a tuple of another length."""
    if isinstance(state, tuple) and len(state) != 2:
        raise RuntimeError(f"Invalid serialized state: {state}")
    own, slots = state if isinstance(state, tuple) else (state, None)
    return own or {}, slots or {}
