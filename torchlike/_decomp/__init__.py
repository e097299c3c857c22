"""``torch._decomp``: operators as functions of simpler ones, for ``make_fx``.

Imports `_ops` and `ops`, and is imported by `export`, `compiler` and `fx`. Begin with
``decompositions.py``; the compositions themselves stand beside the ops (`decomposition=` of an
`@op`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from torchlike._decomp.decompositions import RULES
from torchlike._ops.aten.custom import OpOverload, OpOverloadPacket
from torchlike._ops.aten.tags import Tag

__all__ = [
    "core_aten_decompositions",
    "decomposition_table",
    "get_decompositions",
    "global_decomposition_table",
    "register_decomposition",
    "remove_decompositions",
]

#: overload -> the function that stands for it.
decomposition_table: dict[Any, Callable[..., Any]] = dict(RULES)
global_decomposition_table = {"post_autograd": decomposition_table, "pre_autograd": {}, "meta": {}}


def _overloads(op: Any) -> list[Any]:
    if isinstance(op, OpOverloadPacket):
        return [getattr(op, name) for name in op.overloads()]
    if isinstance(op, OpOverload):
        return [op]
    raise TypeError(f"expected an operator of torch.ops, not {type(op).__name__}")


def register_decomposition(
    aten_op: Any,
    registry: dict[Any, Any] | None = None,
    *,
    type: str = "post_autograd",
    unsafe: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that registers a function as the decomposition of an operator (an
    overload, a packet with all of its overloads, or a list of them).

    RuntimeError where the table has one already, unless it is a table of one's own.
    """
    if type not in global_decomposition_table:
        raise AssertionError(f"type must be one of {set(global_decomposition_table)}, got {type}")
    table: dict[Any, Any] = global_decomposition_table[type] if registry is None else registry

    def decorator(fn: Callable[..., Any]) -> Callable[..., Any]:
        several = isinstance(aten_op, Iterable) and not isinstance(aten_op, OpOverloadPacket)
        for op in aten_op if several else (aten_op,):
            for overload in _overloads(op):
                if overload in table:
                    raise RuntimeError(f"duplicate registrations for {overload}")
                table[overload] = fn
        return fn

    return decorator


def get_decompositions(
    aten_ops: Sequence[Any], type: str = "post_autograd"
) -> dict[Any, Callable[..., Any]]:
    """Return the decompositions of operators, of all overloads for a packet; those without one are
    left out."""
    table: dict[Any, Any] = global_decomposition_table[type]
    return {o: table[o] for op in aten_ops for o in _overloads(op) if o in table}


def remove_decompositions(decompositions: dict[Any, Any], aten_ops: Sequence[Any]) -> None:
    """Remove the decompositions of operators from a table."""
    for op in aten_ops:
        for overload in _overloads(op):
            decompositions.pop(overload, None)


def core_aten_decompositions() -> dict[Any, Callable[..., Any]]:
    """Return the decompositions of this table of operators that are not of the core set.

    Differs from PyTorch: there are fewer of them (see ``decompositions.py``).
    """
    return {operator: rule for operator, rule in RULES.items() if Tag.core not in operator.tags}
