"""A group of ``Optax``: its transformation and hyperparameters, its parameters for optax."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from torchlike.optim import optax_step
from torchlike.optim.optax_state import StateLayout
from torchlike.optim.optax_step import Itself, ParameterTree, Recipe, is_transformation
from torchlike.optim.optimizer import hyperparameter
from torchlike.tensor import Tensor

#: Entries of a group that are no hyperparameters of the transformation's function.
OWN = frozenset(("params", "param_names", "transformation", "maximize"))
#: What schedules write into groups beside the hyperparameters that they change.
_OF_SCHEDULES = frozenset(
    ("initial_lr", "max_lr", "min_lr", "base_momentum", "max_momentum", "swa_lr")
)


def complete(group: dict[str, Any]) -> None:
    """Check a group's transformation and hyperparameters, and add the rate that is its default."""
    transformation = group["transformation"]
    given = [name for name in group if name not in OWN]
    if is_transformation(transformation):
        if given:
            raise TypeError(
                f"Optax got {', '.join(given)} beside a transformation that is made already. Give "
                "it the function and its hyperparameters, Optax(params, optax.adam, lr=1e-3), "
                "or the transformation alone"
            )
        return
    taken = _parameters(transformation)
    name = getattr(transformation, "__name__", "the function")
    anything = any(p.kind is p.VAR_KEYWORD for p in taken.values())
    for given_name in given:
        if not anything and _named(given_name) not in taken:
            raise TypeError(
                f"{name} has no hyperparameter {_named(given_name)!r}; it takes {', '.join(taken)}"
            )
    rate = taken.get("learning_rate")
    if rate is not None and "lr" not in group:
        if rate.default is rate.empty:
            raise TypeError(f"{name} needs a rate: Optax(params, {name}, lr=...)")
        if rate.default is not None:
            group["lr"] = rate.default
    for parameter in taken.values():
        required = parameter.default is parameter.empty and parameter.kind in (
            parameter.POSITIONAL_OR_KEYWORD,
            parameter.KEYWORD_ONLY,
        )
        if required and parameter.name not in map(_named, group):
            raise TypeError(
                f"{name} needs {parameter.name!r}: Optax(params, {name}, {parameter.name}=...)"
            )
    recipe(group)  # what it returns is a transformation


@functools.lru_cache(maxsize=256)
def _parameters(function: Callable[..., Any]) -> Any:
    return inspect.signature(function).parameters


def _named(name: str) -> str:
    return "learning_rate" if name == "lr" else name


_PLAIN = (bool, int, float, str, type(None), Tensor, np.generic)


def unsaved(group: dict[str, Any]) -> list[str]:
    """Return the names of entries that no file holds: the transformation, and hyperparameters that
    are functions, arrays or trees of such."""

    def is_plain(value: Any) -> bool:
        if isinstance(value, (list, tuple)):
            return all(map(is_plain, value))
        return isinstance(value, _PLAIN)

    return [k for k, v in group.items() if not is_plain(v)]


def recipe(group: dict[str, Any]) -> tuple[Recipe, list[Callable[[], Any]]]:
    """Return the recipe of a group's transformation, and readers of its live hyperparameters."""
    transformation, maximize = group["transformation"], bool(group["maximize"])
    if is_transformation(transformation):
        return Recipe(transformation, maximize=maximize), []
    names = [k for k in group if k not in OWN and k not in _OF_SCHEDULES]
    live = [
        k
        for k in names
        if isinstance(group[k], (Tensor, float, np.floating))
        or (k == "lr" and type(group[k]) is int)
    ]

    def fixed(without: Sequence[str]) -> tuple[tuple[str, Any], ...]:
        return tuple([(_named(k), _hashable(group[k])) for k in names if k not in without])

    for chosen in (live, [k for k in live if k == "lr"], []):
        passed = tuple(map(_named, chosen))
        if optax_step.takes_traced(transformation, fixed(chosen), passed):
            readers = [hyperparameter(group, k) for k in chosen]
            return Recipe(transformation, fixed(chosen), passed, maximize), readers
    raise TypeError(f"{transformation!r} cannot be made inside of a compiled step")


def _hashable(value: Any) -> Any:
    """Return a hyperparameter as part of a key; one without a hash (a dictionary, an array) equals
    itself alone."""
    if isinstance(value, Tensor):
        return value.item()
    try:
        hash(value)
    except TypeError:
        return Itself(value)
    return value


def tree(group: dict[str, Any]) -> ParameterTree:
    """Return the structure of a group's parameters as optax sees them. Raises ValueError for a name
    twice."""
    names = group.get("param_names")
    if names is not None and len(set(names)) < len(names):
        raise ValueError("Optax needs a name of its own for each parameter of a group")
    return ParameterTree(None if names is None else tuple(names))


def layout(recipe: Recipe, tree: ParameterTree, params: Sequence[Tensor]) -> StateLayout:
    return optax_step.layout_for(
        recipe, tree, tuple([(tuple(p.shape), p.dtype.numpy) for p in params])
    )
