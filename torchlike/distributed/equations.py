"""Single equations of a program, evaluated again with other axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
from jax import lax
from jax.sharding import NamedSharding

from torchlike._runtime.jax_private import primitives, tracing
from torchlike._runtime.jax_private.equations import interpret

#: For the names of axes the names that stand in their place.
Axes = Mapping[str, tuple[str, ...]]


def evaluator(primitive: Any, params: Mapping[str, Any]) -> Callable[..., Sequence[Any]]:
    """Return an equation as a function of its operands that gives all its results."""
    # What a result was made alike says of its mesh: that is the region's here.
    params = {name: None if is_place(value) else value for name, value in params.items()}
    return primitives.evaluator(primitive, params)


def is_place(parameter: Any) -> bool:
    """Return whether a parameter of an equation says where something lies."""
    return isinstance(parameter, NamedSharding)


def axes_in(params: Mapping[str, Any]) -> set[str]:
    """Return the strings among an equation's parameters, which may be names of axes."""
    return {
        x
        for p in params.values()
        for x in (p if isinstance(p, tuple) else (p,))
        if isinstance(x, str)
    }


def over_axes(eqn: Any, axes: Axes) -> Callable[..., Sequence[Any]]:
    """Return a collective, or an equation that asks for the rank, as a function of its operands,
    over other axes."""
    if eqn.primitive.name == "axis_index":
        names = axes[eqn.params["axis_name"]]
        return lambda: (lax.axis_index(names),)
    found = dict(eqn.params)
    for name, value in eqn.params.items():
        if isinstance(value, tuple):
            if any(isinstance(v, str) and v in axes for v in value):
                found[name] = tuple(
                    a for v in value for a in (axes.get(v, (v,)) if isinstance(v, str) else (v,))
                )
        elif isinstance(value, str) and value in axes:
            found[name] = axes[value]
    return evaluator(eqn.primitive, found)


def traced_over(
    axis: str, name: str, size: int, body: Callable[..., tuple[Any, ...]], arrays: Sequence[Any]
) -> list[Any]:
    """Return the results of ``body``, whose collectives are over ``axis``, as if they were over
    ``name``, an axis of the same ``size``."""
    shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arrays]
    with tracing.over_axes([(axis, size)]):
        closed = jax.make_jaxpr(body)(*shapes)
    program, axes = closed.jaxpr, {axis: (name,)}

    def run(eqn: Any, operands: list[Any]) -> Sequence[Any]:
        is_over = axis in axes_in(eqn.params)
        function = over_axes(eqn, axes) if is_over else evaluator(eqn.primitive, eqn.params)
        return function(*operands)

    with tracing.over_axes([(name, size)]):
        return interpret(program, closed.consts, arrays, run)
