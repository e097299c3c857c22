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
#: An element of a result; what it takes where it is fused with what uses it; a multiplication and
#: addition of a product of matrices.
_ELEMENT = 0.4e-3
_FUSED = 0.4
_MULTIPLY = 0.025e-3
_PRODUCTS = ("mm", "matmul", "linear", "conv", "recurrent")
#: Compiling a call: of most kinds, and of those with loops or of convolutions.
COMPILING = 6e3
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


def multiplications(name: str, operands: Sequence[Any], results: Sequence[Any]) -> float:
    """Return about how many multiplications a product takes; 0 for what is none.

    Of n×k by k×m, the root of the product of the three sizes is n·k·m.
    """
    if not any(product in name.lower() for product in _PRODUCTS):
        return 0.0
    sizes = sorted(math.prod(x.shape) for x in operands if hasattr(x, "shape"))[-2:]
    return math.sqrt(math.prod(sizes) * max(math.prod(shape) for shape, _ in results))


def of(calls: Sequence[DeferredCall], alive: Sequence[int]) -> Price:
    """Return the price of a piece, of whose values those are results."""
    results = frozenset(alive)
    inputs = {n for call in calls for n in call.spec if n < 0}
    passed = _PASSED * (len(inputs) + len(results))
    one_by_one, as_program, compiling = 0.0, FLUSH + _PROGRAM + passed, 0.0
    for call in calls:
        work = _MULTIPLY * call.multiplications
        one_by_one += _CALL + _OPERAND * (len(call.spec) + len(call.results.avals)) + work
        as_program += RECORDED + _WITHIN + work
        for n, (shape, _) in enumerate(call.results.avals, call.first):
            elements = _ELEMENT * math.prod(shape)
            one_by_one += elements
            as_program += elements * (1 if n in results else _FUSED)
        name = call.form.name.lower()
        compiling += _COMPILING_DEAR if any(dear in name for dear in _DEAR) else COMPILING
    return Price(one_by_one, as_program, compiling)
