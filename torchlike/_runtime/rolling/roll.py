"""`rolled` puts a ``lax.scan`` in the place of each Python loop that a capture has unrolled."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from torchlike._runtime.jax_private.jaxprs import close, is_literal, program_like, with_more
from torchlike._runtime.logs import logger
from torchlike._runtime.rolling.canonical import Canonical
from torchlike._runtime.rolling.emission import Chain, Result, Turn
from torchlike._runtime.rolling.parts import members_of, written_parts
from torchlike._runtime.rolling.repeats import Repeat, repeats
from torchlike._runtime.rolling.wiring import Loop, LoopCandidates, Member, Stacked, Wiring
from torchlike._runtime.rolling.writing import Writer, renamed, with_operands

#: Programs of fewer equations are left as they are, and those that keep more than this share.
LEAST_EQUATIONS = 2000
_LARGEST_SHARE = 0.5
#: Loops of fewer turns, and those that leave out fewer equations.
_LEAST_TURNS = 8
_LEAST_SAVED = 32
#: The longest turn, and how many places are tried before the search is given up.
_LONGEST_TURN = 4096
_TRIES = 48
#: What is gathered for a turn may be one in so many of the bytes that the turn computes.
_STACKED_SHARE = 8

_log = logger("rolled")


class Outside(NamedTuple):
    """What is known of a program's inputs."""

    #: Cells and slots: parameters and other state.
    state: frozenset[Any] = frozenset()
    #: What arrives for the backward, which becomes a program of its own.
    cotangents: frozenset[Any] = frozenset()


def rolled(closed: Any, outside: Outside, name: str) -> Any:
    """Roll up ``closed``, a program of the function ``name``: return it with scans in the place of
    what it repeats; the very same object where there is nothing to gain."""
    jaxpr = closed.jaxpr
    if len(jaxpr.eqns) < LEAST_EQUATIONS:
        return closed
    roller = _Roller(jaxpr, outside)
    roller.roll()
    before, after = len(jaxpr.eqns), len(roller.eqns)
    if after > before * _LARGEST_SHARE:
        return closed
    for loop in roller.found:
        _log.info("%s: %d turns of %d equations became one loop", name, loop.turns, loop.period)
    _log.info("%s: %d equations in place of %d", name, after, before)
    variables, arrays = _unzipped(roller.writer.constants)
    rolled = with_more(jaxpr, variables, roller.outvars, roller.eqns)
    return close(rolled, [*closed.consts, *arrays])


class _Roller:
    """Rolls the loops of one program, and those within their turns."""

    def __init__(self, jaxpr: Any, outside: Outside, canonical: Canonical | None = None) -> None:
        self._jaxpr = jaxpr
        self._outside = outside
        self._canonical = canonical or Canonical()
        self.outvars = list(jaxpr.outvars)
        self.eqns = needed(jaxpr.eqns, self.outvars)
        self.writer = Writer()
        self.found: list[Loop] = []
        #: The numbers of equations, by identity.
        self._numbers: dict[int, tuple[Any, int]] = {}
        self._members: dict[Any, Member] = {}
        self._is_late = _following(self.eqns, outside.cotangents)
        self._is_state = _made_of(self.eqns, outside.state)
        for eqn in self.eqns:
            self._members.update(members_of(eqn, self._members))

    def roll(self) -> None:
        while self._roll_one(False) or self._roll_one(True):
            pass
        if self.found:
            self._finish()
            self.eqns = needed(self.eqns, self.outvars)

    def _number(self, eqn: Any) -> int:
        found = self._numbers.get(id(eqn))
        if found is None or found[0] is not eqn:
            late = not self._is_late.isdisjoint(eqn.outvars)
            found = self._numbers[id(eqn)] = eqn, self._canonical.number(eqn, late)
        return found[1]

    def _roll_one(self, stacks: bool) -> bool:
        """Roll one loop, if there is one. What differs from turn to turn may be gathered if
        ``stacks``."""
        numbers = np.array(list(map(self._number, self.eqns)))
        if not len(numbers):
            return False
        places = [
            r for r in repeats(numbers, _LEAST_TURNS, _LONGEST_TURN) if r.saved >= _LEAST_SAVED
        ]
        if stacks:  # what comes first is what others may follow from
            places.sort(key=lambda r: r.start)
        made = {v: (i, out) for i, eqn in enumerate(self.eqns) for out, v in enumerate(eqn.outvars)}
        program = LoopCandidates(self.eqns, made, self._members)
        for repeat in places[:_TRIES]:
            loop = self._loop(program, repeat, stacks)
            if loop is not None:
                self._put(loop)
                return True
        return False

    def _loop(self, program: LoopCandidates, repeat: Repeat, stacks: bool) -> Loop | None:
        start, turns = _best_start(program, repeat)
        if turns < _LEAST_TURNS:
            return None
        wiring = Wiring(
            program,
            start,
            repeat.period,
            turns,
            lambda v: stacks and v not in self._is_state and v not in self._outside.state,
        )
        loop = wiring.loop(_LEAST_TURNS)
        if loop is None or (loop.turns - 1) * loop.period < _LEAST_SAVED:
            return None
        model = self.eqns[loop.start : loop.start + loop.period]
        atoms = [v for eqn in model for v in (*eqn.invars, *eqn.outvars)]
        if not all(isinstance(getattr(v.aval, "dtype", None), np.dtype) for v in atoms):
            return None  # keys of random numbers, references
        gathered = {
            tuple(map(id, s.atoms)): s
            for row in loop.operands
            for s in row
            if isinstance(s, Stacked) and not all(map(is_literal, s.atoms))
        }
        bytes_gathered = sum(_bytes(s.atoms[0].aval) for s in gathered.values())
        computed = sum(_bytes(v.aval) for eqn in model for v in eqn.outvars)
        return loop if bytes_gathered * _STACKED_SHARE <= computed else None

    def _put(self, loop: Loop) -> None:
        """Put a scan in the place of ``loop``."""
        turn = Turn(self.eqns, loop)
        chains, each = self._results(loop, turn)
        taken, given = turn.parts(chains, each)
        body = program_like(self._jaxpr, taken, given, turn.body, frozenset())
        inner = _Roller(body, Outside(), self._canonical)
        inner.roll()
        variables, constants = _unzipped([*turn.constants, *inner.writer.constants])
        body = body.replace(invars=[*variables, *taken], eqns=inner.eqns, outvars=inner.outvars)
        eqns, last, stacked = turn.scan(body, constants, chains, each, self.writer)
        names: dict[Any, Any] = {}
        for chain, atoms in zip(chains, last, strict=True):
            for back, atom in enumerate(reversed(atoms)):
                names[self._result(loop, loop.turns - 1 - back, chain.result)] = atom
        for result, array in zip(each, stacked, strict=True):
            for k in range(loop.turns):
                v = self._result(loop, k, result)
                names.pop(v, None)
                self._members[v] = Member(array, 0, k, 1, True)
        late = not self._is_late.isdisjoint(self.eqns[loop.start].outvars)
        if late:
            self._is_late.update(v for eqn in eqns for v in eqn.outvars)
        rest = [with_operands(eqn, names) for eqn in self.eqns[loop.stop :]]
        for old, new in zip(self.eqns[loop.stop :], rest, strict=True):
            if old is not new:  # another object, which computes the same
                self._numbers[id(new)] = new, self._number(old)
        self.outvars = [renamed(v, names) for v in self.outvars]
        self.eqns = [*self.eqns[: loop.start], *eqns, *rest]
        self.found += [loop, *inner.found]

    def _result(self, loop: Loop, turn: int, result: Result) -> Any:
        position, out = result
        return self.eqns[loop.start + turn * loop.period + position].outvars[out]

    def _results(self, loop: Loop, turn: Turn) -> tuple[list[Chain], list[Result]]:
        """Return what the loop carries, and the results of which those of each turn are read behind
        it."""
        places = {
            v: (k, (position, out))
            for k in range(loop.turns)
            for position in range(loop.period)
            for out, v in enumerate(self.eqns[loop.start + k * loop.period + position].outvars)
        }
        first: dict[Result, int] = {}
        readers = (v for eqn in self.eqns[loop.stop :] for v in eqn.invars)
        for v in (*readers, *self.outvars):
            if not is_literal(v) and v in places:
                k, result = places[v]
                first[result] = min(k, first.get(result, k))
        chains, each = list(turn.chains), []
        depth = {
            chain.result: len(chain.initial)
            for chain in sorted(chains, key=lambda chain: len(chain.initial))
        }
        for result, k in first.items():
            if k >= loop.turns - depth.get(result, 1):
                if result not in depth:
                    chains.append(Chain(result, (None,)))
            else:
                each.append(result)
        return chains, each

    def _finish(self) -> None:
        """Give a variable to each part of an array that is still read by itself."""
        known = {*self._jaxpr.constvars, *self._jaxpr.invars}
        known.update(v for eqn in self.eqns for v in eqn.outvars)
        self.eqns, self.outvars = written_parts(
            self.eqns, self.outvars, known, self._members, self.writer
        )


def _best_start(program: LoopCandidates, repeat: Repeat) -> tuple[int, int]:
    """Return the place at which the first turn begins, and how many there are: so that as few bytes
    as may be are carried from turn to turn."""
    period = repeat.period
    middle = repeat.start + repeat.length // period // 2 * period
    cost = np.zeros(period)
    starts = np.arange(period)
    crossings: dict[tuple[int, int], Any] = {}
    for i in range(middle, middle + period):
        for v in program.eqns[i].invars:
            if is_literal(v) or v not in program.made:
                continue
            maker = program.made[v]
            if maker[0] < middle - 2 * period:
                continue
            key = (maker[0] - repeat.start) % period, maker[1]
            far = (i - repeat.start - starts) // period - (
                maker[0] - repeat.start - starts
            ) // period
            crossings[key] = np.maximum(crossings.get(key, 0), far * _bytes(v.aval))
    for far in crossings.values():
        cost += far
    # The earliest of the best, unless it leaves out a turn and gains nothing.
    offset = int(np.argmin(cost))
    return repeat.start + offset, (repeat.length - offset) // period


def needed(eqns: Sequence[Any], outvars: Sequence[Any]) -> list[Any]:
    """Return the equations that results or effects depend on."""
    needed = {v for v in outvars if not is_literal(v)}
    kept: list[Any] = []
    for eqn in reversed(eqns):
        if eqn.effects or not needed.isdisjoint(eqn.outvars):
            kept.append(eqn)
            needed.update(v for v in eqn.invars if not is_literal(v))
    return kept[::-1]


def _following(eqns: Sequence[Any], variables: Iterable[Any]) -> set[Any]:
    """Return the variables that are computed from one of ``variables``, and these."""
    found = set(variables)
    for eqn in eqns:
        if any(not is_literal(v) and v in found for v in eqn.invars):
            found.update(eqn.outvars)
    return found


def _made_of(eqns: Sequence[Any], variables: Iterable[Any]) -> set[Any]:
    """Return the variables that are computed from ``variables`` and numbers alone, and these."""
    found = set(variables)
    for eqn in eqns:
        if all(is_literal(v) or v in found for v in eqn.invars):
            found.update(eqn.outvars)
    return found


def _bytes(aval: Any) -> int:
    return math.prod(aval.shape) * getattr(aval.dtype, "itemsize", 0)


def _unzipped(pairs: Sequence[tuple[Any, Any]]) -> tuple[list[Any], list[Any]]:
    return [a for a, _ in pairs], [b for _, b in pairs]
