"""Tensors are pytrees: jax.jit, jax.grad, jax.tree.map, optax and chex take them as they are.

The one leaf of a tensor is its array; a transformed tensor is a new one without history.
"""

from __future__ import annotations

from typing import Any

import jax

from torchlike.storage import Storage
from torchlike.tensor import Tensor


def _flatten(t: Tensor) -> tuple[tuple[Any], None]:
    return (t.jax(),), None


def _unflatten(_: None, leaves: Any) -> Tensor:
    t = object.__new__(Tensor)
    # JAX also rebuilds trees around placeholders, so the leaf need not be an array.
    t._storage = Storage(leaves[0])
    return t


jax.tree_util.register_pytree_node(Tensor, _flatten, _unflatten)
