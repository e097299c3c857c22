"""One step of an optax transformation as one compiled function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from torchlike._core.dispatch.executable import unwatched
from torchlike._runtime import first_calls, targets, x64
from torchlike._runtime.inlining import AT_ONCE
from torchlike._runtime.jax_private.primitives import convert
from torchlike._runtime.lazy import LazyModule
from torchlike.optim.optax_state import StateLayout, layout_of

optax: Any = LazyModule("optax")


class NeedsEvaluations(Exception):
    """The transformation evaluates the loss at other parameters: it searches along a line."""


#: Under which name the closure's loss is among the further arguments.
OF_CLOSURE = "the closure's loss"


class ParameterTree(NamedTuple):
    """A group's parameters as optax sees them: a list, or a dictionary by their names."""

    names: tuple[str, ...] | None

    def built(self, leaves: Sequence[Any]) -> Any:
        return list(leaves) if self.names is None else dict(zip(self.names, leaves, strict=True))

    def leaves(self, tree: Any) -> list[Any]:
        return list(tree) if self.names is None else [tree[name] for name in self.names]


class Itself:
    """A value that equals itself alone."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Itself) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def made(
    function: Callable[..., Any],
    fixed: Sequence[tuple[str, Any]],
    live: Sequence[str],
    numbers: Sequence[Any],
) -> Any:
    """Call a function on hyperparameters, fixed and live, and return what it makes."""
    plain = {k: v.value if type(v) is Itself else v for k, v in fixed}
    return function(**plain, **dict(zip(live, numbers, strict=True)))


class Recipe(NamedTuple):
    """What makes a group's transformation: itself, or a function and its hyperparameters."""

    transformation: Any
    #: Hyperparameters compiled in, as (name, value).
    fixed: tuple[tuple[str, Any], ...] = ()
    #: Those that are operands of the step, floats, in order.
    live: tuple[str, ...] = ()
    maximize: bool = False

    def made(self, numbers: tuple[Any, ...]) -> Any:
        """Return the transformation with these live hyperparameters."""
        found = self.transformation
        if not is_transformation(found):
            found = made(found, self.fixed, self.live, numbers)
        return optax.with_extra_args_support(found)


class Extra(NamedTuple):
    """Further arguments of ``update``: their tree, its leaves that are no arrays, by place."""

    tree: Any
    plain: tuple[tuple[int, Any], ...]

    def arguments(self, arrays: tuple[Any, ...]) -> dict[str, Any]:
        it, plain = iter(arrays), dict(self.plain)
        leaves = [plain[i] if i in plain else next(it) for i in range(self.tree.num_leaves)]
        return jax.tree.unflatten(self.tree, leaves)


def is_transformation(x: Any) -> bool:
    """Return whether ``x`` is a GradientTransformation (a pair of ``init`` and ``update``)."""
    return hasattr(x, "init") and hasattr(x, "update")


def as_python_float(x: Any) -> Any:
    """Return a scalar that promotes as a Python float does: float32 parameters stay float32."""
    return convert(jnp.asarray(x, jnp.float64), jnp.dtype("float64"), True)


def stepped(
    recipe: Recipe,
    layout: StateLayout,
    tree: ParameterTree,
    has_gradient: tuple[bool, ...],
    extra: Extra,
    value_fn: Any,
    owned: Any,
    gradients: Any,
    numbers: Any,
    arrays: Any,
) -> list[Any]:
    """Return the parameters and the state after a step, from those before, which ``owned`` lists.

    ``value_fn`` gives the loss for other parameters; None where there is no closure.
    """
    n = len(has_gradient)
    params = list(owned[:n])
    given = iter(gradients)
    whole = [
        next(given).astype(p.dtype) if has else jnp.zeros_like(p)
        for p, has in zip(params, has_gradient, strict=True)
    ]
    if recipe.maximize:
        whole = [-g for g in whole]
    before, tree_of_gradients = tree.built(params), tree.built(whole)
    transformation = recipe.made(tuple(map(as_python_float, numbers)))
    arguments = extra.arguments(arrays)
    if value_fn is not None:
        value = arguments.pop(OF_CLOSURE)
        offered = {"value": value, "grad": tree_of_gradients, "value_fn": value_fn}
        arguments = {**_taken(transformation.update, offered), **arguments}
    updates, state = transformation.update(
        tree_of_gradients, layout.state(owned[n:]), before, **arguments
    )
    after = tree.leaves(optax.apply_updates(before, updates))
    kept = [
        new.astype(p.dtype) if has else p
        for new, p, has in zip(after, params, has_gradient, strict=True)
    ]
    return [*kept, *layout.arrays(state)]


def _taken(update: Callable[..., Any], offered: dict[str, Any]) -> dict[str, Any]:
    """Return those of the arguments offered that a function takes."""
    parameters = inspect.signature(update).parameters
    anything = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return {k: v for k, v in offered.items() if anything or k in parameters}


#: How many compiled steps are kept; of more, the one unused for longest goes.
_MOST = 256


def _never(params: Any) -> Any:
    raise NeedsEvaluations


@functools.lru_cache(maxsize=_MOST)
def compiled(
    recipe: Recipe,
    layout: StateLayout,
    tree: ParameterTree,
    has_gradient: tuple[bool, ...],
    extra: Extra,
    with_closure: bool,
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return `stepped` compiled, without and with donation of parameters and state.

    NeedsEvaluations, where it is called first, of a transformation that calls ``value_fn``.
    """

    def step(owned: Any, gradients: Any, numbers: Any, arrays: Any) -> tuple[Any, ...]:
        x64.require()
        value_fn = _never if with_closure else None
        return tuple(
            stepped(
                recipe,
                layout,
                tree,
                has_gradient,
                extra,
                value_fn,
                owned,
                gradients,
                numbers,
                arrays,
            )
        )

    name = f"optax step {getattr(recipe.transformation, '__name__', '')}".rstrip()
    precise = unwatched(targets.precise(step))
    plain = first_calls.jit(precise, name=name, inline=AT_ONCE)
    return plain, first_calls.jit(precise, name=name, like=plain, donate_argnums=0)


@functools.lru_cache(maxsize=_MOST)
def initial(recipe: Recipe, layout: StateLayout, tree: ParameterTree) -> Callable[..., Any]:
    """Return a compiled function from parameters and live hyperparameters to the arrays of the
    first state."""

    def first(params: Any, numbers: Any) -> tuple[Any, ...]:
        x64.require()
        transformation = recipe.made(tuple(map(as_python_float, numbers)))
        arrays = layout.arrays(transformation.init(tree.built(params)))
        # A state may be the very parameters, whose memory a step gives away.
        return tuple([jnp.copy(a) if any(a is p for p in params) else a for a in arrays])

    return first_calls.jit(unwatched(first), name="optax init", inline=AT_ONCE)


@functools.lru_cache(maxsize=_MOST)
def layout_for(recipe: Recipe, tree: ParameterTree, avals: tuple[Any, ...]) -> StateLayout:
    """Return the layout of the state for parameters of these shapes."""

    def first(params: Any, numbers: Any) -> Any:
        return recipe.made(tuple(map(as_python_float, numbers))).init(params)

    numbers = (jax.ShapeDtypeStruct((), jnp.float64),) * len(recipe.live)
    params = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in avals]
    return layout_of(jax.eval_shape(first, tree.built(params), numbers))


@functools.lru_cache(maxsize=_MOST)
def takes_traced(
    transformation: Any, fixed: tuple[tuple[str, Any], ...], live: tuple[str, ...]
) -> bool:
    """Return whether a function makes a transformation of these hyperparameters when they are
    traced, without their values."""

    def make(*numbers: Any) -> Any:
        found = made(transformation, fixed, live, numbers)
        if not is_transformation(found):
            raise TypeError(
                f"{transformation!r} returned {type(found).__name__}, not a GradientTransformation"
            )
        return ()

    try:
        jax.eval_shape(make, *[jax.ShapeDtypeStruct((), jnp.float64)] * len(live))
    except jax.errors.ConcretizationTypeError:
        return False
    return True
