"""An optax state as named tensors, and back.

``Optax`` keeps the state of a group under names such as ``[0].mu['weight']``, the places of its
leaves in optax's own tree: a checkpoint of it is a plain dictionary of tensors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np


class StateLayout(NamedTuple):
    """The tree of a state, and of each leaf its name, its shape and dtype, and for a key of
    ``jax.random`` the generator that it is for (a tensor holds the key's numbers)."""

    tree: Any
    names: tuple[str, ...]
    avals: tuple[Any, ...]
    generators: tuple[Any, ...]

    def state(self, arrays: Sequence[Any]) -> Any:
        """Return optax's state built around arrays."""
        leaves = [
            a if generator is None else jax.random.wrap_key_data(a, impl=generator)
            for a, generator in zip(arrays, self.generators, strict=True)
        ]
        return jax.tree.unflatten(self.tree, leaves)

    def arrays(self, state: Any) -> list[Any]:
        """Return the arrays of a state of this layout, in the dtypes that they had.

        ValueError for one that optax gave another structure or shape.
        """
        leaves, tree = jax.tree.flatten(state)
        if tree != self.tree:
            raise ValueError(
                f"the transformation's state changed its structure from {self.tree} "
                f"to {tree}: a step has to keep it"
            )
        found = []
        for name, aval, leaf in zip(self.names, self.avals, leaves, strict=True):
            array = jnp.asarray(_numbers(leaf), aval.dtype)
            if array.shape != aval.shape:
                raise ValueError(
                    f"the transformation's state {name} changed its shape from "
                    f"{aval.shape} to {array.shape}"
                )
            found.append(array)
        return found

    def check(self, saved: Mapping[str, Any], where: str) -> None:
        """Raise ValueError for tensors that are no state of this layout."""
        missing = [n for n in self.names if n not in saved]
        more = [n for n in saved if n not in self.names]
        if missing or more:
            raise ValueError(
                f"loaded state dict is of another transformation: {where} has no {missing[:3]} and "
                f"{more[:3]} too many"
            )
        for name, aval in zip(self.names, self.avals, strict=True):
            shape = tuple(saved[name].shape)
            if shape != aval.shape:
                raise ValueError(
                    f"loaded state dict has shape {shape} for {name} of {where}, the "
                    f"transformation {aval.shape}"
                )


def layout_of(state: Any) -> StateLayout:
    """Return the layout of a state, whose leaves may be shapes alone (``jax.eval_shape``)."""
    found, tree = jax.tree_util.tree_flatten_with_path(state)
    names = tuple([jax.tree_util.keystr(path) for path, _ in found])
    generators = tuple([_generator(leaf) for _, leaf in found])
    avals = tuple([jax.eval_shape(lambda x: jnp.asarray(_numbers(x)), leaf) for _, leaf in found])
    return StateLayout(tree, names, avals, generators)


def _generator(leaf: Any) -> Any:
    """Return the generator that a typed key is for; None for any other leaf."""
    told: list[Any] = []
    if _is_key(leaf):
        jax.eval_shape(lambda key: told.append(jax.random.key_impl(key)), leaf)
    return told[0] if told else None


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(getattr(leaf, "dtype", np.bool_), jax.dtypes.prng_key)


def _numbers(leaf: Any) -> Any:
    """Return a leaf's array; for a typed key, its numbers."""
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf
