"""Single equations of a program, evaluated again with other axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
from jax import lax
from jax._src.core import extend_axis_env_nd
from jax.sharding import NamedSharding

from torchlike._runtime.first_calls.internals import internals

#: For the names of axes the names that stand in their place.
Axes = Mapping[str, tuple[str, ...]]


def evaluator(primitive: Any, params: Mapping[str, Any]) -> Callable[..., Sequence[Any]]:
    """Return an equation as a function of its operands that gives all its results."""
    # What a result was made alike says of its mesh: that is the region's here.
    params = {name: None if is_place(value) else value for name, value in params.items()}
    bound = primitive.get_bind_params(params)
    functions, rest = bound if isinstance(bound, tuple) else ((), bound)  # as JAX 0.10 has it

    def evaluate(*args: Any) -> Sequence[Any]:
        found = primitive.bind(*functions, *args, **rest)
        return found if primitive.multiple_results else (found,)

    return evaluate


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
    with extend_axis_env_nd([(axis, size)]):
        closed = jax.make_jaxpr(body)(*shapes)
    program, axes = closed.jaxpr, {axis: (name,)}
    env: dict[Any, Any] = dict(zip(program.constvars, closed.consts, strict=True))
    env.update(zip(program.invars, arrays, strict=True))

    def read(v: Any) -> Any:
        return v.val if type(v) is internals.literal else env[v]

    with extend_axis_env_nd([(name, size)]):
        for eqn in program.eqns:
            is_over = axis in axes_in(eqn.params)
            run = over_axes(eqn, axes) if is_over else evaluator(eqn.primitive, eqn.params)
            env.update(zip(eqn.outvars, run(*map(read, eqn.invars)), strict=True))
    return list(map(read, program.outvars))
