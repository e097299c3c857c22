"""What calls take, one by one and as one program, and what the program takes to compile.

Estimates, from the kinds of operations and their sizes alone: by them is decided when a piece is
compiled, so two runs of a script decide alike and give the same bits. In microseconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from torchlike._extensions.deferred.calls import DeferredCall

#: What recording takes: a call, one that is new at its place, one that is evaluated abstractly, a
#: flush. And until the programs of a loop's turn are bought, for each of its results.
RECORDED, NEW, EVALUATED, FLUSH = 5.0, 60.0, 500.0, 15.0
ATTEMPT = 100.0
#: A call and each of its operands and results, beside its work; the call of a program, each of its
#: inputs and results, and each call within it.
_CALL, _OPERAND = 15.0, 3.0
_PROGRAM, _PASSED = 30.0, 2.5
_WITHIN = 1.0
#: An element of a result; what it takes where it is fused with what uses it.
_ELEMENT = 0.4e-3
_FUSED = 0.4
#: A multiplication and addition of a product, by what the names of such calls have in them; and
#: what products take in a program that does other things as well, as copies between them go.
_MULTIPLY = {"conv": 0.1e-3, "recurrent": 0.1e-3, "mm": 25e-6, "matmul": 25e-6, "linear": 25e-6}
_AMONG_OTHERS = 0.85
#: Compiling a call and each of its results: of most kinds, and of those with loops or of
#: convolutions.
COMPILING, _COMPILING_RESULT = 15e3, 8e3
_COMPILING_DEAR = 60e3
_DEAR = ("conv", "lstm", "gru", "rnn", "recurrent")
#: What a program may take of what the calls take one by one, to be worth compiling.
_GAIN = 0.9


class Price(NamedTuple):
    """The estimates for a piece."""

    one_by_one: float
    as_program: float
    compiling: float

    @property
    def pays(self) -> bool:
        """Whether the program takes less by enough to be compiled at all."""
        return self.as_program <= _GAIN * self.one_by_one


def of_result(shape: tuple[int, ...]) -> float:
    """Return the price of a call by its result alone."""
    return _CALL + 2 * _OPERAND + _ELEMENT * math.prod(shape)


def rate(name: str) -> float:
    """Return the price of a multiplication in a call of this name; 0 where that is no product."""
    name = name.lower()
    return next((price for part, price in _MULTIPLY.items() if part in name), 0.0)


def multiplications(operands: Sequence[Any], result: float) -> float:
    """Return about how many multiplications a product takes, by the number of elements of its
    result.

    Of n×k by k×m, the root of the product of the three sizes is n·k·m.
    """
    sizes = sorted(math.prod(x.shape) for x in operands if hasattr(x, "shape"))[-2:]
    return math.sqrt(math.prod(sizes) * result)


def of(calls: Sequence[DeferredCall], alive: Sequence[int]) -> Price:
    """Return the price of a piece, of whose values those are results."""
    results = frozenset(alive)
    inputs = {n for call in calls for n in call.spec if n < 0}
    passed = _PASSED * (len(inputs) + len(results))
    products = sum(call.work > 0 for call in calls)
    factor = _AMONG_OTHERS if 2 * products <= len(calls) else 1.0
    one_by_one, as_program, compiling = 0.0, FLUSH + _PROGRAM + passed, 0.0
    for call in calls:
        one_by_one += _CALL + _OPERAND * (len(call.spec) + len(call.results.avals)) + call.work
        as_program += RECORDED + _WITHIN + factor * call.work
        for n, (shape, _) in enumerate(call.results.avals, call.first):
            elements = _ELEMENT * math.prod(shape)
            one_by_one += elements
            as_program += elements * (1 if n in results else _FUSED)
        name = call.form.name.lower()
        compiling += _COMPILING_DEAR if any(dear in name for dear in _DEAR) else COMPILING
        compiling += _COMPILING_RESULT * (len(call.results.avals) - 1)
    return Price(one_by_one, as_program, compiling)
