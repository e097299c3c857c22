"""The programs of one function, by the key of the calls that they may fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torchlike._jit.call import Call
from torchlike._jit.compile.program import Program
from torchlike._jit.fallback.recompile_messages import key_difference
from torchlike._jit.guards.naming import parameter_names


class ProgramCache:
    """What was compiled for one function, and why calls needed another program."""

    def __init__(self, fn: Callable[..., Any], most: int) -> None:
        self._fn = fn
        #: So many programs are kept.
        self.most = most
        self.programs: dict[Any, list[Program]] = {}
        #: The program that ran last, and the key of the call that was compiled last.
        self.latest: Program | None = None
        self.latest_key: tuple[Any, ...] | None = None

    def clear(self) -> None:
        """Forget them."""
        self.programs.clear()
        self.latest = self.latest_key = None

    def find(self, call: Call) -> tuple[Program, Any] | None:
        """Return the program that fits a call, and the call's numbers; None where none does."""
        return fitting(self.programs.get(call.key, ()), call)

    def keep(self, key: Any, program: Program) -> None:
        """Remember a program; the one unused for longest goes when there are too many."""
        self.programs.setdefault(key, []).insert(0, program)
        kept = [(p.state.used, k, p) for k, programs in self.programs.items() for p in programs]
        if len(kept) > self.most:
            _, oldest_key, oldest = min(kept, key=lambda entry: entry[0])
            self.programs[oldest_key].remove(oldest)
            if not self.programs[oldest_key]:
                del self.programs[oldest_key]

    def reason(self, call: Call, compiling: Iterable[Program] = ()) -> str:
        """Describe why a call needs another program than those kept and those that are still
        ``compiling``; "" for the first."""
        for program in (*self.programs.get(call.key, ()), *compiling):
            changed = program.guards.explain(call.tensors)
            return changed or "a comparison or value of a traced number changed"
        if self.latest_key is None:
            return ""
        reason = key_difference(self.latest_key, call.key, parameter_names(self._fn))
        # What the body read may have changed as well, and would have been enough.
        changed = "" if self.latest is None else self.latest.guards.explain(None)
        return " and ".join(filter(None, (changed, reason)))


def fitting(programs: Iterable[Program], call: Call) -> tuple[Program, Any] | None:
    """Return the first of some programs that fits a call, and the call's numbers."""
    for program in programs:
        if program.guards.check(call.tensors):
            numbers = program.numbers_of(call.leaves, call.given)
            if numbers is not None:
                return program, numbers
    return None
