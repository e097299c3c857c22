"""`planned` makes a plan of a program: which blocks it is made of, and what passes between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from torchlike._runtime.blocks.cutting import Cutter, Span
from torchlike._runtime.jax_private.jaxprs import is_literal, program_like
from torchlike._runtime.rolling.canonical import Canonical
from torchlike._runtime.rolling.roll import needed


class Block(NamedTuple):
    """A part of a program, which may stand at many places of it.

    Attributes:
      jaxpr: its first outputs are those written into the memory of the inputs ``donated``.
    """

    jaxpr: Any
    donated: tuple[int, ...]


class Place(NamedTuple):
    """One run of a block: which values it takes and gives, and which nobody needs behind it. Values
    have numbers; the last one is of those that are given here and needed elsewhere alone."""

    block: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    dead: tuple[int, ...]


class Plan(NamedTuple):
    """A program as a sequence of blocks.

    Attributes:
      blocks: the distinct ones.
      places: their runs, in order.
      avals: of each value; the program's inputs come first.
      outputs: of each output of the program its value, or the number written there (a literal).
    """

    blocks: list[Block]
    places: list[Place]
    avals: list[Any]
    outputs: list[Any]


def planned(jaxpr: Any, donated: Sequence[int]) -> Plan | None:
    """Cut a program, whose first outputs are written into the memory of the inputs ``donated``.
    None where no part of it stands at two places, or it has effects."""
    if jaxpr.effects or jaxpr.constvars:
        return None
    eqns, canonical = needed(jaxpr.eqns, jaxpr.outvars), Canonical(exact=True)
    numbers = [canonical.number(eqn, None) for eqn in eqns]
    parts = [_Part(eqns, numbers, span) for span in Cutter(eqns, numbers).spans()]
    groups: dict[Any, list[_Part]] = {}
    for part in parts:
        groups.setdefault(part.key, []).append(part)
    if len(groups) == len(parts):
        return None
    last = _last_readers(parts, jaxpr.outvars)
    written = {jaxpr.invars[i]: jaxpr.outvars[o] for o, i in enumerate(donated)}
    for i, part in enumerate(parts):
        part.look(i, last, written)
    blocks = [_block(jaxpr, group) for group in groups.values()]
    return _Places(jaxpr, last).plan(parts, list(groups), blocks)


class _Part:
    """The equations of one span.

    Attributes:
      key: equal to that of a part that does the same with its inputs.
      inputs: variables from elsewhere, in the order in which they are met.
      given: the places among ``made`` of the results that are needed behind it.
      pairs: places among inputs and ``made``, of what may be written into the input's memory.
    """

    def __init__(self, eqns: Sequence[Any], numbers: Sequence[int], span: Span) -> None:
        start, stop = span
        self.eqns = eqns[start:stop]
        self.made = [v for eqn in self.eqns for v in eqn.outvars]
        names = {v: i for i, v in enumerate(self.made)}
        self.inputs: list[Any] = []
        key: list[Any] = list(numbers[start:stop])
        for eqn in self.eqns:
            for v in eqn.invars:
                if is_literal(v):
                    key.append(None)
                    continue
                if v not in names:
                    self.inputs.append(v)
                    names[v] = -len(self.inputs)
                key.append(names[v])
        self.key = tuple(key)
        self.given: set[int] = set()
        self.pairs: set[tuple[int, int]] = set()

    def look(self, number: int, last: dict[Any, int], written: dict[Any, Any]) -> None:
        """Note which results are needed behind this part, the one of a ``number``, and which inputs
        are given up in it."""
        self.given = {i for i, v in enumerate(self.made) if last.get(v, -1) > number}
        names = {self.made[i]: i for i in self.given}
        for i, v in enumerate(self.inputs):
            new = written.get(v)
            if last[v] == number and new is not None and not is_literal(new) and new in names:
                self.pairs.add((i, names.pop(new)))


def _last_readers(parts: Sequence[_Part], outvars: Sequence[Any]) -> dict[Any, int]:
    """Return of each variable the number of the last part that reads it; of outputs, of a part
    behind all."""
    last = {v: i for i, part in enumerate(parts) for v in part.inputs}
    return last | {v: len(parts) for v in outvars if not is_literal(v)}


def _block(jaxpr: Any, group: Sequence[_Part]) -> tuple[Block, list[int]]:
    """Return the block of equal parts, and which of their results it gives: what one of them needs.
    Inputs are given up where all of them do."""
    pairs = sorted(set.intersection(*(part.pairs for part in group)))
    given = [out for _, out in pairs]
    given += sorted(set.union(*(part.given for part in group)).difference(given))
    first = group[0]
    outputs = [first.made[i] for i in given]
    program = program_like(jaxpr, first.inputs, outputs, first.eqns, frozenset())
    return Block(program, tuple(i for i, _ in pairs)), given


class _Places:
    """Gives numbers to values, and makes the places of blocks."""

    def __init__(self, jaxpr: Any, last: dict[Any, int]) -> None:
        self._jaxpr = jaxpr
        self._last = last
        self._values: dict[Any, int] = {v: i for i, v in enumerate(jaxpr.invars)}
        self._avals = [v.aval for v in jaxpr.invars]

    def plan(
        self, parts: Sequence[_Part], keys: list[Any], blocks: list[tuple[Block, list[int]]]
    ) -> Plan:
        numbers = {key: i for i, key in enumerate(keys)}
        found = [self._place(i, part, numbers, blocks) for i, part in enumerate(parts)]
        spare = len(self._avals)
        places = [
            place._replace(outputs=tuple(spare if v is None else v for v in place.outputs))
            for place in found
            if place.outputs
        ]
        outputs = [v if is_literal(v) else self._values[v] for v in self._jaxpr.outvars]
        return Plan([block for block, _ in blocks], places, self._avals, outputs)

    def _place(
        self, i: int, part: _Part, numbers: dict[Any, int], blocks: list[tuple[Block, list[int]]]
    ) -> Any:
        number = numbers[part.key]
        inputs = tuple(self._values[v] for v in part.inputs)
        given = (part.made[n] if n in part.given else None for n in blocks[number][1])
        outputs = tuple(None if v is None else self._number(v) for v in given)
        dead = tuple(self._values[v] for v in part.inputs if self._last[v] == i)
        return Place(number, inputs, outputs, dead)  # type: ignore[arg-type]

    def _number(self, v: Any) -> int:
        self._avals.append(v.aval)
        return self._values.setdefault(v, len(self._avals) - 1)
