"""A tensor's one leaf in a pytree, and the storage of a tensor that JAX rebuilds around a leaf."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from torchlike._core import dtypes
from torchlike._core.cells import KINDS
from torchlike._core.storage import Storage
from torchlike._extensions.meta import MetaArray
from torchlike._extensions.tree_leaf import TreeLeaf
from torchlike.interop import cut
from torchlike.nn import Module
from torchlike.tensor import Tensor


def is_tensor_or_module(x: Any) -> bool:
    """Return whether ``x`` is looked at as one thing where a tree of JAX's is taken apart."""
    return isinstance(x, (Tensor, Module))


def leaf_of(t: Tensor) -> Any:
    """Return the array of a tensor; on the meta device a ``jax.ShapeDtypeStruct``."""
    array = t._read()
    kind = type(array)
    if kind is MetaArray:
        return jax.ShapeDtypeStruct(array.shape, array.dtype)
    if kind is TreeLeaf:
        return array.value
    cut.taken_apart(t, array)
    return t.jax()  # traced, where a capture runs


def storage_of(leaf: Any) -> Storage:
    """Return a storage from which `leaf_of` gives the leaf back.

    An array of NumPy's is shared memory, as in ``from_numpy``; a shape and a dtype alone make a
    meta tensor. JAX also rebuilds trees around whatever a function gave, and around placeholders.
    """
    if isinstance(leaf, jax.Array) or type(leaf) in KINDS:
        return Storage(leaf)
    if isinstance(leaf, np.ndarray) and dtypes.is_known(leaf.dtype):
        return Storage(None, leaf)
    if (
        isinstance(leaf, jax.ShapeDtypeStruct)
        and leaf.sharding is None
        and (dtypes.is_known(leaf.dtype))
    ):
        return Storage(MetaArray(leaf.shape, leaf.dtype))
    return Storage(TreeLeaf(leaf))
