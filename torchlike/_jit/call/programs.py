"""The programs of one function: those kept, and those that a thread compiles (``warmup=k``)."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from torchlike._jit.call.recompile_messages import Recompiles, key_difference, parameter_names
from torchlike._jit.call.tracer import MODES_IN_KEY, Call, FunctionTracer, Traced
from torchlike._jit.guards.keys import without_objects, without_sizes
from torchlike._jit.program.program import Program
from torchlike._runtime import background

#: For so many objects of one class among the arguments programs are compiled: each keeps its own
#: (a cache for one call to ``generate``) alive.
MOST_OBJECTS = 8
#: So many sizes are compiled when they first come; see `ProgramCache._why_later`.
MOST_AT_ONCE = 8
#: So many sizes of the arguments of a module are compiled that nobody asked to compile, and so
#: many programs for arguments of the same sizes.
MOST_SIZES = 3
MOST_STATES = 8


class ProgramCache:
    """What was compiled for one function, and why calls needed another program."""

    def __init__(self, fn: Callable[..., Any], most: int) -> None:
        self._fn = fn
        #: So many programs are kept.
        self.most = most
        self.programs: dict[Any, list[Program]] = {}
        #: The program that ran last, and the key of the call that was compiled last.
        #: By keys without sizes, how many sizes have had programs.
        self._sizes: Counter[Any] = Counter()
        #: By keys without the objects in them, how many objects have had programs.
        self._objects: Counter[Any] = Counter()
        #: Calls of sizes that are not compiled yet, by their keys.
        self._met: Counter[Any] = Counter()
        self.latest: Program | None = None
        self.latest_key: tuple[Any, ...] | None = None

    def clear(self) -> None:
        """Forget them."""
        self.programs.clear()
        self._sizes.clear()
        self._objects.clear()
        self._met.clear()
        self.latest = self.latest_key = None

    def find(self, call: Call) -> tuple[Program, Any] | None:
        """Return the program that fits a call, and the call's numbers; None where none does."""
        return fitting(self.programs.get(call.key, ()), call)

    def keep(self, key: Any, program: Program) -> None:
        """Remember a program; the one unused for longest goes when there are too many."""
        if key not in self.programs:
            alike = without_objects(key, MODES_IN_KEY)
            self._objects[alike] += 1
            self._sizes[without_sizes(alike, MODES_IN_KEY)] += 1
        self.programs.setdefault(key, []).insert(0, program)
        kept = [(p.state.used, k, p) for k, programs in self.programs.items() for p in programs]
        if len(kept) > self.most:
            _, oldest_key, oldest = min(kept, key=lambda entry: entry[0])
            self.programs[oldest_key].remove(oldest)
            if not self.programs[oldest_key]:
                del self.programs[oldest_key]

    def why_enough(self, key: Any, is_part: bool) -> str:
        """Return why a call with a key, which no program fits, is not to be compiled: for objects
        that are made anew for each call, and sizes that go on changing, soonest where nobody asked
        to compile (``is_part``); "" where it may be."""
        of_key, alike = self.programs.get(key, ()), without_objects(key, MODES_IN_KEY)
        if not of_key and alike != key and self._objects[alike] >= MOST_OBJECTS:
            made = next(b[1].__qualname__ for a, b in zip(key, alike, strict=True) if a != b)
            return (
                f"it was for {MOST_OBJECTS} objects of one class ({made}) among its arguments, and "
                "with others it runs eagerly; keep one, or pass the tensors that it holds"
            )
        sizes = 0 if of_key else self._sizes[without_sizes(alike, MODES_IN_KEY)]
        if not is_part:
            return self._why_later(key, sizes) if sizes >= MOST_AT_ONCE else ""
        if sizes >= MOST_SIZES:
            return f"it was for {MOST_SIZES} sizes of its arguments, and at others it runs eagerly"
        if len(of_key) >= MOST_STATES:
            return (
                f"it was {MOST_STATES} times for arguments of the same kind: something that it "
                "reads goes on changing, and it runs eagerly where no program fits"
            )
        return ""

    def _why_later(self, key: Any, sizes: int) -> str:
        """Count a call of a new size where so many ``sizes`` were compiled, and return why it runs
        eagerly; "" where it has come often enough: twice for the first such size, four times for
        the next. So all of twelve buckets are compiled soon, and of lengths that grow by one at
        each call few are."""
        self._met[key] += 1
        while len(self._met) > _MOST:
            del self._met[next(iter(self._met))]
        if self._met[key] >= 2 << (sizes - MOST_AT_ONCE):
            del self._met[key]
            return ""
        return (
            f"it was for {MOST_AT_ONCE} sizes of its arguments: at others it runs eagerly until "
            "they have come often (docs/changing-shapes.md)"
        )

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
            numbers = program.numbers_of(call.leaves, call.inputs)
            if numbers is not None:
                return program, numbers
    return None


# -------------------------------------------------------------------------------------------------
# ``warmup=k``: the first k calls of a kind run eagerly, while a thread compiles their program.
#
# A call is of the kind of an earlier one where one program fits both. The first call of a kind
# only runs eagerly: what it makes lazily (an optimizer's state) is there when the second is
# traced, and a shape that comes once is never compiled. The second call is traced in the caller's
# thread, all that the trace did is undone, and it runs eagerly as well (with ``warmup=1`` that is
# the first call). Call k + 1 runs the program, and waits for it where it is not there yet: which
# calls run eagerly is a matter of counts, never of time.
#
# A trace whose program is for that call alone (it took from an iterator, which nobody can put
# back) is not undone: it is the call, compiled at once.


#: Kinds of calls of one function that are remembered without a program; the oldest is forgotten.
_MOST = 256
#: The call that is traced, unless there are fewer eager ones.
_TRACED_AT = 2


def checked(warmup: Any) -> int:
    """Return ``warmup`` as a number of calls; raise TypeError unless it is an int, ValueError below
    0."""
    if isinstance(warmup, bool) or not isinstance(warmup, int):
        raise TypeError(f"warmup must be an int, a number of calls, not {type(warmup).__name__}")
    if warmup < 0:
        raise ValueError(f"warmup must be a number of calls, 0 or more, not {warmup}")
    return warmup


def of_options(options: Any) -> int | None:
    """Return the ``warmup`` of ``torch.compile(options=…)``; None where it says nothing."""
    return options.get("warmup") if isinstance(options, Mapping) else None


class Pending:
    """A program that is being compiled, and how many calls of its kind there were."""

    def __init__(
        self, program: Any, compilation: background.BackgroundTask[None], calls: int
    ) -> None:
        self.program = program
        self.compilation = compilation
        self.calls = calls


class _Calls:
    """Calls with one key that no program fits, being compiled or not."""

    def __init__(self) -> None:
        #: How many there were since the last trace, and why they need another program than the call
        #: before, whose key stands beside.
        self.unknown = 0
        self.reason: tuple[str, Any] = "", None
        #: Whether no program of theirs can be kept for later calls.
        self.in_vain = False
        self.pending: list[Pending] = []


class ExecutionMode(enum.Enum):
    """What becomes of a call that no program fits."""

    #: It runs eagerly, to warm up.
    EAGER = enum.auto()
    #: It is compiled now.
    COMPILED = enum.auto()


class Ready(NamedTuple):
    """Its program was compiled meanwhile."""

    program: Program
    #: Those of the call.
    numbers: Any


class WarmUp:
    """The calls of one function that run eagerly, by key."""

    def __init__(
        self, calls: int, tracer: FunctionTracer, cache: ProgramCache, recompiles: Recompiles
    ) -> None:
        self.calls = calls
        self._tracer = tracer
        self._cache = cache
        self._recompiles = recompiles
        self._keys: dict[Any, _Calls] = {}

    def clear(self) -> None:
        self._keys.clear()

    def programs(self, key: Any) -> list[Program]:
        """Return the programs that are being compiled for calls with this key."""
        return [pending.program for pending in self._pending(key)]

    def find(self, call: Call) -> tuple[Program, Any] | None:
        """Return the program that is being compiled for such a call, and the call's numbers."""
        return fitting(self.programs(call.key), call)

    def take(self, call: Call) -> ExecutionMode | Ready | Traced:
        """Count a call that no program fits, and return how it runs; where it is `Traced`, the
        trace was for this call alone (it may have taken from an iterator), and the call is to be
        its first run."""
        found = self.find(call)
        if found is not None:
            return self._take_pending(call.key, *found)
        cache = self._cache
        before = cache.latest_key
        if not call.traced and before is not None and call.key not in cache.programs:
            call = self._tracer.with_numbers(call, before)
        what = self._count(call.key, lambda: (cache.reason(call, self.programs(call.key)), before))
        cache.latest_key = call.key
        return (
            self._trace(call)
            if what == "traced"
            else (ExecutionMode.EAGER if what == "eager" else ExecutionMode.COMPILED)
        )

    def _take_pending(self, key: Any, program: Program, numbers: Any) -> ExecutionMode | Ready:
        """Count one more call for which a program is being compiled, and return how it runs:
        eagerly, or by the program, for which it waits."""
        (pending,) = [p for p in self._pending(key) if p.program is program]
        if pending.calls < self.calls:
            pending.calls += 1
            return ExecutionMode.EAGER
        try:
            pending.compilation.result()
        finally:
            self._keys[key].pending.remove(pending)
        self._cache.keep(key, program)
        return Ready(program, numbers)

    def _trace(self, call: Call) -> ExecutionMode | Traced:
        """Trace a call that is to run eagerly, undo all that the trace did, and have the program
        compiled meanwhile. Where it is for this call alone nothing is undone."""
        traced = self._tracer.program_of(call, silent=True)
        _, key, run, program = traced
        capture = run.capture
        if capture.host.unrepeatable or not program.cacheable:
            self._not_kept(call.key, not (capture.host.unrepeatable or program.changes_structure))
            return traced
        drawn = run.first_values
        run.outputs.cut()
        capture.host.fail()
        capture.undo_python()
        numbers = program.numbers_of(call.leaves, call.inputs)
        reason, before = self._keys[call.key].reason
        reason = self._cache.reason(call, self.programs(call.key)) or reason
        if reason and self._tracer.traces > 1:
            self._recompiles.note(reason, before, call.key)
        self._cache.latest_key = key
        self._tracer.say_recorded(run)
        self._begin(call.key, key, program, program.compiling(call.tensors, drawn, numbers))
        return ExecutionMode.EAGER

    def _pending(self, key: Any) -> list[Pending]:
        found = self._keys.get(key)
        return [] if found is None else found.pending

    def _count(self, key: Any, reason: Callable[[], tuple[str, Any]]) -> str:
        """Count one more call that no program fits, being compiled or not, and return how it is to
        run.

        "eager"; "traced" and eager then; "compiled" now. ``reason``: why it needs another program
        than the call before, and that one's key.
        """
        found = self._keys.get(key)
        if found is None:
            while len(self._keys) >= _MOST:
                del self._keys[next(iter(self._keys))]
            found = self._keys[key] = _Calls()
        if not found.unknown:
            found.reason = reason()
        found.unknown += 1
        if found.unknown > self.calls:
            if not found.in_vain:
                found.unknown = 0
            return "compiled"
        if found.in_vain or found.unknown < min(_TRACED_AT, self.calls):
            return "eager"
        return "traced"

    def _begin(self, key: Any, traced_as: Any, program: Any, work: Callable[[], None]) -> None:
        """Compile the program of the call counted last, for later calls with the key
        ``traced_as``."""
        calls = self._keys[key].unknown
        self._keys[key].unknown = 0
        found = self._keys.setdefault(traced_as, _Calls())
        task = background.submit(work, self._tracer.name)
        found.pending.insert(0, Pending(program, task, calls))

    def _not_kept(self, key: Any, in_vain: bool) -> None:
        """Note that the program of the call counted last was for that call alone; ``in_vain`` where
        so will be those of later ones: they are not traced to warm up."""
        found = self._keys[key]
        found.in_vain = in_vain
        found.unknown -= not in_vain
