"""Parts of arrays: which values are known to be such, and how they are read one by one, or joined
again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._runtime.jax_private.jaxprs import is_literal
from torchlike._runtime.rolling.canonical import offsets_of
from torchlike._runtime.rolling.wiring import Member
from torchlike._runtime.rolling.writing import (
    Writer,
    as_aval,
    part,
    renamed,
    with_operands,
    written,
)


def members_of(eqn: Any, known: Mapping[Any, Member]) -> Iterator[tuple[Any, Member]]:
    """Yield the results of an equation that are parts of an array along one axis; ``known``:
    others."""
    name = eqn.primitive.name
    if name in ("squeeze", "reshape") and not is_literal(eqn.invars[0]):
        (v,) = eqn.outvars
        whole = known.get(eqn.invars[0])
        if whole is not None and whole.size == 1 and not whole.squeezed:
            shape = list(eqn.invars[0].aval.shape)
            del shape[whole.axis]
            if v.aval.shape == tuple(shape):
                yield v, whole._replace(squeezed=True)
        return
    if name not in ("split", "unstack", "slice", "dynamic_slice") or is_literal(eqn.invars[0]):
        return
    array = eqn.invars[0]
    if name == "unstack":
        for i, v in enumerate(eqn.outvars):
            yield v, Member(array, eqn.params["axis"], i, 1, True)
        return
    if name == "split":
        axis, start = eqn.params["axis"], 0
        for v, size in zip(eqn.outvars, eqn.params["sizes"], strict=True):
            yield v, Member(array, axis, start, size, False)
            start += size
        return
    (v,) = eqn.outvars
    axes = [d for d, n in enumerate(array.aval.shape) if n != v.aval.shape[d]]
    starts = offsets_of(eqn) if name == "slice" else _written_starts(eqn)
    if len(axes) == 1 and starts is not None:
        axis = axes[0]
        yield v, Member(array, axis, starts[axis], v.aval.shape[axis], False)


def _written_starts(eqn: Any) -> tuple[int, ...] | None:
    """Return the offsets of a ``dynamic_slice``, if they are numbers that are within bounds."""
    array, *starts = eqn.invars
    if not all(map(is_literal, starts)):
        return None
    numbers = tuple(int(np.asarray(s.val)) for s in starts)
    sizes = zip(numbers, eqn.outvars[0].aval.shape, array.aval.shape, strict=True)
    return numbers if all(0 <= at <= n - size for at, size, n in sizes) else None


def written_parts(
    eqns: Sequence[Any],
    outvars: Sequence[Any],
    known: set[Any],
    members: Mapping[Any, Member],
    writer: Writer,
) -> tuple[list[Any], list[Any]]:
    """Return the equations and results, with a variable for each part that they read and that no
    equation gives. ``known``: the variables that are given."""
    names: dict[Any, Any] = {}
    found: list[Any] = []

    def name(atoms: Iterable[Any]) -> None:
        for v in atoms:
            if not is_literal(v) and v not in known and v not in names and v in members:
                more, (names[v],) = writer.equations(
                    lambda array, v=v: [as_aval(_part(array, members[v]), v.aval)],
                    [members[v].array],
                )
                found.extend(more)

    for eqn in eqns:
        if eqn.primitive.name in ("concatenate", "stack"):
            groups = _groups(
                [None if is_literal(v) or v in known else members.get(v) for v in eqn.invars]
            )
            if len(groups) * 2 <= len(eqn.invars):
                name(eqn.invars[at] for at, n in groups if n == 1)
                operands = [renamed(eqn.invars[at], names) for at, _ in groups]
                more, (names[eqn.outvars[0]],) = _joined(eqn, groups, operands, members, writer)
                found += more
                continue
        name(eqn.invars)
        found.append(with_operands(eqn, names))
    name(outvars)
    return found, [renamed(v, names) for v in outvars]


def _part(array: Any, member: Member) -> Any:
    return part(array, member, member.start)


def _groups(members: Sequence[Member | None]) -> list[tuple[int, int]]:
    """Group operands that lie one behind the other in one array, forward or back: (first, how
    many)."""
    found: list[tuple[int, int]] = []
    at = 0
    while at < len(members):
        n, first = 1, members[at]
        if first is not None and first.squeezed and at + 1 < len(members):
            after = members[at + 1]
            step = 0 if after is None else after.start - first.start
            while (
                abs(step) == 1
                and at + n < len(members)
                and (members[at + n] == first._replace(start=first.start + n * step))
            ):
                n += 1
        found.append((at, n))
        at += n
    return found


def _joined(
    eqn: Any,
    groups: Sequence[tuple[int, int]],
    operands: Sequence[Any],
    members: Mapping[Any, Member],
    writer: Writer,
) -> tuple[list[Any], list[Any]]:
    """Write a ``concatenate`` or ``stack`` of parts of arrays, from the arrays."""
    stacks = eqn.primitive.name == "stack"
    dimension = eqn.params["axis" if stacks else "dimension"]
    aval = eqn.outvars[0].aval
    firsts = [members[eqn.invars[at]] if n > 1 else None for at, n in groups]
    arrays = [v if m is None else m.array for m, v in zip(firsts, operands, strict=True)]
    given = list(dict.fromkeys(v for v in arrays if not is_literal(v)))

    def compute(*values: Any) -> Any:
        known = dict(zip(given, values, strict=True))
        pieces = []
        for (at, n), first, v in zip(groups, firsts, arrays, strict=True):
            value = written(v) if is_literal(v) else known[v]
            if first is not None:
                value = _run(value, first, members[eqn.invars[at + n - 1]].start, dimension)
                if not stacks:  # the parts one behind the other
                    shape = list(eqn.invars[at].aval.shape)
                    shape[dimension] *= n
                    value = value.reshape(shape)
            elif stacks:
                value = jnp.expand_dims(value, dimension)
            pieces.append(value)
        whole = pieces[0] if len(pieces) == 1 else lax.concatenate(pieces, dimension)
        return [as_aval(whole, aval)]

    return writer.equations(compute, given)


def _run(array: Any, first: Member, last: int, dimension: int) -> Any:
    """Return the parts from ``first`` to the one at ``last``, along ``dimension``."""
    low, high = min(first.start, last), max(first.start, last) + 1
    value = lax.slice_in_dim(array, low, high, axis=first.axis)
    if last < first.start:
        value = lax.rev(value, [first.axis])
    return jnp.moveaxis(value, first.axis, dimension)
