"""`planned` makes a plan of a program: which blocks it is made of, and what passes between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from torchlike._runtime.blocks.cutting import Cutter, Span
from torchlike._runtime.jax_private.jaxprs import is_literal, program_like
from torchlike._runtime.rolling.canonical import Canonical
from torchlike._runtime.rolling.roll import needed

#: The number of values that nobody needs where they are given.
UNUSED = -1


class ProgramBlock(NamedTuple):
    """A part of a program, which may stand at many places of it.

    Attributes:
      jaxpr: its first outputs are those written into the memory of the inputs ``donated``.
    """

    jaxpr: Any
    donated: tuple[int, ...]


class BlockPlace(NamedTuple):
    """One run of a block: the numbers of the values that it takes and gives (or `UNUSED`), and of
    those that nobody needs behind it."""

    block: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    dead: tuple[int, ...]


class BlockPlan(NamedTuple):
    """A program as a sequence of blocks.

    Attributes:
      blocks: the distinct ones.
      places: their runs, in order.
      avals: of each value; the program's inputs come first.
      outputs: of each output of the program its value, or the number written there (a literal).
    """

    blocks: list[ProgramBlock]
    places: list[BlockPlace]
    avals: list[Any]
    outputs: list[Any]


def planned(jaxpr: Any, donated: Sequence[int]) -> BlockPlan | None:
    """Cut a program, whose first outputs are written into the memory of the inputs ``donated``.
    None where no part of it stands at two places, or it has effects."""
    if jaxpr.effects or jaxpr.constvars:
        return None
    eqns, canonical = needed(jaxpr.eqns, jaxpr.outvars), Canonical(exact=True)
    numbers = [canonical.number(eqn, None) for eqn in eqns]
    sections = [_Section(eqns, numbers, span) for span in Cutter(eqns, numbers).spans()]
    groups: dict[Any, list[_Section]] = {}
    for section in sections:
        groups.setdefault(section.key, []).append(section)
    if len(groups) == len(sections):
        return None
    last = _last_readers(sections, jaxpr.outvars)
    written = {jaxpr.invars[i]: jaxpr.outvars[o] for o, i in enumerate(donated)}
    for i, section in enumerate(sections):
        section.look(i, last, written)
    values, places = _ValueNumbers(jaxpr), []
    blocks = {key: _EqualSections(group) for key, group in groups.items()}
    numbered = {key: i for i, key in enumerate(groups)}
    for i, section in enumerate(sections):
        inputs = tuple(map(values.number, section.inputs))
        given = [section.made[n] for n in blocks[section.key].given]
        outputs = tuple(values.number(v) if last.get(v, -1) > i else UNUSED for v in given)
        dead = tuple(values.number(v) for v in section.inputs if last[v] == i)
        places.append(BlockPlace(numbered[section.key], inputs, outputs, dead))
    outvars = [v if is_literal(v) else values.number(v) for v in jaxpr.outvars]
    found = [equal.block(jaxpr) for equal in blocks.values()]
    return BlockPlan(found, places, values.avals, outvars)


class _Section:
    """The equations of one span.

    Attributes:
      key: equal to that of a section that does the same with its inputs.
      inputs: variables from elsewhere, in the order in which they are met.
      made: all results, in order.
      given: the places among ``made`` of the results that are needed behind it.
      pairs: places among ``inputs`` and ``made``, of what may be written into the input's memory.
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
        """Note which results are needed behind this section, the one of a ``number``, and which
        inputs are given up in it."""
        self.given = {i for i, v in enumerate(self.made) if last.get(v, -1) > number}
        names = {self.made[i]: i for i in self.given}
        for i, v in enumerate(self.inputs):
            new = written.get(v)
            if last[v] == number and new is not None and not is_literal(new) and new in names:
                self.pairs.add((i, names.pop(new)))


def _last_readers(sections: Sequence[_Section], outvars: Sequence[Any]) -> dict[Any, int]:
    """Return of each variable the number of the last section that reads it; of outputs, of one
    behind all."""
    last = {v: i for i, section in enumerate(sections) for v in section.inputs}
    return last | {v: len(sections) for v in outvars if not is_literal(v)}


class _EqualSections:
    """What equal sections have in common: inputs are given up where all of them do, and results are
    given that one of them needs.

    Attributes:
      given: the places among ``made`` of the block's outputs.
    """

    def __init__(self, sections: Sequence[_Section]) -> None:
        pairs = sorted(set.intersection(*(section.pairs for section in sections)))
        first = [out for _, out in pairs]
        rest = set.union(*(section.given for section in sections)).difference(first)
        self.given = [*first, *sorted(rest)]
        self._donated = tuple(i for i, _ in pairs)
        self._model = sections[0]

    def block(self, jaxpr: Any) -> ProgramBlock:
        """Return the block, of a program."""
        model = self._model
        outputs = [model.made[i] for i in self.given]
        program = program_like(jaxpr, model.inputs, outputs, model.eqns, frozenset())
        return ProgramBlock(program, self._donated)


class _ValueNumbers:
    """The numbers of variables, given where they are first asked for."""

    def __init__(self, jaxpr: Any) -> None:
        self._numbers: dict[Any, int] = {v: i for i, v in enumerate(jaxpr.invars)}
        self.avals = [v.aval for v in jaxpr.invars]

    def number(self, v: Any) -> int:
        found = self._numbers.get(v)
        if found is None:
            found = self._numbers[v] = len(self.avals)
            self.avals.append(v.aval)
        return found
