"""Says where each operand of a repeated turn comes from, and for how many turns that holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from torchlike._runtime.jax_private.jaxprs import is_literal
from torchlike._runtime.rolling.canonical import offsets_of

#: From how many turns before an operand may come.
_FARTHEST = 8


class Member(NamedTuple):
    """A value that is a part of an array: ``size`` elements along ``axis``, from ``start`` on; and
    without that axis if ``squeezed``."""

    array: Any
    axis: int
    start: int
    size: int
    squeezed: bool


class Inner(NamedTuple):
    """The ``out``-th result of the ``position``-th equation, ``turns`` turns before (0: this)."""

    position: int
    out: int
    turns: int


class Fixed(NamedTuple):
    """The same variable or number in all turns."""

    atom: Any


class Rows(NamedTuple):
    """Parts of one array; from turn to turn ``stride`` elements further on."""

    first: Member
    stride: int


class InductionNumber(NamedTuple):
    """An integer that grows by ``stride``, written as one of ``aval``."""

    first: int
    stride: int
    aval: Any


class Stacked(NamedTuple):
    """Another variable or number in each turn."""

    atoms: tuple[Any, ...]


class Carried(NamedTuple):
    """What a turn before made; in the first turns ``initial``."""

    source: Inner
    initial: tuple[Any, ...]


class Loop(NamedTuple):
    """``turns`` turns of ``period`` equations from ``start`` on.

    Attributes:
      operands: for each equation of a turn, where its operands come from.
      moving: for each equation whose part moves from turn to turn, where it lies in the first and
        by how much it moves.
    """

    start: int
    period: int
    turns: int
    operands: list[list[Any]]
    moving: dict[int, tuple[tuple[int, ...], tuple[int, ...]]]

    @property
    def stop(self) -> int:
        return self.start + self.turns * self.period


class LoopCandidates(NamedTuple):
    """What is known of the equations among which a loop is looked for."""

    eqns: Sequence[Any]
    #: Which equation makes a variable, and the how many-th of its results that is.
    made: Mapping[Any, tuple[int, int]]
    members: Mapping[Any, Member]


class Wiring:
    """The operands of turns that look alike."""

    def __init__(
        self,
        program: LoopCandidates,
        start: int,
        period: int,
        turns: int,
        may_stack: Callable[[Any], bool],
    ) -> None:
        self._program = program
        self._start, self._period, self._turns = start, period, turns
        self._may_stack = may_stack
        #: Whether a turn may be one of the loop, and which turn must not come before the first.
        self._fits = np.ones(turns, bool)
        self._since = np.zeros(turns, int)
        #: The turn that the others are compared with.
        self._model = turns // 2

    def loop(self, least: int) -> Loop | None:
        """Find the longest stretch of turns that are wired alike; return None if there are fewer
        than ``least``."""
        found: list[list[Any]] = []
        for position in range(self._period):
            eqn = self._eqn(self._model, position)
            row = []
            for i in range(len(eqn.invars)):
                kind = self._kind([self._eqn(k, position).invars[i] for k in range(self._turns)])
                if kind is None:
                    return None
                row.append(kind)
            found.append(row)
            if self._fits.sum() < least:
                return None
        moving = self._moving()
        first, stop = self._stretch()
        if stop - first < least:
            return None
        return Loop(
            self._start + first * self._period,
            self._period,
            stop - first,
            [[make(first, stop) for make in row] for row in found],
            {
                position: (tuple(x[first] for x in offsets), strides)
                for position, (offsets, strides) in moving.items()
            },
        )

    def _eqn(self, turn: int, position: int) -> Any:
        return self._program.eqns[self._start + turn * self._period + position]

    def _inside(self, atom: Any, turn: int) -> Inner | None:
        """Return which result of which turn an operand of ``turn`` is, if one of the turns makes
        it."""
        if is_literal(atom) or atom not in self._program.made:
            return None
        index, out = self._program.made[atom]
        k, position = divmod(index - self._start, self._period)
        return Inner(position, out, turn - k) if 0 <= k < self._turns else None

    def _must_follow(self, atom: Any, turn: int) -> None:
        """Have the first turn of the loop come behind what makes ``atom``, if ``turn`` is in it."""
        inside = self._inside(atom, turn)
        if inside is not None:
            self._since[turn] = max(self._since[turn], turn - inside.turns + 1)

    def _kind(self, atoms: list[Any]) -> Callable[[int, int], Any] | None:
        """Return the function that gives, for the first turn and the one behind the last, where an
        operand comes from."""
        model = self._inside(atoms[self._model], self._model)
        if model is not None and atoms[self._model + 1] is not atoms[self._model]:
            return self._made_inside(atoms, model)
        same = atoms[self._model]
        if is_literal(same):
            return self._number(atoms)
        if atoms[self._model + 1] is same:
            for k, atom in enumerate(atoms):
                self._fits[k] &= atom is same
                self._must_follow(atom, k)
            return lambda first, stop: Fixed(same)
        return self._rows(atoms) or self._stacked(atoms)

    def _made_inside(self, atoms: list[Any], model: Inner) -> Callable[[int, int], Any] | None:
        if model.turns > _FARTHEST:
            return None
        for k, atom in enumerate(atoms):
            if self._inside(atom, k) == model:
                continue
            if model.turns == 0:
                self._fits[k] = False
            else:  # the loop begins so late that this is a value from before it
                self._since[k] = max(self._since[k], k - model.turns + 1)
                self._must_follow(atom, k)
                if self._since[k] > k:
                    self._fits[k] = False
        if model.turns == 0:
            return lambda first, stop: model
        return lambda first, stop: Carried(model, tuple(atoms[first : first + model.turns]))

    def _number(self, atoms: list[Any]) -> Callable[[int, int], Any]:
        written = np.array([is_literal(atom) for atom in atoms])
        self._fits &= written
        at = self._model
        aval = atoms[at].aval
        values: list[Any] = [np.asarray(a.val) if is_literal(a) else None for a in atoms]
        alike = np.array([v is not None and v.tobytes() == values[at].tobytes() for v in values])
        if alike[at + 1] and alike.sum() * 4 >= written.sum() * 3:
            self._fits &= alike
            return lambda first, stop: Fixed(atoms[at])
        if np.issubdtype(aval.dtype, np.integer) and values[at + 1] is not None:
            numbers = [int(v) if v is not None else 0 for v in values]
            stride = numbers[at + 1] - numbers[at]
            expected = numbers[at] + (np.arange(self._turns) - at) * stride
            grows = written & (np.array(numbers) == expected)
            if grows.sum() * 4 >= written.sum() * 3:
                self._fits &= grows
                return lambda first, stop: InductionNumber(numbers[first], stride, aval)
        return lambda first, stop: Stacked(tuple(atoms[first:stop]))

    def _rows(self, atoms: list[Any]) -> Callable[[int, int], Any] | None:
        members: list[Any] = [
            None if is_literal(a) else self._program.members.get(a) for a in atoms
        ]
        at = self._model
        model, after = members[at], members[at + 1]
        if model is None or after is None or model._replace(start=after.start) != after:
            return None
        stride = after.start - model.start
        for k, member in enumerate(members):
            expected = model._replace(start=model.start + (k - at) * stride)
            self._fits[k] &= member == expected
        self._must_follow(model.array, at)
        self._since[:] = np.maximum(self._since, self._since[at])
        return lambda first, stop: Rows(members[first], stride)

    def _stacked(self, atoms: list[Any]) -> Callable[[int, int], Any] | None:
        if not self._may_stack(atoms[self._model]):
            return None
        for k, atom in enumerate(atoms):
            self._fits[k] &= is_literal(atom) or self._may_stack(atom)
            self._must_follow(atom, k)
        return lambda first, stop: Stacked(tuple(atoms[first:stop]))

    def _moving(self) -> dict[int, Any]:
        """Find the equations whose parts move and return, for each dimension, the offsets in each
        turn, and the strides; a turn whose parts lie elsewhere does not fit."""
        found: dict[int, Any] = {}
        at = self._model
        for position in range(self._period):
            if offsets_of(self._eqn(at, position)) is None:
                continue
            offsets: Any = np.array(
                [offsets_of(self._eqn(k, position)) for k in range(self._turns)]
            )
            strides = offsets[at + 1] - offsets[at]
            expected = offsets[at] + (np.arange(self._turns) - at)[:, None] * strides
            self._fits &= (offsets == expected).all(1)
            if strides.any():
                found[position] = offsets.T.tolist(), tuple(strides.tolist())
        return found

    def _stretch(self) -> tuple[int, int]:
        best, first = (0, 0), 0
        for k in range(self._turns):
            if not self._fits[k]:
                first = k + 1
                continue
            first = max(first, int(self._since[k]))
            if k + 1 - first > best[1] - best[0]:
                best = first, k + 1
        return best
