"""What calls take, one by one and as one program, and what the program takes to compile.

Estimates, from what is computed and its sizes alone: by them is decided when a piece is compiled,
so two runs of a script decide alike and give the same bits. In microseconds of processor time.
Of a piece they are the sums of what `first_calls.of_call` says of its calls, by their jaxprs; of
calls that are only heard of, a guess by the shapes of their results.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from torchlike._runtime import first_calls

if TYPE_CHECKING:
    from torchlike._extensions.deferred.calls import DeferredCall
    from torchlike._extensions.deferred.value import Deferred

#: One of the units of `first_calls.cost`.
_UNIT = 0.2e-3
#: What recording takes: a call, one that is new at its place, one that is traced, a flush. And
#: until the programs of a loop's turn are bought, for each of its results. A call that is recorded
#: and run one by one all the same takes so much longer than at once.
RECORDED, NEW, EVALUATED, FLUSH = 5.0, 60.0, 6e3, 15.0
REPLAYED = 30.0
ATTEMPT = 100.0
#: A call by its result alone, an element of that, and the part of both that a program saves.
_CALL, _ELEMENT = 40.0, 2e-3
_CALL_SAVED, _ELEMENT_SAVED = 20.0, 1.2e-3
#: The call of a program, and each of its inputs and results.
_PROGRAM, _PASSED = 30.0, 2.5
#: Compiling a call of which nothing is traced within a piece, for each of its results.
_COMPILING_UNKNOWN = 13e3
#: Compiling a call alone of which nothing more is known.
_ALONE = 60e3
#: Compiling a piece beside its equations, the most of that for each of them, and for each of the
#: results of one that is only heard of.
COMPILING = first_calls.COMPILING_WHOLE * _UNIT
_COMPILING_SMALL, COMPILING_RESULT = first_calls.COMPILING_SMALL * _UNIT, 8e3
#: What a program may take of what the calls take one by one, to be worth compiling.
_GAIN = 0.88


class Price(NamedTuple):
    """The estimates for a piece."""

    one_by_one: float
    as_program: float
    compiling: float

    @property
    def saved(self) -> float:
        """What a run of the program wins."""
        return max(self.one_by_one - self.as_program, 0.0)

    @property
    def pays(self) -> bool:
        """Whether the program takes less by enough to be compiled at all."""
        return self.as_program <= _GAIN * self.one_by_one


NOTHING = Price(0.0, 0.0, 0.0)


def of_result(shape: tuple[int, ...]) -> tuple[float, float]:
    """Return the price of a call by its result alone, and what a program would save of it."""
    elements = math.prod(shape)
    return _CALL + _ELEMENT * elements, _CALL_SAVED + _ELEMENT_SAVED * elements


def compiling_heard(results: int) -> float:
    """Return a guess for a piece of so many results. A low one, as where it is wrong that costs an
    attempt to record."""
    return COMPILING / 6 + COMPILING_RESULT * results


def heard(values: Sequence[Deferred]) -> Price:
    """Return the price of calls as it is heard: by those of their results that came into cells."""
    return _of_results([value.shape for value in values if value.home is not None])


def _of_results(shapes: Sequence[tuple[int, ...]], compiling: float = 0.0) -> Price:
    guesses = [of_result(shape) for shape in shapes]
    taken = sum([price for price, _ in guesses])
    return Price(taken, taken - sum([saved for _, saved in guesses]), compiling)


def of(calls: Sequence[DeferredCall], alive: Sequence[int]) -> Price:
    """Return the price of a piece, of whose values those are results."""
    inputs = {n for call in calls for n in call.spec if n < 0}
    one_by_one, as_program = 0.0, FLUSH + _PROGRAM + _PASSED * (len(inputs) + len(alive))
    for call in calls:
        cost = call.known.cost
        one_by_one += _UNIT * cost.eagerly
        as_program += RECORDED + _UNIT * cost.within
    return Price(one_by_one, as_program, _compiling(calls))


def roughly(calls: Sequence[DeferredCall]) -> Price:
    """Return a guess for a piece of which nothing is traced yet."""
    shapes = [shape for call in calls for shape, _ in call.results.avals]
    return _of_results(shapes, _compiling(calls))


def _compiling(calls: Sequence[DeferredCall]) -> float:
    equations, compiling = 0, EVALUATED * len({id(call.known) for call in calls})
    for call in calls:
        own = call.known.compiling()
        if own is None:
            compiling += _COMPILING_UNKNOWN * len(call.results.avals)
        else:
            equations += own.equations
            compiling += _UNIT * own.cost
    return compiling + min(COMPILING, _COMPILING_SMALL * equations)


def due(calls: Sequence[DeferredCall]) -> float:
    """Return what compiling the calls one by one will take soon, where no piece is compiled: of
    those that are far from it, twice the part that they have come, as the dear ones are due first,
    and the others while a program is compiled."""
    near = all_ = 0.0
    for known in {id(call.known): call.known for call in calls}.values():
        nearness = known.nearness()
        if nearness:
            own = known.compiling()
            alone = _ALONE if own is None else _UNIT * own.by_itself
            near, all_ = near + nearness * alone, all_ + alone
    return min(2 * near, all_)
