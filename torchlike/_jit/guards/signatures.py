"""Signatures of tensors: what of one chooses the program, among the arguments or in a slot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from torchlike._core.tensor_copies import FIELDS
from torchlike._jit.capture.slots import hooks_of
from torchlike._jit.guards.keys import ObjectKey, static_key
from torchlike.tensor import Tensor

#: The signature of a tensor that has nothing but a storage on the device, in the usual order.
#: Before these come shape and dtype, and behind the fourth which earlier tensor it shares memory
#: with.
PLAIN = None, None, False, True, Tensor, (), None
#: The fields of a tensor that has no history, hooks, base or attributes of its user's.
_STORED = frozenset(("_storage", "_view"))


def signature(t: Tensor, first: dict[int, int]) -> tuple[Any, ...]:
    """Return the parts of a tensor on which a program depends, and which earlier tensor it shares
    memory with."""
    storage = t._storage
    alias = first.setdefault(id(storage), len(first))
    view = t._view
    chain = None if view is None else (view.steps, view.dynamic)
    own = t.__dict__
    if len(own) == 1 and storage.host is None:  # as most are: nothing but a storage
        array = storage.cell
        return (
            array.shape,
            array.dtype,
            storage.strides,
            None,
            False,
            True,
            alias,
            type(t),
            (),
            None,
        )
    if own.keys() <= _STORED:
        return (
            storage.shape,
            storage.dtype,
            storage.strides,
            chain,
            False,
            True,
            alias,
            type(t),
            (),
            None,
        )
    users = (
        ()
        if own.keys() <= FIELDS
        else tuple([(k, static_key(v)) for k, v in own.items() if k not in FIELDS])
    )
    if t._inference:  # x.is_inference() is a bool to Python
        users += (("is_inference()", True),)
    return (
        storage.shape,
        storage.dtype,
        storage.strides,
        chain,
        t.requires_grad,
        t._node is None,
        alias,
        type(t),
        users,
        None if t._hooks is None else hooks_of(t),
    )


def is_plain(tensor: str, local: str, shape: Any, dtype: Any, name: Callable[[Any], str]) -> str:
    """Return source that is true only of a tensor whose signature is `PLAIN`, of this shape and
    dtype.

    It calls the tensor, its storage and its array ``t{local}``, ``s{local}`` and ``a{local}``.
    """
    t, s, a = (f"{letter}{local}" for letter in "tsa")
    return (
        f"type({t} := {tensor}) is {name(Tensor)} and len({t}.__dict__) == 1"
        f" and ({s} := {t}._storage).host is None and {s}.strides is None"
        f" and ({a} := {s}.cell).shape == {name(shape)} and {a}.dtype is {name(dtype)}"
    )


def describe_slot(value: Any) -> Any:
    """Return the part of a slot's value on which a program depends. In its place True says that the
    slot is None, False that there is none."""
    if isinstance(value, Tensor):
        return signature(value, {})
    return ObjectKey(value) if isinstance(value, np.ndarray) else ("value", static_key(value))
