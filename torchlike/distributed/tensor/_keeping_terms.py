"""Ops that keep terms: sums of them, products with what is whole, and what moves elements.

A linear op runs on the terms of its operand as it runs on the values: mapped over the dimensions in
front, without communication. All other ops work on the values. Both kinds of rule are put in place
once a mesh spans processes; before, no op looks at anything.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.sharding import NamedSharding, PartitionSpec

from torchlike._core import modes
from torchlike._core.dispatch.executable import Executable
from torchlike._core.dispatch.registry import OPS
from torchlike._core.dispatch.spec import OpSpec
from torchlike._runtime.mixed_operands import spans_processes
from torchlike.distributed.device_mesh import DeviceMesh
from torchlike.distributed.mixed_operands import at_first_mesh_of_processes
from torchlike.distributed.tensor._making_terms import (
    RULES,
    Rule,
    TermMaking,
    TermsMade,
    is_eager,
    last,
)
from torchlike.distributed.tensor._specs import entries_of
from torchlike.distributed.tensor._storage import PlacedStorage
from torchlike.distributed.tensor._terms import (
    Terms,
    in_front,
    over_terms,
    reductions_of,
    terms_of,
    with_terms,
)
from torchlike.tensor import Tensor

#: What an op on terms is given of an operand: its terms, its values, wherever they lie or whole
#: where the terms are cut, or a term's share of these.
TERM, ANYWHERE, VALUE, SHARE = "term", "anywhere", "value", "share"
#: ``rule(operands' terms, how they are reduced)`` gives what is taken of each, or None.
Keeping = Callable[[list[Terms | None], str], list[str] | None]
_LINEAR = ("sum", "avg")


def _added(found: list[Terms | None], how: str) -> list[str] | None:
    first, second = found[:2]
    if how in _LINEAR:
        if first is not None and second is not None and first[1] == second[1]:
            return [TERM, TERM]
        return [TERM, SHARE] if first is not None else [SHARE, TERM]
    return None


def _or_greater(found: list[Terms | None], how: str) -> list[str] | None:
    """Take terms for sums; and for the greatest, as that of ``a + c`` is the greatest ``a``, plus
    ``c``."""
    if how in ("max", "min"):
        return [TERM, SHARE] if found[0] is not None else None
    return _added(found, how)


def _scaled(found: list[Terms | None], how: str) -> list[str] | None:
    if how not in _LINEAR:
        return None
    return [TERM, VALUE] if found[0] is not None else [VALUE, TERM]


def _numerator(found: list[Terms | None], how: str) -> list[str] | None:
    return [TERM, VALUE] if how in _LINEAR and found[0] is not None else None


def _of_sums(found: list[Terms | None], how: str) -> list[str] | None:
    return [TERM] if how == "sum" else None


def _moved(found: list[Terms | None], how: str) -> list[str] | None:
    return [TERM, *[VALUE] * (len(found) - 1)] if found[0] is not None else None


def _linear(found: list[Terms | None], how: str) -> list[str] | None:
    return [TERM] if how in _LINEAR else None


def _same(of: str) -> Keeping:
    return lambda found, how: [TERM] if how == of else None


def _joined(found: list[Terms | None], how: str) -> list[str] | None:
    first = found[0]
    same = first is not None and all(t is not None and t[1] == first[1] for t in found)
    return [TERM] * len(found) if same else None


def _bilinear(found: list[Terms | None], how: str) -> list[str] | None:
    if how != "sum" or len(found) != 2:
        return None
    return [TERM, ANYWHERE] if found[0] is not None else [ANYWHERE, TERM]


#: By the names of ops.
KEEPING: dict[str, Keeping] = {
    "add": _or_greater,
    **dict.fromkeys(("sub", "rsub"), _added),
    "mul": _scaled,
    "div_op": _numerator,
    "neg": _linear,
    "cast_op": _linear,
    "sum": _of_sums,
    **dict.fromkeys(("amax", "max_all"), _same("max")),
    **dict.fromkeys(("amin", "min_all"), _same("min")),
    **dict.fromkeys(("cat_op", "stack"), _joined),
    **dict.fromkeys(("index_select", "index", "roll", "flip_op"), _moved),
    **dict.fromkeys(("mm", "matmul", "bmm", "mv", "dot", "linear"), _bilinear),
}
#: The same by ops, once a mesh spans processes.
_rules: dict[OpSpec, Keeping] = {}


def kept(spec: OpSpec, operands: Sequence[Any], statics: Any) -> TermsMade | None:
    """Return the terms of an op's result, without the result; None where the op works on the
    values."""
    rule = _rules.get(spec)
    if rule is None or not any(map(_has_terms, operands)) or not is_eager():
        return None
    found = [terms_of(o) if isinstance(o, Tensor) else None for o in operands]
    leading = next((i for i, t in enumerate(found) if t is not None), None)
    if leading is None:
        return None
    placements, mesh = found[leading][1], operands[leading]._storage.mesh  # type: ignore[index]
    hows = set(reductions_of(placements))
    some = rule(found, hows.pop()) if len(hows) == 1 else None
    if some is None:
        return None
    taken = (*some, *[VALUE] * (len(operands) - len(some)))
    if not all(
        _fits(o, t, what, placements, mesh)
        for o, t, what in zip(operands, found, taken, strict=True)
    ):
        return None
    given = [
        t[0] if what is TERM else o._value_now() if isinstance(o, Tensor) else o  # type: ignore[index]
        for o, t, what in zip(operands, found, taken, strict=True)
    ]
    n = len(operands) - len(spec.schema.operand_positions) + 1
    lengths = tuple(
        n if spec.schema.kinds[i].sequence else -1 for i in spec.schema.operand_positions
    )
    if not spec.schema.has_sequence:
        lengths = ()
    form = _form(spec, statics, lengths, taken, placements, mesh)
    return TermsMade(None, form(*given), placements, mesh)


def _has_terms(o: Any) -> bool:
    return isinstance(o, Tensor) and getattr(o._storage, "terms", None) is not None


def _fits(o: Any, terms: Terms | None, what: str, placements: Any, mesh: DeviceMesh) -> bool:
    """Return whether an operand can be taken so: as terms cut as the others are, or whole where
    they are cut. (A number of which each term would have a share is not.)"""
    if what is TERM:
        return terms is not None and terms[1] == placements
    if what is ANYWHERE:
        return True
    if not isinstance(o, Tensor):
        return what is VALUE
    sharding = getattr(o._value_now(), "sharding", None)
    axes = {a for along in in_front(placements, mesh) for a in along}
    return isinstance(sharding, NamedSharding) and not (
        axes & {a for along in entries_of(sharding, o.dim()) for a in along}
    )


@functools.lru_cache(maxsize=1024)
def _form(
    spec: OpSpec, statics: Any, lengths: Any, taken: Any, placements: Any, mesh: DeviceMesh
) -> Any:
    """Return the compiled function of what is taken of the operands that gives stacked terms."""
    front, (how, *_) = in_front(placements, mesh), reductions_of(placements)
    count = math.prod(mesh.jax_mesh.shape[a] for along in front for a in along)
    mapped = over_terms(
        spec.pure(statics, lengths), len(front), lambda i: 0 if taken[i] is TERM else None
    )
    free = PartitionSpec.UNCONSTRAINED

    def run(*given: Any) -> jax.Array:
        shares = [
            g / count if what is SHARE and how == "sum" else g
            for g, what in zip(given, taken, strict=True)
        ]
        out = mapped(*shares)
        spec = PartitionSpec(*front, *[free] * (out.ndim - len(front)))
        return jax.lax.with_sharding_constraint(out, NamedSharding(mesh.jax_mesh, spec))

    return jax.jit(run)


def update_terms(
    spec: OpSpec,
    target: Tensor,
    operands: Sequence[Any],
    statics: Any,
    update: Callable[[], Tensor],
) -> Tensor:
    """Run ``update()``, the in-place variant of an op, whose target keeps its terms where the op
    keeps them."""
    made = kept(spec, operands, statics)
    found = update()
    storage = target._storage
    if (
        made is not None
        and isinstance(storage, PlacedStorage)
        and target._view is None
        and made.stacked.dtype == storage.dtype
    ):
        storage.declared, storage.terms = made.placements, made.stacked
    return found


def _follow(spec: OpSpec) -> None:
    """Have an op's results get their terms: where its rule of memory order is asked, which from now
    on is asked always."""
    before, always = spec.memory_order, spec.lays_out

    def after(result: Any, operands: Sequence[Any], spec: OpSpec, statics: Any) -> None:
        if before is not None and (always or any(map(_has_order, operands))):
            before(result, operands, spec, statics)
        made, last.made = last.made, None
        if modes.current.levels or not isinstance(result, Tensor):
            return
        if made is not None and result._storage.cell is made.array:
            with_terms(result, made.mesh, made.stacked, made.placements)
        elif spans_processes(result._storage.cell):
            made = kept(spec, operands, statics)
            if made is not None:
                with_terms(result, made.mesh, made.stacked, made.placements)

    spec.memory_order, spec.lays_out = after, True


def _has_order(o: Any) -> bool:
    return isinstance(o, Tensor) and (o._view is not None or o._storage.strides is not None)


class _Executables(dict[Any, Executable]):
    """An op's executables, whose forward makes terms."""

    def __init__(self, rule: Rule) -> None:
        super().__init__()
        self._rule = rule

    def __setitem__(self, key: Any, exe: Executable) -> None:
        exe.forward = TermMaking(exe, self._rule)
        super().__setitem__(key, exe)


@at_first_mesh_of_processes
def _begin() -> None:
    for name, rule in RULES.items():
        OPS[name].cache = _Executables(rule)
    _rules.update({OPS[name]: rule for name, rule in KEEPING.items()})
    for name in {*RULES, *KEEPING}:
        _follow(OPS[name])
