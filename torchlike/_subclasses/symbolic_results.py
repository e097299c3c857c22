"""The sizes of an operator's results in symbols: the operator is traced by JAX with symbolic sizes.

What a trace has to know of sizes (may these be broadcast?) is decided by the sizes at hand, and
noted as a guard of the shape environment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from torchlike._compat.symbolic import SymFloat, SymInt, expression_of, hint_of
from torchlike._core import devices, modes
from torchlike._subclasses.symbolic_rules import Sizes, rule_of
from torchlike.ops._aten.handlers import tensors_of, unhandled
from torchlike.tensor import Tensor, from_jax
from torchlike.utils import _pytree as pytree

#: What kinds of arguments say sizes; numbers elsewhere are values.
_OF_SIZES = ("int", "SymInt")


def sizes_of_results(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], shape_env: Any
) -> list[Sizes]:
    """Return the size of each tensor that an operator gives, as ints and SymInts.

    NotImplementedError where the operator cannot be traced with symbols.
    """
    bound = _bound(func, args, kwargs)
    rule = rule_of(func.overloadpacket.__name__)
    if rule is not None:
        return rule(bound)
    given = tensors_of((*args, *kwargs.values()))
    args, kwargs = _values_fixed(func, args, kwargs)
    try:
        with shape_env.deciding() as decided:
            made = _traced(func, args, kwargs, given)
    except Exception as error:  # whatever code does that was written for numbers
        raise NotImplementedError(
            f"{func} with symbolic sizes: {type(error).__name__}: {error}. Use "
            "tracing_mode='fake', and trace again for other sizes"
        ) from error
    shape_env.note(decided)
    return [tuple(map(shape_env.number, aval.shape)) for aval in made]


def _traced(func: Any, args: Any, kwargs: Any, given: Sequence[Tensor]) -> list[Any]:
    """Trace an operator, and return the avals of the tensors among its results."""

    def results(*arrays: Any) -> list[Any]:
        tensors = iter(arrays)

        def opened(value: Any) -> Any:
            if isinstance(value, Tensor):
                return from_jax(next(tensors))
            if isinstance(value, SymInt):
                return expression_of(value)
            if isinstance(value, SymFloat):
                return hint_of(value)
            return devices.device("cpu") if isinstance(value, devices.device) else value

        found, named = pytree.tree_map(opened, (args, kwargs))
        with unhandled(), modes.unrecorded():
            return [t._read() for t in tensors_of((func.operator(*found, **named),))]

    avals = [jax.ShapeDtypeStruct(tuple(map(expression_of, t.shape)), t.dtype.numpy) for t in given]
    return jax.eval_shape(results, *avals)


def _bound(func: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """Return the arguments by their names, defaults included."""
    arguments = func._schema.arguments
    found = {a.name: a.default for a in arguments if not a.required}
    found.update(zip((a.name for a in arguments if not a.keyword_only), args, strict=False))
    return {**found, **kwargs}


def _values_fixed(func: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Return the arguments, with the numbers at hand for symbolic numbers that say no size."""
    kinds = {a.name: a.type.base for a in func._schema.arguments}
    order = [a.name for a in func._schema.arguments if not a.keyword_only]

    def fixed(name: str, value: Any) -> Any:
        return value if kinds.get(name) in _OF_SIZES else pytree.tree_map(hint_of, value)

    args = tuple([fixed(name, value) for name, value in zip(order, args, strict=False)])
    return args, {name: fixed(name, value) for name, value in kwargs.items()}
