"""First runs: calls of a scripted function that run operation by operation, before it is compiled.

A program is for one size of the arguments and takes 0.1 s and more; NumPy computes the operations
of a first call (``_runtime.first_calls``), for all sizes by the same programs. How many calls of a
kind run so is a matter of counts and sizes alone, so that runs repeat.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike import nn
from torchlike._jit.call.programs import ExecutionMode, ProgramCache, WarmUp
from torchlike._jit.call.recompile_messages import Recompiles
from torchlike._jit.call.tracer import MODES_IN_KEY, Call, FunctionTracer
from torchlike._runtime.first_calls.program import host
from torchlike._runtime.first_calls.settings import COMPILED, settings
from torchlike.tensor import Tensor

#: So many calls of a kind run first where all tensors are small: ten operations by NumPy take
#: 0.1 ms, so that these take about as long as to compile; and where one is large.
SMALL_CALLS, LARGE_CALLS = 200, 4
#: Elements of a tensor that is not small.
_LARGE = 1 << 13


class FirstRuns(WarmUp):
    """The calls of a scripted function that run first: as those that warm up, but counted by kinds,
    and compiled at once and in the calling thread when there were enough.

    Attributes:
      is_over: whether a call is compiled whatever ran first.
      note: is told of the first call of each kind.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        note: Callable[[Call], None],
        tracer: FunctionTracer,
        cache: ProgramCache,
        recompiles: Recompiles,
    ) -> None:
        super().__init__(0, tracer, cache, recompiles)
        self.is_over = False
        self._fn = fn
        self._note = note

    def take(self, call: Call) -> ExecutionMode:
        if self.is_over or settings.mode == COMPILED or not host().is_default:
            return ExecutionMode.COMPILED
        most = LARGE_CALLS if self._is_large(call) else SMALL_CALLS
        nth = self.count_untraced(_kind(call))
        if nth == 1:
            self._note(call)
        return ExecutionMode.EAGER if nth <= most else ExecutionMode.COMPILED

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
