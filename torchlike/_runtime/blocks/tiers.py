"""`Tiers`: an executable that runs as shared blocks, which are compiled first, until the whole
program follows: layers of a model are compiled once, whatever their number.

It is the middle one of three tiers: operations one by one, shared blocks, the whole program. That
one is compiled where it is thought to be faster, once calls by blocks have lost as much as
compiling it takes, and is used from a call on that is known beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
from jax import core

from torchlike._runtime import background, compilation_cache, first_calls, targets
from torchlike._runtime.blocks.plan import planned
from torchlike._runtime.blocks.shared import CompileBlock, SharedBlocks
from torchlike._runtime.first_calls.program import host
from torchlike._runtime.first_calls.statistics import CompiledMeanwhile
from torchlike._runtime.jaxprs import sharding_of


def may_be_shared(cost: first_calls.WholeProgram) -> bool:
    """Return whether a program takes so long to compile that blocks may pay. On the CPU, and in one
    process: an accelerator waits for Python between blocks, and what processes may mix is checked
    for a program as a whole."""
    is_here = host().is_default and targets.runs_on_cpu() and jax.process_count() == 1
    return bool(cost.calls_meanwhile) and is_here


class Tiers:
    """An executable that may run as shared blocks until its whole program is there. To whoever
    looks at it, it is the whole program."""

    def __init__(
        self,
        whole: Any,
        jaxpr: Any,
        donated: tuple[int, ...],
        bound: Sequence[Any],
        name: str,
        compile_block: CompileBlock,
        flatten: Callable[..., Sequence[Any]] = lambda *args: args,
    ) -> None:
        """``jaxpr`` is what ``whole`` computes of the arrays ``bound`` and its arguments, of which
        ``flatten`` makes a sequence; its first outputs are written into the memory of those
        ``donated``."""
        self._whole = whole
        self._jaxpr = jaxpr
        self._donated = donated
        self._bound = bound
        self._name = name
        self._compile_block = compile_block
        self._flatten = flatten
        self._run = whole

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)

    def __call__(self, *args: Any) -> Any:
        return self._run(*args)

    def share(self, arguments: Sequence[Any]) -> SharedTier | None:
        """Run by shared blocks from now on, and return what compiles them and the whole program,
        for calls with such arguments (`jaxprs.placeholder`). None where blocks would not pay."""
        if any(len(s.device_set) > 1 for x in jax.tree.leaves(arguments) if (s := sharding_of(x))):
            return None
        plan = planned(self._jaxpr, [len(self._bound) + i for i in self._donated])
        if plan is None or not (cost := first_calls.shared_blocks(self._jaxpr, plan)).pays:
            return None
        blocks = SharedBlocks(plan, self._bound, self._name, self._compile_block)
        follows = WholeFollows(lambda: self._whole.lower(*arguments).compile(), cost, self._name)

        def run(*args: Any) -> Any:
            flat = self._flatten(*args)
            if any(isinstance(x, core.Tracer) for x in flat):  # within a trace of JAX's own
                return self._whole(*args)
            if follows.is_due():
                self._run = self._whole
                return self._whole(*args)
            return blocks(flat)

        self._run = run
        flat = self._flatten(*arguments)
        return SharedTier(lambda: blocks.compile(flat), blocks, cost, follows)


class SharedTier(NamedTuple):
    """An executable that runs by shared blocks.

    Attributes:
      work: compiles the blocks, in any thread.
      cost: what it is thought to cost.
      follows: has the whole program compiled and says when it is used.
    """

    work: Callable[[], None]
    blocks: SharedBlocks
    cost: first_calls.SharedBlocksCost
    follows: WholeFollows


class WholeFollows:
    """Counts the calls of a program by blocks, and says from which on the whole one is used.

    Attributes:
      record: of the report, once there is one.
    """

    def __init__(
        self, work: Callable[[], Any], cost: first_calls.SharedBlocksCost, name: str
    ) -> None:
        self._work = work
        self._begins, self._ends = cost.whole_begins, cost.whole_from
        self._name = name
        self._calls = 0
        self._task: background.BackgroundTask[Any] | None = None
        self.record: CompiledMeanwhile | None = None

    def is_due(self) -> bool:
        """Count a call, and return whether the whole program runs it; wait for the program where it
        is not there yet."""
        if self._begins is None or self._ends is None:
            return False
        self._calls += 1
        if self._task is None and self._calls > self._begins:
            self._task = background.submit(self._work, self._name)
        if self._task is None or self._calls <= self._ends:
            return False
        self._task.result()
        if self.record is not None:
            self.record.is_whole = True
        return True


class Compilation(NamedTuple):
    """How a program is compiled for the calls to come.

    Attributes:
      work: compiles what the first of them need, in any thread.
      compiling: what that is thought to take, in units of `first_calls`: loading where all is on
        disk.
      shared: those of its executables that run by blocks.
    """

    work: Callable[[], None]
    compiling: float
    shared: list[SharedTier]

    def note(self, record: CompiledMeanwhile) -> None:
        """Have the report's record say by which tier the program runs."""
        for each in self.shared:
            distinct, places = record.blocks
            plan, whole_from = each.blocks.plan, each.cost.whole_from
            record.blocks = distinct + len(plan.blocks), places + len(plan.places)
            if whole_from is not None:
                record.whole_from = max(whole_from, record.whole_from or 0)
            each.follows.record = record


def compilation(executables: Sequence[tuple[Any, Sequence[Any]]], whole: float) -> Compilation:
    """Return how executables are compiled for calls with such arguments (`jaxprs.placeholder`),
    which would take ``whole`` if none ran by blocks and none was on disk. Those that do not run by
    blocks are lowered here."""
    works: list[Callable[[], Any]] = []
    found: list[SharedTier] = []
    are_kept = True
    for executable, arguments in executables:
        shared = executable.share(arguments) if isinstance(executable, Tiers) else None
        if shared is not None:
            found.append(shared)
            works.append(shared.work)
            whole += shared.cost.compiling - shared.cost.whole
        else:
            lowered = executable.lower(*arguments)
            works.append(lowered.compile)
            are_kept = are_kept and compilation_cache.is_kept(lowered.compile)

    def work() -> None:
        for each in works:
            each()

    if are_kept and not found:
        whole = first_calls.loading(whole)
    return Compilation(work, whole, found)
