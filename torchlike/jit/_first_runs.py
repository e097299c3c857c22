"""First runs: calls of a scripted function that run operation by operation, before it is compiled.

A program is for one size of the arguments and takes 0.1 s and more; NumPy computes the operations
of a first call (``_runtime.first_calls``), for all sizes by the same programs. How many calls of a
kind run so is a matter of counts and sizes alone, so that runs repeat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from torchlike import nn
from torchlike._jit.call.tracer import MODES_IN_KEY, Call
from torchlike._runtime.first_calls.program import host
from torchlike._runtime.first_calls.settings import COMPILED, settings
from torchlike.tensor import Tensor

#: So many calls of a kind run first where all tensors are small: ten operations by NumPy take
#: 0.1 ms, so that these take about as long as to compile; and where one is large.
SMALL_CALLS, LARGE_CALLS = 200, 4
#: Elements of a tensor that is not small.
_LARGE = 1 << 13
#: Kinds of calls that are remembered; the oldest is forgotten.
_MOST_KINDS = 256


class FirstRuns:
    """Counts the calls of one function that run first."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._fn = fn
        self._counts: Counter[Any] = Counter()

    def clear(self) -> None:
        """Forget all calls."""
        self._counts.clear()

    def take(self, call: Call) -> int:
        """Count a call that no program fits, and return which first run of its kind it is to be; 0
        where it is to be compiled."""
        if settings.mode == COMPILED or not host().is_default:
            return 0
        kind = _kind(call)
        count = self._counts[kind] + 1
        if count > (LARGE_CALLS if self._is_large(call) else SMALL_CALLS):
            return 0
        self._counts[kind] = count
        while len(self._counts) > _MOST_KINDS:
            del self._counts[next(iter(self._counts))]
        return count

    def _is_large(self, call: Call) -> bool:
        state = self._fn.parameters() if isinstance(self._fn, nn.Module) else ()
        return any(t.numel() >= _LARGE for t in (*call.tensors, *state))


def _kind(call: Call) -> tuple[Any, ...]:
    """Return what calls have in common that differ in numbers alone: those become inputs once they
    have changed, and one program is for all."""
    leaves = [
        part if isinstance(leaf, Tensor) else type(leaf)
        for part, leaf in zip(call.key[MODES_IN_KEY:], call.leaves, strict=True)
    ]
    return (*call.key[:MODES_IN_KEY], *leaves)
