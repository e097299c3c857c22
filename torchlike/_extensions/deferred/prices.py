"""What calls take, one by one and as one program, and what the program takes to compile.

Estimates, from the kinds of operations and their sizes alone: by them is decided when a piece is
compiled, so two runs of a script decide alike and give the same bits. In microseconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torchlike._extensions.deferred.calls import Call

#: A call, beside its work; the call of a program, and each of its calls there.
_CALL = 20.0
_PROGRAM = 30.0
_WITHIN = 1.0
#: An element that is read or written: by a call of its own, and fused with others.
_ELEMENT = 0.4e-3
_FUSED = 0.15e-3
#: Compiling a call: of most kinds, and of those by whose name it is known that they are dear.
_COMPILING = 6e3
_COMPILING_DEAR = 60e3
_DEAR = ("conv", "lstm", "gru", "rnn", "scan", "sort", "svd", "eigh", "linalg", "cumsum", "fft")
#: What a program has to save to be worth compiling.
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


def of(calls: Sequence[Call]) -> Price:
    """Return the price of a piece."""
    one_by_one, as_program, compiling = 0.0, _PROGRAM, 0.0
    for call in calls:
        elements = sum(math.prod(shape) for shape, _ in call.results.avals)
        one_by_one += _CALL + _ELEMENT * elements
        as_program += _WITHIN + _FUSED * elements
        name = call.form.name.lower()
        compiling += _COMPILING_DEAR if any(dear in name for dear in _DEAR) else _COMPILING
    return Price(one_by_one, as_program, compiling)
