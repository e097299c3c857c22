"""The programs of one function: those kept, and those that a thread compiles while calls run
eagerly.
"""

from __future__ import annotations

import enum
import functools
import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import jax

from torchlike._jit.call.recompile_messages import Recompiles, key_difference, parameter_names
from torchlike._jit.call.tracer import MODES_IN_KEY, Call, FunctionTracer, Traced
from torchlike._jit.guards.keys import ObjectKey, Opened, without_objects, without_sizes
from torchlike._jit.program.program import Draft, Program
from torchlike._runtime import background, first_calls, progress
from torchlike._runtime.blocks.tiers import Compilation
from torchlike._runtime.first_calls.statistics import CompiledMeanwhile, meanwhile

#: For so many objects of one class among the arguments programs are compiled: each keeps its own
#: (a cache for one call to ``generate``) alive.
MOST_OBJECTS = 8
#: So many forms of objects that are taken apart are compiled for.
MOST_FORMS = 16
#: So many sizes are compiled when they first come; see `ProgramCache._why_later`.
MOST_AT_ONCE = 8


class ProgramCache:
    """What was compiled for one function, and why calls needed another program."""

    def __init__(self, fn: Callable[..., Any], most: int) -> None:
        self._fn = fn
        #: So many programs are kept.
        self.most = most
        self.programs: dict[Any, list[Program]] = {}
        #: By keys without sizes, how many sizes have had programs.
        self._sizes: Counter[Any] = Counter()
        #: By keys without the objects in them, how many objects have had programs.
        self._objects: Counter[Any] = Counter()
        #: Keys without sizes of calls that leave larger tensors in their arguments.
        self._growing: set[Any] = set()
        #: Calls of sizes that are not compiled yet, by their keys.
        self._met: Counter[Any] = Counter()
        #: Keys of programs that are being compiled.
        self._expected: set[Any] = set()
        #: The program that ran last, and the key of the call that was compiled last.
        self.latest: Program | None = None
        self.latest_key: tuple[Any, ...] | None = None

    def clear(self) -> None:
        """Forget them."""
        self.programs.clear()
        self._sizes.clear()
        self._objects.clear()
        self._growing.clear()
        self._met.clear()
        self._expected.clear()
        self.latest = self.latest_key = None

    def find(self, call: Call) -> tuple[Program, Any] | None:
        """Return the program that fits a call, and the call's numbers; None where none does."""
        return fitting(self.programs.get(call.key, ()), call)

    def keep(self, key: Any, program: Program) -> None:
        """Remember a program; the one unused for longest goes when there are too many."""
        if key not in self.programs:
            self.expect(key)
            self._expected.discard(key)
        self.programs.setdefault(key, []).insert(0, program)
        kept = [(p.state.used, k, p) for k, programs in self.programs.items() for p in programs]
        if len(kept) > self.most:
            _, oldest_key, oldest = min(kept, key=lambda entry: entry[0])
            self.programs[oldest_key].remove(oldest)
            if not self.programs[oldest_key]:
                del self.programs[oldest_key]

    def opens(self, key: Any, opened: Opened, warm_up: WarmUp | None) -> bool:
        """Return whether objects of a call, which no program fits, are taken apart from now on: an
        earlier call was alike, but given others. Its program is forgotten. Or whether none are any
        more, which have ever other attributes."""
        met = () if warm_up is None else warm_up.met
        if key in self.programs or key in met:
            return False
        if opened.classes and len({key[0] for key in self.programs}) >= MOST_FORMS:
            return opened.refuse()
        if all(type(leaf) is not ObjectKey for leaf in key[MODES_IN_KEY:]):
            return False
        alike = without_objects(key, MODES_IN_KEY)
        for old in [*self.programs, *met]:
            same = old[0] == key[0] and without_objects(old, MODES_IN_KEY) == alike
            if same and opened.add_other(old[MODES_IN_KEY:], key[MODES_IN_KEY:]):
                self.programs.pop(old, None)
                if warm_up is not None:
                    warm_up.forget(old)
                return True
        return False

    def note_growing(self, key: Any) -> None:
        """Have calls that differ from one in sizes and numbers alone run eagerly."""
        self._growing.add(_without_numbers(key))

    def expect(self, key: Any) -> None:
        """Count the objects and sizes of a program that will be kept."""
        if key not in self._expected:
            self._expected.add(key)
            alike = without_objects(key, MODES_IN_KEY)
            self._objects[alike] += 1
            self._sizes[without_sizes(alike, MODES_IN_KEY)] += 1

    def why_enough(self, call: Call, compiling: Sequence[Draft]) -> str:
        """Return why a call, which no program fits, nor one that is ``compiling``, is not to be
        compiled: for objects that are made anew for each call, for sizes and values that go on
        changing; "" where it may be."""
        key = call.key
        of_key, alike = self.programs.get(key, ()), without_objects(key, MODES_IN_KEY)
        if not of_key and alike != key and self._objects[alike] >= MOST_OBJECTS:
            made = next(b[1].__qualname__ for a, b in zip(key, alike, strict=True) if a != b)
            return (
                f"it was for {MOST_OBJECTS} objects of one class ({made}) among its arguments, and "
                "with others it runs eagerly; keep one, or pass the tensors that it holds"
            )
        if self._growing and not of_key and _without_numbers(key) in self._growing:
            return (
                "it leaves larger tensors or counts in an object among its arguments (a cache): "
                "such calls run eagerly; a cache of a fixed size is compiled for once"
            )
        values = len(of_key) + len(compiling)
        if values >= MOST_AT_ONCE and self._is_soon(key, values):
            what = (*of_key, *compiling)[0].guards.explain(call.tensors).partition(": ")[0]
            return (
                f"it was for {MOST_AT_ONCE} values of what it reads ({what or 'a number'}): at "
                "others it runs eagerly, mostly; keep a changing number in a tensor and fill_() it"
            )
        sizes = 0 if of_key else self._sizes[without_sizes(alike, MODES_IN_KEY)]
        if sizes >= MOST_AT_ONCE and self._is_soon(key, sizes):
            return (
                f"it was for {MOST_AT_ONCE} sizes of its arguments: at others it runs eagerly "
                "until they have come often (docs/changing-shapes.md)"
            )
        return ""

    def _is_soon(self, key: Any, programs: int) -> bool:
        """Count a call of a new size or value where so many ``programs`` were compiled, and return
        whether it is too soon for one more: such calls come twice for the first, four times for the
        next. So all of twelve buckets are compiled soon, and of lengths that grow by one at each
        call few are."""
        self._met[key] += 1
        while len(self._met) > _MOST:
            del self._met[next(iter(self._met))]
        if self._met[key] < 2 << (programs - MOST_AT_ONCE):
            return True
        del self._met[key]
        return False

    def reason(self, call: Call, compiling: Iterable[Draft] = ()) -> str:
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


def _without_numbers(key: tuple[Any, ...]) -> tuple[Any, ...]:
    alike = without_sizes(without_objects(key, MODES_IN_KEY), MODES_IN_KEY)
    return tuple(
        leaf[0] if type(leaf) is tuple and len(leaf) == 2 and leaf[0] in (int, float, str) else leaf
        for leaf in alike
    )


#: A program, or what becomes one.
_Fit = TypeVar("_Fit", Program, Draft)


def fitting(programs: Iterable[_Fit], call: Call) -> tuple[_Fit, Any] | None:
    """Return the first of some programs that fits a call, and the call's numbers."""
    for program in programs:
        if program.guards.check(call.tensors):
            numbers = program.numbers_of(call.leaves)
            if numbers is not None:
                return program, numbers
    return None


#: Kinds of calls of one function that are remembered without a program; the oldest is forgotten.
_MOST = 256
#: The call that is traced, unless there are fewer eager ones.
_TRACED_AT = 2
#: A first call is traced until it has made so many tensors, where nothing is said about warming up:
#: a fifth of a second at most.
_MOST_AT_FIRST = 100


def checked(warmup: Any) -> int | None:
    """Return ``warmup`` as a number of calls, or None; raise TypeError for what is neither,
    ValueError below 0."""
    if warmup is None:
        return None
    if isinstance(warmup, bool) or not isinstance(warmup, int):
        raise TypeError(f"warmup must be an int, a number of calls, not {type(warmup).__name__}")
    if warmup < 0:
        raise ValueError(f"warmup must be a number of calls, 0 or more, not {warmup}")
    return warmup


def of_options(options: Any) -> int | None:
    """Return the ``warmup`` of ``torch.compile(options=…)``; None where it says nothing."""
    return options.get("warmup") if isinstance(options, Mapping) else None


class Pending:
    """A program that is built and compiled in the background, and how many calls of its kind run
    eagerly.

    ``inputs`` are the placeholders for those of a call. ``made`` such calls ran eagerly already,
    ``most`` do in all; None lets the program say it, once it is built.
    """

    def __init__(
        self, name: str, draft: Draft, inputs: Sequence[Any], made: int, most: int | None
    ) -> None:
        self.draft = draft
        cost, self._is_counted = draft.cost, most is None
        #: So many calls run eagerly whatever the program says.
        self._least = cost.least_meanwhile if most is None else most
        expected = max(cost.calls_meanwhile, self._least) if most is None else most
        self.record = CompiledMeanwhile(name, cost.equations, max(expected, made), made)
        meanwhile.append(self.record)
        self._built = background.submit(functools.partial(self._build, inputs), name)
        self._compilation = background.submit(functools.partial(self._compile, name), name)

    def _build(self, inputs: Sequence[Any]) -> tuple[Program, Compilation]:
        program = self.draft.program()
        compilation = program.compiling(inputs)
        self.record.equations = program.cost.equations
        compilation.note(self.record)
        if compilation.shared:
            for words in (program.words, program.gradient.words):
                if words is not None:
                    words.in_parts = True
        return program, compilation

    def _compile(self, name: str) -> None:
        began = time.perf_counter()
        _, compilation = self._built.result()
        n = self.record.equations
        with progress.told(f"compiling {name} in the background: {n:,} equations"):
            compilation.work()
        self.record.seconds = time.perf_counter() - began

    def runs_eagerly(self) -> bool:
        """Count one more call, and return whether it runs eagerly."""
        record = self.record
        if self._is_counted and record.calls >= self._least:
            (program, compilation), self._is_counted = self._built.result(), False
            cost = program.cost
            most = cost.calls_while(compilation.compiling) if cost.calls_meanwhile else 0
            record.eager_calls = max(most, self._least, record.calls)
        if record.calls >= record.eager_calls:
            return False
        record.calls += 1
        return True

    def cancel(self) -> None:
        """Build and compile nothing that is not begun yet."""
        self._built.cancel()
        self._compilation.cancel()

    def wait(self) -> Program:
        """Wait for the program, or raise what compiling it has raised."""
        began = time.perf_counter()
        self._compilation.result()
        self.record.waited = time.perf_counter() - began
        self.record.is_used = True
        return self._built.result()[0]


class _Calls:
    """Calls with one key that no program fits, being compiled or not.

    Attributes:
      unknown: how many there were since the last trace, and why they need another program than the
        call before, whose key stands beside.
      in_vain: whether no program of theirs can be kept for later calls.
      was_first: whether one has left gradients where it found none: others that do recur.
    """

    def __init__(self) -> None:
        self.unknown = 0
        self.reason: tuple[str, Any] = "", None
        self.in_vain = self.was_first = False
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
    """The calls of one function that run eagerly, by key, while a thread compiles their program.

    A call is of the kind of an earlier one where one program fits both. With ``warmup=k`` the first
    call of a kind only runs eagerly: what it makes lazily (an optimizer's state) is there when the
    second is traced, and a shape that comes once is never compiled. The second call is traced in
    the caller's thread, all that the trace did is undone, and it runs eagerly as well (with
    ``warmup=1`` that is the first call). Call k + 1 runs the program, and waits for it where it is
    not there yet: which calls run eagerly is a matter of counts, never of time.

    Where nothing is said (``calls`` is None) the first call of a key is traced. A program that is
    small is compiled and run at once. A trace that comes to have too many operations ends, and the
    call runs eagerly, as with ``warmup``. How many calls do is then what `WholeProgram` says.

    A trace whose program is for that call alone (it took from an iterator, which nobody can put
    back) is not undone: it is the call, compiled at once.
    """

    def __init__(
        self, calls: int | None, tracer: FunctionTracer, cache: ProgramCache, recompiles: Recompiles
    ) -> None:
        self.calls = calls
        self._tracer = tracer
        self._cache = cache
        self._recompiles = recompiles
        self._keys: dict[Any, _Calls] = {}
        #: Keys without sizes of calls whose traces were ended: others are traced when they have
        #: come twice.
        self._large: set[Any] = set()

    def clear(self) -> None:
        self._keys.clear()
        self._large.clear()

    @property
    def met(self) -> Collection[Any]:
        """The keys of calls that no program fitted."""
        return self._keys.keys()

    def forget(self, key: Any) -> None:
        """Compile nothing for calls with a key: there will be none."""
        found = self._keys.pop(key, None)
        for pending in () if found is None else found.pending:
            pending.cancel()

    @property
    def is_active(self) -> bool:
        """Whether calls run eagerly, or may."""
        return self.calls is not None or bool(self._keys)

    def most_traced(self) -> float:
        """Return how many operations a call may have that is compiled at once. All, where eager
        operations would be compiled, too, one by one; and where several processes run one program,
        whose eager calls would be no part of it."""
        waits = self.calls is not None or jax.process_count() > 1
        return math.inf if waits or not first_calls.by_numpy() else _MOST_AT_FIRST

    def programs(self, key: Any) -> list[Draft]:
        """Return the programs that are being compiled for calls with this key."""
        return [pending.draft for pending in self._pending(key)]

    def find(self, call: Call) -> tuple[Draft, Any] | None:
        """Return the program that is being compiled for such a call, and the call's numbers."""
        return fitting(self.programs(call.key), call)

    def expects(self, call: Call) -> bool:
        """Return whether a program for such a call is on its way: is compiled, or will be."""
        is_first = call.key in self._keys and call.key not in self._cache.programs
        return (is_first and not self._pending(call.key)) or self.find(call) is not None

    def take(self, call: Call) -> ExecutionMode | Ready | Traced:
        """Count a call that no program fits, and return how it runs; where it is `Traced`, the
        trace was for this call alone (it may have taken from an iterator), and the call is to be
        its first run."""
        found = self.find(call)
        if found is not None:
            return self._take_pending(call.key, *found)
        is_new = call.key not in self._keys
        if self.calls is None and is_new and _without_numbers(call.key) not in self._large:
            return ExecutionMode.COMPILED
        cache = self._cache
        before = cache.latest_key
        if before is not None and call.key not in cache.programs:
            call = self._tracer.with_numbers(call, before)
        what = self._count(call.key, lambda: (cache.reason(call, self.programs(call.key)), before))
        cache.latest_key = call.key
        return (
            self._trace(call)
            if what == "traced"
            else (ExecutionMode.EAGER if what == "eager" else ExecutionMode.COMPILED)
        )

    def _take_pending(self, key: Any, draft: Draft, numbers: Any) -> ExecutionMode | Ready:
        """Count one more call for which a program is being compiled, and return how it runs:
        eagerly, or by the program, for which it waits."""
        (pending,) = [p for p in self._pending(key) if p.draft is draft]
        if pending.runs_eagerly():
            return ExecutionMode.EAGER
        try:
            program = pending.wait()
        finally:
            self._keys[key].pending.remove(pending)
        self._cache.keep(key, program)
        return Ready(program, numbers)

    def _trace(self, call: Call) -> ExecutionMode | Traced:
        """Trace a call that is to run eagerly, undo all that the trace did, and have the program
        compiled meanwhile. Where it is for this call alone nothing is undone."""
        traced = self._tracer.program_of(call, silent=True)
        run, draft = traced.trace, traced.draft
        unrepeatable = run.capture.per_call.unrepeatable
        if unrepeatable or not draft.cacheable:
            self._not_kept(call.key, not (unrepeatable or draft.changes_structure))
            return traced
        reason, before = self._keys[call.key].reason
        reason = self._cache.reason(call, self.programs(call.key)) or reason
        if reason and self._tracer.traces > 1:
            self._recompiles.note(reason, before, call.key)
        return ExecutionMode.EAGER if self.begin(traced) else traced

    def begin(self, traced: Traced) -> bool:
        """Undo all that a trace did and have its program compiled meanwhile; return False, where it
        is to be compiled at once."""
        call, key, run, draft = traced
        if self.calls is None:
            again = draft.cacheable or draft.changes_structure
            if not again or run.capture.per_call.unrepeatable or run.capture.ranks:
                return False
            if self._tracer.conversion.active or not draft.cost.calls_meanwhile:
                return False
            if not run.results.by_numpy or self.most_traced() == math.inf:
                return False
        capture, drawn = run.capture, run.first_values
        run.outputs.cut()
        capture.per_call.fail()
        capture.undo_python()
        asked = self._keys.setdefault(call.key, _Calls())
        made = asked.unknown = asked.unknown or 1
        is_first = run.results.leaves_first_gradients and not asked.was_first
        asked.was_first |= is_first
        if not draft.cacheable or (self.calls is None and is_first):
            return True  # the next call is another program's
        inputs = draft.placeholders(call.tensors, drawn, draft.numbers_of(call.leaves))
        self._cache.latest_key = key
        self._tracer.say_recorded(run)
        asked.unknown = 0
        pending = Pending(self._tracer.name, draft, inputs, made, self.calls)
        self._keys.setdefault(key, _Calls()).pending.insert(0, pending)
        self._cache.expect(key)
        return True

    def put_off(self, call: Call) -> None:
        """Count a call whose trace has come to have too many operations: the next one like it is
        traced to its end, and no other of another size before it has come again."""
        self._large.add(_without_numbers(call.key))
        self._count(call.key, lambda: (self._cache.reason(call), self._cache.latest_key))
        self._cache.latest_key = call.key

    def _pending(self, key: Any) -> list[Pending]:
        found = self._keys.get(key)
        return [] if found is None else found.pending

    def _count(self, key: Any, reason: Callable[[], tuple[str, Any]]) -> str:
        """Count one more call that no program fits, being compiled or not, and return how it is to
        run.

        "eager"; "traced" and eager then; "compiled" now. ``reason``: why it needs another program
        than the call before, and that one's key.
        """
        found = self._calls_with(key)
        if not found.unknown:
            found.reason = reason()
        found.unknown += 1
        calls = math.inf if self.calls is None and not found.in_vain else self.calls or 0
        if found.unknown > calls:
            if not found.in_vain:
                found.unknown = 0
            return "compiled"
        if found.in_vain or found.unknown < min(_TRACED_AT, calls):
            return "eager"
        return "traced"

    def count_untraced(self, key: Any) -> int:
        """Count one more call of a kind of which none is traced to warm up; return how many there
        were."""
        found = self._calls_with(key)
        found.unknown += 1
        return found.unknown

    def _calls_with(self, key: Any) -> _Calls:
        """Return what is known of the calls with a key; the oldest of too many are forgotten."""
        found = self._keys.get(key)
        if found is None:
            while len(self._keys) >= _MOST:
                del self._keys[next(iter(self._keys))]
            found = self._keys[key] = _Calls()
        return found

    def _not_kept(self, key: Any, in_vain: bool) -> None:
        """Note that the program of the call counted last was for that call alone; ``in_vain`` where
        so will be those of later ones: they are not traced to warm up."""
        found = self._keys[key]
        found.in_vain = in_vain
        found.unknown -= not in_vain
