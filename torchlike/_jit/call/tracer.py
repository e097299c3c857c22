"""`FunctionTracer` traces a call that no program fits, and compiles a program that has not run."""

from __future__ import annotations

import functools
import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from torchlike._core import modes
from torchlike._core.errors import JitCaptureError
from torchlike._jit.capture.capture import Postponed
from torchlike._jit.capture.changes import key_of, moved_numbers
from torchlike._jit.capture.unread import UnreadString
from torchlike._jit.guards.keys import Numbers, Opened, static_key, with_offset
from torchlike._jit.guards.weak import held_by
from torchlike._jit.program.node import Double
from torchlike._jit.program.program import Draft, Program
from torchlike._jit.trace.rewriting import Conversion
from torchlike._jit.trace.tracing import Tracing, offsets_among
from torchlike._runtime.trees import Leaves
from torchlike.tensor import Tensor

#: The structure and the modes stand before the leaves in a key.
MODES_IN_KEY = 5


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A call that no program fits.

    Attributes:
      key: under which the programs that may fit are found.
      tensors: the tensors among the leaves.
      traced: the leaves whose values are no part of the key: traced numbers, and views at any
        offset.
    """

    key: tuple[Any, ...]
    tensors: list[Tensor]
    leaves: list[Any]
    structure: Any
    traced: Sequence[int]


# -------------------------------------------------------------------------------------------------
# `FunctionTracer` traces one call of a function and compiles a program that has not run.


logger = logging.getLogger("torchlike.jit")
#: Held by a capture: two threads that train one model would see each other's tracers.
capturing = threading.RLock()
#: Stands for a tensor among the leaves that a program remembers.
_TENSOR = object()
#: Told of each program that is made: the function, its name, and the draft of the program.
watchers: list[Callable[[Any, str, Draft], None]] = []


class BodyRaised(Exception):
    """The body of a function with a fallback raised an error of its own, which its argument tells:
    the call runs eagerly, and raises it there."""


class PutOff(Exception):
    """A call runs eagerly, and all that its trace did is undone; the next one like it is traced
    again. It finds no gradients and leaves some, so that its program would be for no other call; or
    it ``is_large``: it has more operations than are traced at a first call."""

    def __init__(self, is_large: bool = False) -> None:
        self.is_large = is_large


class Opens(Exception):
    """Objects among the arguments are taken apart from now on. All that the trace did is undone;
    the call runs eagerly, and the next one like it is compiled."""


class Grows(Exception):
    """A call leaves tensors of another size in an object among its arguments, or another number
    that Python needs: each program would be for one call alone. All that its trace did is undone;
    it runs eagerly."""


class Traced(NamedTuple):
    """A program that is not built yet, the call and the trace that it is made of, and the key of
    later calls."""

    call: Call
    key: tuple[Any, ...]
    trace: Tracing
    draft: Draft

    @property
    def program(self) -> Program:
        """The program, which is built here."""
        return self.draft.program()


class FunctionTracer:
    """Traces the calls of one function.

    Attributes:
      name: the function's.
      traces: how many programs were made.
      conversion: which of the user's functions are rewritten for their control flow.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        name: str,
        numbers: Numbers,
        falls_back: bool = False,
        scripting: bool = False,
        checks: bool = True,
        opened: Opened | None = None,
    ) -> None:
        self._opened = opened
        self._fn = fn
        self.name = name
        self._numbers = numbers
        #: Whether prints are held back and records replayed, as `torch.compile` does.
        self.falls_back = falls_back
        self._scripting = scripting
        #: Whether programs check values.
        self._checks = checks
        self.conversion = Conversion()
        self.traces = 0
        #: Whether a trace runs whose call is eager: what the body prints then is not told.
        self._is_silent = False
        #: How many operations the trace that runs may have.
        self._most: float = math.inf
        #: Keys of calls of which one was put off.
        self._put_off: set[Any] = set()
        #: Whether it is the head of a function, whose tail is given the very objects from outside.
        self._is_head = False
        #: What stood for strings in the last trace.
        self._unread: Sequence[UnreadString] = ()
        #: What the body records, of which it was told.
        self._recorded: set[str] = set()
        #: Numbers in Python's objects that the last program changed, and those that have been
        #: traced in vain: the key of a place, and the place.
        self.movable: dict[Any, Any] = {}
        self._moving: dict[Any, Any] = {}
        self._refused: set[Any] = set()

    def take_head(self, head: Callable[..., Any]) -> None:
        """Trace the head of the function from now on, which is split (see ``tail``)."""
        self._fn, self._is_head = head, True
        self.conversion = Conversion()

    def program_of(self, call: Call, silent: bool = False, most: float = math.inf) -> Traced:
        """Trace a call and return its program. `BodyRaised` where the function falls back and its
        body raised an error of its own, `PutOff` where it has more than ``most`` operations."""
        self._is_silent, self._most = silent, most
        try:
            return self._program_of(call)
        except Postponed:
            raise PutOff(is_large=True) from None
        finally:
            self._is_silent, self._most = False, math.inf

    def _program_of(self, call: Call) -> Traced:
        started = time.perf_counter()
        run, closed, shared = self._traced(call)
        capture, results = run.capture, run.results
        self.movable = run.outside.movable
        results.leaves_first_gradients = any(
            slot.of_tensor and slot.is_read and slot.initial is None and left is not None
            for slot, left in results.slot_outputs
        )
        if (why := self._why_not_now(call, run)) is not None:
            run.outputs.cut()
            capture.per_call.fail()
            capture.undo_python()
            raise why
        results.capture_seconds = time.perf_counter() - started
        if isinstance(call.leaves, Leaves):
            run.check_containers(call.leaves.containers)
        if run.numbers.static:
            self._numbers.refuse(call.structure, run.numbers.static_arguments)
            self._refused.update(map(key_of, run.numbers.static_places))
        if self.falls_back:
            results.prints = capture.prints.effect()
        plain = [_TENSOR if isinstance(x, Tensor) else x for x in call.leaves]
        if not run.numbers.places:  # a second trace would find other numbers there
            results.retrace = functools.partial(
                self._double, plain, call.structure, shared, run.traced
            )
        run.undo_changes()
        draft = Draft(results, capture, closed, run.n_forward, run.sources(), call.tensors, shared)
        if weak := capture.observer.weak_referents():
            for key in held_by(draft.program(), weak):
                draft.do_not_keep(capture.observer.why_held(key))
        results.by_numpy = capture.by_numpy()
        capture.cells.inputs.clear()
        self.traces += 1
        for watch in watchers:
            watch(self._fn, self.name, draft)
        return Traced(call, _key_of(call, run), run, draft)

    def _why_not_now(self, call: Call, run: Tracing) -> Exception | None:
        """Return what is to be raised where the program of a trace is not to be made: the call is
        made in another way."""
        if not run.capture.per_call.unrepeatable:
            opened, made = self._opened, run.makes_lazily()
            if opened is not None and made and opened.add_changed(call.leaves, made):
                return Opens()
            may_grow = self.falls_back and self._numbers.dynamic is not False
            if may_grow and (run.copies.grow() or self._counts(call, run)):
                return Grows()
        return PutOff() if self._is_of_first_gradients(call, run) else None

    def _counts(self, call: Call, run: Tracing) -> bool:
        """Return whether a call changes numbers in objects among its arguments whose values are
        needed in Python: each would be another program's."""
        needed = set(run.numbers.static_arguments)
        needed.update(
            i for i in range(len(call.leaves)) if self._numbers.is_needed(call.structure, i)
        )
        return bool(run.opened and needed) and run.changes_number(needed)

    def _is_of_first_gradients(self, call: Call, run: Tracing) -> bool:
        """Return whether a call is the first of its kind, and of those that come it alone finds
        leaves without the gradients that it leaves them."""
        results = run.results
        if (
            not (self.falls_back and results.cacheable)
            or (self._is_silent and self._most == math.inf)
            or run.capture.per_call.unrepeatable
            or call.key in self._put_off
        ):
            return False
        if not results.leaves_first_gradients:
            return False
        self._put_off.add(call.key)
        return True

    def _traced(self, call: Call) -> tuple[Tracing, Any, frozenset[int]]:
        """Trace a call: with its numbers traced where that can be, and else frozen."""
        self._moving |= self.movable
        choices = _choices(call.traced, call.leaves)
        while True:
            is_moving = bool(self._moving.keys() - self._refused)
            for some in (*choices, ()) if is_moving else choices:
                found = self._trace_numbers(call, some)
                if found is not None:
                    left = set(call.traced).difference(found[0].traced)
                    self._numbers.refuse(call.structure, left)
                    return found
            if not is_moving:
                break
            self._refused |= self._moving.keys()
        try:
            found = self.trace(call.tensors, call.leaves, call.structure, ())
        except Exception as error:
            if not self.falls_back or isinstance(error, JitCaptureError):
                raise
            raise BodyRaised(f"{type(error).__name__}: {error}") from error
        self._numbers.refuse(call.structure, call.traced)
        return found

    def _trace_numbers(self, call: Call, traced: Sequence[int]) -> Any:
        """Capture a call with numbers, and the offsets of views, traced; return None where they
        have to be frozen after all."""
        tensors = call.tensors
        moving = [tensors[i] for i in offsets_among(call.leaves, traced)]
        if any(sum(t is x for x in tensors) > 1 for t in moving):
            return None  # one tensor twice; later they may be two
        try:
            moving = {k: p for k, p in self._moving.items() if k not in self._refused}
            found = self.trace(tensors, call.leaves, call.structure, traced, moving=moving)
        except Exception:
            read = {unread.leaf for unread in self._unread if unread.was_read}
            rest = [i for i in traced if i not in read]
            if rest and len(rest) < len(traced):
                return self._trace_numbers(call, rest)
            return None  # perhaps for want of a plain number; if not, the error comes again
        run = found[0]
        results, observer = run.results, run.capture.observer
        kept = not results.cacheable or run.capture.per_call.unrepeatable or run.records
        # Something may hold a traced number that outlives the capture, or look at its class.
        wrong = (run.numbers or run.unread) and (kept or observer.asks_for_types())
        needed = {unread.leaf for unread in run.unread if unread.is_needed()}
        if wrong or needed:
            run.capture.per_call.fail()
            run.capture.undo_python()
            rest = [] if wrong else [i for i in traced if i not in needed]
            return self._trace_numbers(call, rest) if rest else None
        return found

    def trace(
        self,
        arguments: list[Tensor],
        leaves: list[Any],
        structure: Any,
        traced: Sequence[int],
        avals: Sequence[Any] | None = None,
        moving: dict[Any, Any] | None = None,
    ) -> tuple[Tracing, Any, frozenset[int]]:
        """Make one capture, with user functions converted where their control flow asked for it,
        and arguments as themselves that are also reached from outside."""
        shared: frozenset[int] = frozenset()
        drawn: Sequence[Any] = ()
        while True:
            with self.conversion.applied():
                run = self._tracing(arguments, leaves, structure, shared, traced, drawn, moving)
                try:
                    closed = run.trace(avals)
                except Exception as error:
                    known = frozenset() if avals is not None else run.compared_arguments()
                    if known:  # the code may have looked for them, and not found the placeholders
                        shared |= known
                        continue
                    if isinstance(error, JitCaptureError) and self.conversion.extend(error):
                        continue
                    if self._is_silent and not self.falls_back:
                        run.capture.prints.let_out()  # the body does not run again
                    raise
                reached = run.arguments_that_are_state()
                if reached and avals is None:
                    run.capture.undo_python()
                    if not run.offsets.isdisjoint(reached):
                        run.capture.per_call.fail()
                    shared, drawn = shared | reached, run.first_values
                    continue
            self.conversion.forgive(run.capture.observer)
            return run, closed, shared

    def _tracing(self, *what: Any) -> Tracing:
        """Prepare a capture of the function, not begun yet."""
        run = Tracing(self._fn, self.name, *what)
        self._unread = run.unread
        run.capture.scripting, run.capture.checks_values = self._scripting, self._checks
        run.gives_objects = self._is_head
        run.replays = self.falls_back
        run.capture.prints.is_deferring = self.falls_back
        run.capture.prints.silent = self._is_silent
        if not self.conversion.active:  # loops on values, which run eagerly for who knows how long
            run.capture.most = self._most
        return run

    def _double(
        self,
        plain: list[Any],
        structure: Any,
        shared: frozenset[int],
        traced: Sequence[int],
        run: Any,
    ) -> Double:
        """Trace the gradient's gradient of one run; see ``double``."""
        it = iter(run.arguments)
        leaves = [next(it) if x is _TENSOR else x for x in plain]
        was = modes.current.grad_enabled
        modes.current.grad_enabled = True
        try:
            with capturing, self.conversion.applied():
                again = self._tracing(
                    list(run.arguments), leaves, structure, shared, traced, run.drawn
                )
                backward = again.record_backward()
                closed = again.trace()
                again.capture.undo_python()
        finally:
            modes.current.grad_enabled = was
        return Double(again, backward, closed)

    def with_batches(self, call: Call) -> Call:
        """Return a call with the views traced that are batches of data."""
        if call.traced or not self._numbers.expect_batches(call.leaves, call.structure):
            return call
        return self._with_traced(call)

    def expect_numbers(self, program: Program) -> None:
        """Trace the numbers in Python's objects that have changed since a program was made, which
        does not fit a call for that."""
        if self.falls_back and self._numbers.dynamic is not False:
            self._moving |= moved_numbers(program.guards.guards)

    def with_numbers(self, call: Call, before: Any) -> Call:
        """Count all that changed between the key ``before`` and that of a call that recompiles, and
        return the call with the numbers traced that have done so too often."""
        self._numbers.changed(before, call.key, MODES_IN_KEY)
        return self._with_traced(call) if self._numbers.active else call

    def _with_traced(self, call: Call) -> Call:
        key = list(call.key)
        traced = self._numbers.rewrite(key, MODES_IN_KEY, call.leaves, call.structure)
        return replace(call, key=tuple(key), traced=traced)

    def say_recorded(self, run: Tracing) -> None:
        """Say, once for each, that what the body counts or logs it does once per compile."""
        if self.falls_back:
            return
        new = [label for label in run.records if label not in self._recorded]
        self._recorded.update(new)
        if new:
            logger.warning(
                "torchlike.jit: %s changes %s; compiled code does that once per compile, not at "
                "each call",
                self.name,
                ", ".join(f"`{label}`" for label in new),
            )


def _key_of(call: Call, run: Tracing) -> tuple[Any, ...]:
    """Return the key under which the next call will look: numbers found static are part of it."""
    final = list(call.key)
    static = set(run.numbers.static_arguments)
    free = {*run.numbers.positions, *(unread.leaf for unread in run.unread)}
    n_tensors = 0
    for i, leaf in enumerate(call.leaves, MODES_IN_KEY):
        if isinstance(leaf, Tensor):
            if leaf._view is not None and n_tensors not in run.offsets:
                final[i] = with_offset(final[i], leaf._view.dynamic)
            n_tensors += 1
        elif i - MODES_IN_KEY not in free or i - MODES_IN_KEY in static:
            final[i] = static_key(leaf)
    return tuple(final)


def _choices(traced: Sequence[int], leaves: list[Any]) -> list[list[int]]:
    """Return the choices of numbers and offsets to trace, in turn, until it can be done: one kind
    may be needed in Python, and the other not."""
    offsets = [i for i in traced if isinstance(leaves[i], Tensor)]
    numbers = [i for i in traced if i not in offsets]
    return [x for x in ([*numbers, *offsets], numbers, offsets) if x][
        : 3 if offsets and numbers else 1
    ]
