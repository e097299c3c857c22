"""Flax's trees of arrays as the parameters and buffers of a module, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from torchlike.nn import Module, Parameter
from torchlike.tensor import Tensor, from_jax


class VariableLeaf(NamedTuple):
    """Where a leaf of a tree is in the module, and for a key of ``jax.random`` its generator."""

    path: tuple[str, ...]
    generator: Any

    @property
    def name(self) -> str:
        return ".".join(self.path)

    def flax_array(self, array: Any) -> Any:
        return (
            array
            if self.generator is None
            else jax.random.wrap_key_data(array, impl=self.generator)
        )


class Variables(Module):
    """A node of a Flax module's tree of variables; it holds tensors and computes nothing."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            "a part of a Flax module holds its variables alone: call the whole module"
        )


class VariableTree:
    """A tree of arrays (``jax.tree.flatten`` takes it apart) whose leaves are tensors of a
    module: parameters, or buffers."""

    def __init__(self, root: Module, tree: Any, *, trained: bool) -> None:
        found, self.structure = jax.tree_util.tree_flatten_with_path(tree)
        self.leaves: list[VariableLeaf] = []
        for keys, array in found:
            array = jnp.asarray(array)
            generator = jax.random.key_impl(array) if is_key(array) else None
            leaf = VariableLeaf(_path(keys), generator)
            # A copy: an optimizer gives the memory of its parameters away.
            t = from_jax(jnp.copy(array if generator is None else jax.random.key_data(array)))
            place(root, leaf.path, Parameter(t) if trained and t.is_floating_point() else t)
            self.leaves.append(leaf)

    def tensors(self, root: Module) -> list[Tensor]:
        return [at(root, leaf.path) for leaf in self.leaves]

    def built(self, arrays: Sequence[Any]) -> Any:
        """Build the tree around arrays."""
        return jax.tree.unflatten(
            self.structure,
            [leaf.flax_array(a) for leaf, a in zip(self.leaves, arrays, strict=True)],
        )

    def changed(self, before: Sequence[Any], tree: Any, owner: str) -> dict[str, Any]:
        """Return, by number, the arrays that a call has put into the tree. Raises
        NotImplementedError for a tree of another structure."""
        after, structure = jax.tree.flatten(tree)
        if structure != self.structure:
            raise NotImplementedError(
                f"a call of {owner} adds or removes variables: call it once in Flax, so that they "
                "exist, before it becomes a torchlike module"
            )
        return {
            str(i): numbers(new)
            for i, (old, new) in enumerate(zip(before, after, strict=True))
            if new is not old
        }


def is_key(array: Any) -> bool:
    return jnp.issubdtype(getattr(array, "dtype", jnp.bool_), jax.dtypes.prng_key)


def numbers(array: Any) -> Any:
    """Return the array; for a key of ``jax.random``, its numbers."""
    return jax.random.key_data(array) if is_key(array) else array


def _path(keys: Any) -> tuple[str, ...]:
    """Return the names on the path to a leaf. A Flax variable is a node of its own around its
    value, which has none."""
    names = []
    for key in keys:
        name = getattr(key, "key", getattr(key, "name", getattr(key, "idx", None)))
        names.append(str(name))
    if len(names) > 1 and isinstance(keys[-1], jax.tree_util.GetAttrKey):
        names.pop()
    return tuple(names)


def place(root: Module, path: tuple[str, ...], t: Tensor) -> None:
    """Register a tensor under nested names, in `Variables`."""
    node = root
    for name in path[:-1]:
        inner = node._modules.get(name)
        if inner is None:
            inner = Variables()
            if _is_method(name):
                node._modules[name] = inner
            else:
                node.add_module(name, inner)
        node = inner
    name = path[-1]
    if _is_method(name):
        table: Any = node._parameters if isinstance(t, Parameter) else node._buffers
        table[name] = t
    elif isinstance(t, Parameter):
        node.register_parameter(name, t)
    else:
        node.register_buffer(name, t)


def at(root: Module, path: tuple[str, ...]) -> Tensor:
    """Return the tensor under nested names. It is looked up as an attribute, so that a compiled
    function knows when it is another one."""
    node: Any = root
    for name in path:
        if _is_method(name):
            found = node._modules.get(name, node._parameters.get(name))
            node = node._buffers[name] if found is None else found
        else:
            node = getattr(node, name)
    return node


def _is_method(name: str) -> bool:
    """Return whether modules have an attribute of this name: the variable is then in their tables
    alone."""
    return hasattr(Module, name)
