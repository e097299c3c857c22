"""The tensors of nested values, by name: what comparisons of a function's calls go through."""

from __future__ import annotations

import copy
from typing import Any

import jax

from torchlike.nn import Module
from torchlike.tensor import Tensor


def _is_leaf(x: Any) -> bool:
    return x is None or isinstance(x, (Tensor, Module))


def named_leaves(tree: Any, name: str) -> dict[str, Any]:
    """Return each leaf under a name such as ``result['loss'][0]``: tensors, and Python values. A
    module stands for its parameters and buffers. Lists, dictionaries, named tuples, dataclasses of
    chex and whatever else JAX knows as a pytree are looked into."""
    found: dict[str, Any] = {}
    for path, leaf in jax.tree_util.tree_flatten_with_path(tree, is_leaf=_is_leaf)[0]:
        where = name + jax.tree_util.keystr(path)
        if isinstance(leaf, Module):
            found.update({f"{where}.{n}": t for n, t in leaf.named_parameters()})
            found.update({f"{where}.{n}": t for n, t in leaf.named_buffers()})
        else:
            found[where] = leaf
    return found


def named_tensors(tree: Any, name: str) -> dict[str, Tensor]:
    """Return the leaves of ``named_leaves`` that are tensors."""
    return {n: t for n, t in named_leaves(tree, name).items() if isinstance(t, Tensor)}


def named_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the leaves of a call's arguments: ``argument 0``, ``argument 'mask'``."""
    found: dict[str, Any] = {}
    for key, value in (*enumerate(args), *kwargs.items()):
        found.update(named_leaves(value, f"argument {key!r}"))
    return found


def copied(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Copy arguments to memory of their own: strides are kept, and what shared memory shares it.

    ValueError for a tensor with a history, whose gradient would be lost.
    """
    for name, leaf in named_arguments(args, kwargs).items():
        if isinstance(leaf, Tensor) and not leaf.is_leaf:
            raise ValueError(
                f"{name} was computed from tensors that require grad, and is to be copied for each "
                "run: give .detach(), with .requires_grad_() where its gradient is to be compared."
            )
    return copy.deepcopy((args, kwargs))
