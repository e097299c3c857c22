"""Where a program is cut into blocks: between the turns of what it repeats, where least passes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from torchlike._runtime.jax_private.jaxprs import is_literal
from torchlike._runtime.rolling.repeats import Repeat, repeats

#: Repeats that leave out fewer equations are none, and shorter turns are put together.
_LEAST_SAVED, _LEAST_TURN = 32, 64
#: Bytes that handing an array from block to block costs as much as.
_ARRAY = 4096
#: So many times as much has to pass at the best place for which all turns are kept, that one is
#: given up for a better place.
_WORTH_A_TURN = 2

#: From an equation up to another.
Span = tuple[int, int]


class Cutter:
    """Cuts the equations of a program, which have ``numbers``: two do the same if they have one."""

    def __init__(self, eqns: Sequence[Any], numbers: Sequence[int]) -> None:
        self._numbers = np.array(numbers)
        #: Of each result, the equations that make it and that read it last, and its bytes.
        made: dict[Any, int] = {}
        last: dict[Any, int] = {}
        for i, eqn in enumerate(eqns):
            last |= {v: i for v in eqn.invars if not is_literal(v) and v in made}
            made |= dict.fromkeys(eqn.outvars, i)
        read = [(made[v], i, _bytes(v.aval) + _ARRAY) for v, i in last.items()]
        self._made, self._last, self._size = np.array(read, np.int64).reshape(-1, 3).T

    def spans(self) -> list[Span]:
        """Return the blocks, in order."""
        found: list[Span] = []
        open_spans = [(0, len(self._numbers))]
        while open_spans:
            start, stop = open_spans.pop()
            turns = self._turns(start, stop)
            if turns:
                open_spans += [(start, turns[0][0]), (turns[-1][1], stop)]
                found += turns
            elif start < stop:
                found.append((start, stop))
        return sorted(found)

    def _turns(self, start: int, stop: int) -> list[Span]:
        """Return the turns of the repeat that saves most in a part of the program; none where there
        is none."""
        for repeat in repeats(self._numbers[start:stop], 2, stop - start)[:1]:
            if repeat.saved < _LEAST_SAVED:
                break
            at, turns = self._phase(repeat._replace(start=start + repeat.start))
            together = min(math.ceil(_LEAST_TURN / repeat.period), max(turns // 2, 1))
            length = together * repeat.period
            return [(at + k * length, at + (k + 1) * length) for k in range(turns // together)]
        return []

    def _phase(self, repeat: Repeat) -> tuple[int, int]:
        """Return where the first turn of a repeat begins, and how many there are."""
        start, period, length = repeat
        passing = self._passing(start + (length // period // 2) * period, period)
        # Of the turn in the middle, whose first equation is one of a turn from `start` on.
        kept = int(np.argmin(passing[: length % period + 1]))
        best = int(np.argmin(passing))
        if length < best + 2 * period or passing[best] * _WORTH_A_TURN > passing[kept]:
            best = kept
        return start + best, (length - best) // period

    def _passing(self, first: int, period: int) -> Any:
        """Return how much passes each place of a turn that begins with equation ``first``: of what
        was made less than a turn before and is read in less than a turn."""
        near = (self._last - self._made < period) & (self._last > first - period)
        near &= self._made < first + period
        change = np.zeros(3 * period + 2)
        origin = first - period
        np.add.at(change, np.maximum(self._made[near] + 1 - origin, 0), self._size[near])
        ends = np.minimum(self._last[near] + 1 - origin, len(change) - 1)
        np.add.at(change, ends, -self._size[near])
        return np.cumsum(change)[period : 2 * period]


def _bytes(aval: Any) -> int:
    return math.prod(aval.shape) * getattr(aval.dtype, "itemsize", 0)
