"""Tensors are pytrees: jax.jit, jax.grad, jax.tree.map, optax and chex take them as they are.

The one leaf of a tensor is its array; a transformed tensor is a new one without history. A
Parameter becomes a Parameter again, a tensor of another subclass one of its class. JAX tells the
classes apart: a tree of Parameters and one of plain tensors (their ``.grad``) are two structures,
and ``arrays`` makes them alike.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import jax

from torchlike._core.provided import for_each_subclass
from torchlike._runtime.jax_private.frames import ABSTRACTING
from torchlike._runtime.patches import at_import
from torchlike.interop import cut
from torchlike.interop.leaves import leaf_of, storage_of
from torchlike.nn import Module, Parameter
from torchlike.tensor import FIELDS, Tensor, add_method


def _flatten(t: Tensor) -> tuple[tuple[Any], None]:
    return (leaf_of(t),), None


def _unflatten(_: None, leaves: Any) -> Tensor:
    return Tensor._on(storage_of(leaves[0]))


class _Kind:
    """All of a tensor of a subclass but its value. JAX compares the class and, of a Parameter,
    whether it requires grad; further attributes are those of the tensor taken apart."""

    __slots__ = ("attributes", "cls", "requires_grad")

    def __init__(self, t: Tensor) -> None:
        self.cls = type(t)
        self.requires_grad = isinstance(t, Parameter) and t._requires_grad
        self.attributes = {k: v for k, v in vars(t).items() if k not in FIELDS}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Kind) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.cls, self.requires_grad

    def __repr__(self) -> str:
        return "requires_grad" if self.requires_grad else ""


def _flatten_subclass(t: Tensor) -> tuple[tuple[Any], _Kind]:
    return (leaf_of(t),), _Kind(t)


def _unflatten_subclass(kind: _Kind, leaves: Any) -> Tensor:
    t = kind.cls._on(storage_of(leaves[0]))
    vars(t).update(kind.attributes)
    t._requires_grad = kind.requires_grad
    return t


at_import.PYTREES.note()
jax.tree_util.register_pytree_node(Tensor, _flatten, _unflatten)
for_each_subclass(
    Tensor,
    lambda cls: jax.tree_util.register_pytree_node(cls, _flatten_subclass, _unflatten_subclass),
)


class _JaxArray:
    """``__jax_array__``, by which JAX's functions take a tensor for its value.

    Where JAX wants arrays alone it asks whether there is such a method, to say that it does not
    help; here is said what does.
    """

    def __get__(self, t: Tensor | None, owner: Any = None) -> Any:
        if t is None:
            return self
        if sys._getframe(1).f_code.co_name in ABSTRACTING:
            raise ValueError(
                "JAX got a torchlike.Tensor where it takes arrays alone: give it tensor.jax(). A "
                "function for jax.grad returns result.jax(), or is made one of JAX's by "
                "torchlike.to_jax_function(function)."
            )
        return functools.partial(_converted, t)


def _converted(t: Tensor) -> jax.Array:
    array = t._read()
    cut.converted(t, array)
    return t.jax()  # traced, where a capture runs


add_method("__jax_array__", _JaxArray())
#: What NumPy (2.4 and later) and JAX ask for where they want to know the dtype alone.
add_method("__numpy_dtype__", property(lambda self: self.dtype.numpy))


def arrays(tree: Any) -> Any:
    """Return a pytree with each tensor replaced by its array (``t.jax()``).

    For JAX's libraries where tensors meet arrays, or Parameters plain tensors: trees of different
    classes are different structures to JAX. ``arrays(dict(module.named_parameters()))`` and
    ``arrays({n: p.grad for n, p in module.named_parameters()})`` are alike, and so are
    ``arrays(tensor)`` and an array in chex's assertions.

    Args:
      tree: tensors and modules in tuples, lists, dictionaries and other pytrees.

    Returns:
      the tree with arrays; for a module the dictionary of its ``state_dict()``'s arrays. Other
      leaves are as they were.

    Example:
      >>> torchlike.interop.arrays({"w": torch.zeros(2), "n": 3})
      {'n': 3, 'w': Array([0., 0.], dtype=float32)}
    """

    def plain(x: Any) -> Any:
        if isinstance(x, Module):
            return {name: t.jax() for name, t in x.state_dict().items()}
        return x.jax() if isinstance(x, Tensor) else x

    return jax.tree.map(plain, tree, is_leaf=lambda x: isinstance(x, (Tensor, Module)))
