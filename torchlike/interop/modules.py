"""Modules are pytrees: their parameters and buffers are the leaves.

So ``jax.grad``, ``jax.jit``, ``jax.tree.map`` and optax take a module as they take a tensor. The
structure, which JAX compares, is the classes, the plain attributes (``training`` among them) and
the names; a transformed module is a new one with the same structure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from torchlike._core.provided import for_each_subclass
from torchlike._jit.guards.keys import ObjectKey, static_key
from torchlike.interop.leaves import leaf_of, storage_of
from torchlike.nn import Module
from torchlike.tensor import Tensor

_TABLES = ("_parameters", "_buffers", "_modules")


class Structure:
    """All of a module but its tensors' values; equal for modules built alike."""

    __slots__ = ("_key", "template")

    def __init__(self, template: Module, key: Any) -> None:
        self.template = template
        self._key = key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Structure) and other._key == self._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"Structure of {type(self.template).__name__}"


def _attribute_key(value: Any) -> Any:
    if type(value) in (tuple, list):
        return type(value), tuple(_attribute_key(v) for v in value)
    if isinstance(value, dict):
        return type(value), tuple((_attribute_key(k), _attribute_key(v)) for k, v in value.items())
    if isinstance(value, set):
        return type(value), frozenset(_attribute_key(v) for v in value)
    if isinstance(value, np.ndarray):
        return ObjectKey(value)
    return static_key(value)


def _key_of(module: Module) -> tuple[Any, ...]:
    own = module.__dict__
    plain = tuple(
        (name, _attribute_key(value)) for name, value in sorted(own.items()) if name not in _TABLES
    )
    tensors = tuple(
        (table, name, type(t), t is not None and t._requires_grad)
        for table in _TABLES[:2]
        for name, t in own[table].items()
    )
    children = tuple(
        (name, None if child is None else _key_of(child)) for name, child in own["_modules"].items()
    )
    return type(module), plain, tensors, children


def _places(module: Module) -> list[tuple[dict[str, Any], str]]:
    """Return each place that holds a tensor in the module and those inside it, in one fixed
    order."""
    found = []
    for table in _TABLES[:2]:
        found += [
            (module.__dict__[table], n) for n, t in module.__dict__[table].items() if t is not None
        ]
    for child in module.__dict__["_modules"].values():
        if child is not None:
            found += _places(child)
    return found


def tensors_of(module: Module) -> dict[int, Tensor]:
    """Return the module's tensors by their id; one that stands in several places comes once."""
    return {id(table[name]): table[name] for table, name in _places(module)}


def flatten(module: Module) -> tuple[tuple[Any, ...], Structure]:
    places = [table[name] for table, name in _places(module)]
    tensors = tensors_of(module)
    order = {key: i for i, key in enumerate(tensors)}
    shared = tuple(order[id(t)] for t in places)
    arrays = tuple(map(leaf_of, tensors.values()))
    return arrays, Structure(module, (_key_of(module), shared))


def put(module: Module, values: Mapping[str, Tensor]) -> None:
    """Put tensors into a module's tables, by the names of its parameters and buffers; one that
    stands in several places is put into each."""
    new: dict[int, Tensor] = {}
    kept = []  # while they live, their ids are theirs alone
    for name, old in [*module.named_parameters(), *module.named_buffers()]:
        if name in values:
            kept.append(old)
            made = new[id(old)] = old._on(values[name]._storage)
            vars(made).update({k: v for k, v in vars(old).items() if k in _KEPT})
            made._requires_grad = old._requires_grad
    for table, name in _places(module):
        table[name] = new.get(id(table[name]), table[name])


def twin(module: Module) -> Module:
    """Return a module of the same structure, whose tables are its own."""
    made = object.__new__(type(module))
    made.__dict__.update(module.__dict__)
    for table in _TABLES[:2]:
        made.__dict__[table] = dict(module.__dict__[table])
    made.__dict__["_modules"] = {
        name: None if child is None else twin(child)
        for name, child in module.__dict__["_modules"].items()
    }
    return made


def unflatten(structure: Structure, leaves: Any) -> Module:
    template = structure.template
    made = twin(template)
    tensors = {}
    for (key, old), leaf in zip(tensors_of(template).items(), leaves, strict=True):
        new = tensors[key] = old._on(storage_of(leaf))
        vars(new).update({k: v for k, v in vars(old).items() if k in _KEPT})
        new._requires_grad = old._requires_grad
    for (table, name), (old_table, _) in zip(_places(made), _places(template), strict=True):
        table[name] = tensors[id(old_table[name])]
    return made


#: Fields that a parameter's or buffer's class adds.
_KEPT = frozenset(("persistent", "_is_buffer", "_is_param"))


def _register(cls: type) -> None:
    jax.tree_util.register_pytree_node(cls, flatten, unflatten)


_register(Module)
for_each_subclass(Module, _register)  # JAX registers each class by itself
