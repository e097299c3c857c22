"""`JitFunction` finds the program that fits a call, and makes one where none does."""

from __future__ import annotations

import functools
import math
import sys
import types
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from torchlike._core import dtypes, errors, modes
from torchlike._core.errors import JitCaptureError
from torchlike._extensions.deferred.switch import begins_as_asked, defer_as_asked, forget_asked
from torchlike._jit.call.captured_program import CapturedProgram
from torchlike._jit.call.programs import (
    ExecutionMode,
    ProgramCache,
    Ready,
    WarmUp,
    checked,
)
from torchlike._jit.call.recompile_limit import KindsOfCalls, RecompileLimit
from torchlike._jit.call.recompile_messages import Recompiles, parameter_names
from torchlike._jit.call.tracer import (
    MODES_IN_KEY,
    BodyRaised,
    Call,
    FunctionTracer,
    Grows,
    Opens,
    PutOff,
    Traced,
    capturing,
)
from torchlike._jit.guards.keys import NoKey, Numbers, Opened, signature, static_key
from torchlike._jit.program.delivery import CheckFailed, deliver, targets_of, write
from torchlike._jit.program.generated_call import UNFIT
from torchlike._jit.program.inline_cache import generate_inline_cache
from torchlike._jit.program.program import WHY, Draft, Program, SharedOutside
from torchlike._jit.trace.tail import split
from torchlike._runtime import first_calls, late_checks, progress
from torchlike._runtime.environment_variables import CHECKS
from torchlike._runtime.tracebacks import trim
from torchlike._runtime.trees import flatten_arguments
from torchlike.tensor import Tensor

#: After so many captures that could not be kept, say so (each call then compiles anew).
_WARN_AFTER = 3
#: After so many programs, one behind the other, that changed what they had read so that none of
#: them fits the next call, calls of their kind run eagerly; and after so many in all.
_MOST_UNSETTLED = 4
_MOST_UNSETTLED_IN_ALL = 8
#: After so many kinds of calls that cannot be compiled, try no further (PyTorch's limit, too).
_GIVE_UP_AFTER = 8
#: All functions there are, for ``reset_all``.
_functions: weakref.WeakSet[JitFunction] = weakref.WeakSet()


#: Runs a call eagerly, of positional and keyword arguments.
_Eagerly = Callable[[tuple[Any, ...], dict[str, Any]], Any]


_DEFERRED = (
    "\n  What this thread computes is deferred from now on: what recurs is compiled all the same "
    "(see torchlike.deferred)."
)
_TOO_DEEP = "a list or dictionary that is nested too deeply was passed to a jitted function"


class JitFunction:
    """A function compiled as a whole, with the state it uses found by itself.

    ``torchlike.jit`` makes it. It is called as the function is, and binds as a method does. Copies
    and pickles of it are of the function, and compile anew.

    Attributes:
      fell_back: why calls ran eagerly (``fallback="eager"``): the words of the errors.
      ran_eagerly: whether the last call did.
      tail_at: the line from which it runs in Python, behind its program; "" where all is compiled.

    Example:
      >>> double = torchlike.jit(lambda x: 2 * x)
      >>> double(torch.ones(2)), double.compiles, double.ran_eagerly
      (tensor([2., 2.]), 1, False)
      >>> double.reset()
      >>> double.latest is None
      True
    """

    #: Whether ``torch.jit.is_scripting()`` says yes inside.
    scripting = False
    #: Of one that was split (see ``tail``): from which line its tail runs, the function itself, and
    #: the tails by the marks that the heads return.
    tail_at = ""
    _whole: Any = None
    _tails: Mapping[str, Any] = types.MappingProxyType({})

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        max_programs: int = 64,
        static_argnums: Any = None,
        static_argnames: Any = None,
        dynamic: Any = None,
        fallback: str | None = None,
        warmup: int | None = 0,
        heeds_stance: bool = False,
        checks: bool | None = None,
        limit: RecompileLimit | None = None,
        numbers: Callable[..., Numbers] = Numbers,
    ) -> None:
        if fallback not in (None, "eager"):
            raise ValueError(f"fallback must be None or 'eager', not {fallback!r}")
        _functions.add(self)
        self._options = {
            "max_programs": max_programs,
            "static_argnums": static_argnums,
            "static_argnames": static_argnames,
            "dynamic": dynamic,
            "fallback": fallback,
            "warmup": warmup,
            "heeds_stance": heeds_stance,
            "checks": checks,
            "limit": limit,
            "numbers": numbers,
        }
        self._fn = fn
        self._name = getattr(fn, "__qualname__", type(fn).__name__)
        self._cache = ProgramCache(fn, max_programs)
        self._programs = self._cache.programs
        self._calls = 0
        #: Captures that could not be kept: in a row, by the key of the call, where the body
        #: changed the structure of modules or optimizers; all others under None.
        self._unkept: Counter[Any] = Counter()
        #: Programs that did not fit the next call: in a row, in all, and when the last was made.
        self._unsettled = 0, 0, 0
        self._numbers = numbers(fn, static_argnums, static_argnames, dynamic)
        self._kinds = None if limit is None else KindsOfCalls(limit, dynamic)
        self._opened = Opened()
        self._recompiles = Recompiles(fn, self._name, self._numbers)
        self._fallback = fallback
        self._tracer = FunctionTracer(
            fn,
            self._name,
            self._numbers,
            fallback is not None,
            self.scripting,
            not CHECKS.get() if checks is None else checks,
            self._opened,
        )
        self._warm_up = (
            None
            if checked(warmup) == 0
            else WarmUp(warmup, self._tracer, self._cache, self._recompiles)
        )
        #: Whether ``torch.compiler.set_stance`` speaks of it, and whether a stance let it run
        #: eagerly before it compiles.
        self._heeds_stance, self._deferred = heeds_stance, False
        self.fell_back: dict[Any, str] = {}
        #: The places that stand in the way, of which it was warned.
        self._reported: set[Any] = set()
        #: Whether the last call did.
        self.ran_eagerly = False
        functools.update_wrapper(self, fn, updated=())

    @property
    def compiles(self) -> int:
        """How many programs were compiled; ``reset`` does not take it back."""
        return self._tracer.traces

    @property
    def latest(self) -> Program | None:
        """The program that ran last; None before the first and after ``reset``."""
        return self._cache.latest

    def programs(self) -> list[CapturedProgram]:
        """Return the programs that are kept, the latest first, and behind them one that ran last
        and is not kept: what each takes, gives, guards and costs."""
        kept = [(key, p) for key, programs in self._cache.programs.items() for p in programs]
        kept.sort(key=lambda entry: entry[1].state.used, reverse=True)
        latest = self._cache.latest
        if latest is not None and all(p is not latest for _, p in kept):
            kept.append((self._cache.latest_key or (), latest))
        parameters = parameter_names(self._fn)
        return [CapturedProgram(self._name, p, key, parameters) for key, p in kept]

    def program_that_ran(self) -> CapturedProgram | None:
        """Return the program that ran last."""
        return next((p for p in self.programs() if p.is_of(self._cache.latest)), None)

    def reset(self) -> None:
        """Forget every compiled program: the next call compiles."""
        self._cache.clear()
        if self._kinds is not None:
            self._kinds.clear()
        self._unkept.clear()
        self._unsettled = 0, 0, 0
        if self._warm_up is not None:
            self._warm_up.clear()
        self.fell_back.clear()
        self._reported.clear()
        self._deferred = False

    def __reduce__(self) -> Any:
        """Have copies and pickles be of the function and compile anew: a program is bound to the
        very cells that it was captured with. One that stands where its function did is told by
        name."""
        found: Any = sys.modules.get(str(getattr(self, "__module__", None)))
        name = str(getattr(self, "__qualname__", ""))
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is self:
            return name
        kind, fn = type(self), self._fn
        if isinstance(self, _WithTail):
            kind, fn = JitFunction, self._whole
        fresh = kind(fn, **self._options)
        known = vars(fresh).keys() | {"tail_at", "_whole", "_tails"}
        users = {k: v for k, v in vars(self).items() if k not in known}
        return _made_again, (kind, fn, self._options), users or None

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Bind the function as a method: the instance is an argument like any other."""
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        current = modes.current.__dict__  # of this thread: one look instead of seven
        if current["capture"] is not None or current["levels"] or current["seen_by_mode"]:
            return self._fn(*args, **kwargs)  # a part of what they see
        if current["queue"] is not None:
            current["queue"].flush("a compiled function is called")
        latest = self._cache.latest
        if latest is not None and (recognize := latest.state.inline_cache):
            found = recognize(args, kwargs, current)
            if found is not None:
                tensors, numbers = found if latest.numbers else (found, ())
                try:
                    return self._run(latest, tensors, numbers)
                except SharedOutside:
                    return self._call_sharing(args, kwargs)
                except CheckFailed:
                    return self._call_plainly(args, kwargs)
        try:
            leaves, structure = flatten_arguments(args, kwargs, self._opened.classes)
        except RecursionError:
            return self._call_without_key(NoKey(_TOO_DEEP), args, kwargs)
        except Exception as error:  # of a method of the user's
            return self._call_unseen("its arguments cannot be looked into", error, args, kwargs)
        tensors = []
        switches = current["inference"], current["autocast"]
        key: list[Any] = [
            structure,
            current["grad_enabled"],
            dtypes.get_default_dtype(),
            switches,
            current["device"],
        ]
        first: dict[int, int] = {}
        try:
            for leaf in leaves:
                if isinstance(leaf, Tensor):
                    key.append(signature(leaf, first))
                    tensors.append(leaf)
                else:
                    key.append(static_key(leaf))
        except NoKey as why:
            return self._call_without_key(why, args, kwargs)
        except Exception as error:
            return self._call_unseen("its arguments cannot be looked into", error, args, kwargs)
        traced: Sequence[int] = ()
        if self._numbers.active:
            traced = self._numbers.rewrite(key, MODES_IN_KEY, leaves, structure)
        whole = tuple(key)
        for program in self._programs.get(whole, ()):
            state = program.state
            guard = state.guard
            if (guard is not None and guard(tensors)) or program.guards.check(tensors):
                numbers = program.numbers_of(leaves) if program.numbers else ()
                if numbers is not None:
                    if state.inline_cache is None and guard:
                        state.inline_cache = generate_inline_cache(
                            program.guards, leaves, whole, program.numbers
                        )
                    try:
                        return self._run(program, tensors, numbers)
                    except SharedOutside:
                        return self._call_sharing(args, kwargs)
                    except CheckFailed:
                        return self._call_plainly(args, kwargs)
        call = Call(whole, tensors, leaves, structure, traced)
        if self._cache.opens(whole, self._opened, self._warm_up):
            return self._call_again(args, kwargs)
        eagerly = self._eager_way(call)
        if eagerly is None:
            try:
                with capturing:  # one capture at a time
                    result, eagerly = self._call_captured(call)
            except Exception as error:
                trim(error)
                raise
            if eagerly is None:
                return result
        return eagerly(args, kwargs)

    def _eager_way(self, call: Call) -> _Eagerly | None:
        """Return the function that runs eagerly a call that no program fits; None where it is to be
        compiled."""
        fell_back = self.fell_back
        if fell_back and (call.key in fell_back or len(fell_back) >= _GIVE_UP_AFTER):
            return self._call_deferred
        if (modes.current.warming and self._warm_up is not None) or not self._may_compile(call):
            return self._call_plainly
        asks = self._fallback is not None and self._numbers.dynamic is not False
        if asks and self._warm_up is not None and self._warm_up.find(call) is not None:
            asks = False  # its program is on its way
        if asks and (why := self._cache.why_enough(call, self._compiling(call.key))):
            self._report_no_more(why)
            return self._call_plainly
        if self._kinds is not None and self._kinds.is_beyond(call):
            self._report_no_more("its recompile_limit is reached")
            return self._call_plainly
        return None

    def _call_captured(self, call: Call) -> tuple[Any, _Eagerly | None]:
        """Capture a call that no program fits, and return its result, or the function that runs it
        eagerly after all."""
        found = self._cache.find(call)  # another thread may have compiled it
        if found is not None:
            return self._run(found[0], call.tensors, found[1]), None
        if late_checks.queue:  # another call's error is none of the body that is captured
            late_checks.look()
        call = self._tracer.with_batches(call)
        for program in self._programs.get(call.key, ())[:1]:
            self._tracer.expect_numbers(program)
        try:
            decision = ExecutionMode.COMPILED if self._warm_up is None else self._warm_up.take(call)
            if type(decision) is Ready:
                return self._run(decision.program, call.tensors, decision.numbers), None
            if type(decision) is Traced:
                return self._first_run(decision, decision.call.key), None
            if decision is ExecutionMode.COMPILED:
                return self._compile(call), None
            return None, self._call_warming
        except CheckFailed:
            return None, self._call_plainly
        except SharedOutside as why:
            self._fall_back(call.key, str(why))
            return None, self._call_deferred
        except Opens:  # what makes state in a fresh object is called once for each
            return None, self._call_warming if self._fallback else self._call_again
        except JitCaptureError as error:
            if self._opened.refuse():
                return None, self._call_again
            again = self._split_before(error)
            if again is not None:
                return None, again
            if error.is_final or (error.is_final is None and self._fallback is None):
                raise
            self._fall_back(call.key, error)
            return None, self._call_deferred
        except PutOff as why:
            if why.is_large and self._warm_up is not None:
                self._warm_up.put_off(call)
                return None, functools.partial(self._call_watched, call)
            return None, self._call_warming
        except Grows:
            self._cache.note_growing(call.key)
            return None, self._call_plainly
        except BodyRaised as raised:
            # What the capture did is undone; eagerly, what the body does before it raises is done.
            return None, functools.partial(self._call_raised, call.key, raised.args[0])

    def _split_before(self, error: JitCaptureError) -> _Eagerly | None:
        """Split a training step before the statement that cannot be compiled: the program is of
        what stands before it, and the rest runs in Python behind it. Return what makes the call
        once more; None where it cannot be split."""
        is_again = type(self) is _WithTail
        if self._fallback is None or error.is_final or not (is_again or type(self) is JitFunction):
            return None
        if not (vars(error).get("trains") and self._tracer.falls_back):
            return None
        mark = f"{self._name}: tail {len(self._tails)}"
        whole = self._whole if is_again else self._fn
        found = split(whole, error, mark)
        if found is None:
            return None
        self._tails, self.tail_at = {**self._tails, mark: found.tail}, found.line
        self._whole = whole
        self._fn = found.head
        self._tracer.take_head(found.head)
        self._cache.clear()
        if self._warm_up is not None:
            self._warm_up.clear()
        self.__class__ = _WithTail
        # Who called the one that had a tail already calls that of the new head.
        call: Any = _call if is_again else _WithTail.__call__
        return lambda args, kwargs: call(self, *args, **kwargs)

    def _compile(self, call: Call) -> Any:
        """Trace, compile, run for the first time and remember."""
        cache, asked = self._cache, call.key
        reason, before = cache.reason(call, self._compiling(asked)), cache.latest_key
        if before is not None and asked not in cache.programs:
            call = self._tracer.with_numbers(call, before)
        most = math.inf if self._warm_up is None else self._warm_up.most_traced()
        traced = self._tracer.program_of(call, most < math.inf, most)
        if reason and traced.draft.cacheable and not traced.trace.capture.per_call.unrepeatable:
            self._recompiles.note(reason, before, asked)
        if most < math.inf and self._warm_up is not None and self._warm_up.begin(traced):
            raise PutOff
        return self._first_run(traced, asked)

    def _first_run(self, traced: Traced, asked: Any) -> Any:
        """Let a program do what its trace did, and remember it where later calls may use it.
        ``asked`` is the key under which the call found no program."""
        call, key, run, program = traced.call, traced.key, traced.trace, traced.program
        try:
            program.check_memory(call.tensors)
        except SharedOutside:  # the body runs once more
            run.capture.per_call.fail()
            run.capture.undo_python()
            raise
        if not program.may_run_again:
            run.capture.prints.let_out()
        self._calls = program.state.used = self._calls + 1
        self._cache.latest, self._cache.latest_key, self.ran_eagerly = program, key, False
        numbers = program.numbers_of(call.leaves)
        with progress.told(f"compiling {self._name}: {program.cost.equations:,} equations"):
            try:
                ran = program.run(call.tensors, run.first_values, numbers)
            except jax.errors.JaxRuntimeError as error:  # the call has not been
                run.capture.per_call.fail()
                run.capture.undo_python()
                raise errors.out_of_memory(error, doing=f"{self._name} (compiled)") from None
        made, known = run.outputs.made, run.outputs.cut()
        if program.words is not None:
            self._look_at_first(traced, ran.outputs)
            if program.may_run_again:
                run.capture.prints.let_out()
        result = deliver(program, call.tensors, ran, made, numbers, known)
        del made, known
        if run.modes_left is not None:
            run.modes_left.restore()
        if not run.capture.per_call.unrepeatable:
            if program.cacheable:
                self._unkept.pop(asked, None)
                self._cache.keep(key, program)
                self._tracer.say_recorded(run)
                if program.outputs.outside:
                    self._count_unsettled(traced, asked)
            else:
                self._count_unkept(program, asked)
                if run.capture.observer.weak:
                    self._cache.latest = None  # it would keep alive what they refer to
        return result

    def _look_at_first(self, traced: Traced, outputs: Sequence[Any]) -> None:
        """Raise where a check of values has failed in a program's first run: all that the body did
        is undone, and what it made is nobody's. Later calls may use the program."""
        call, key, run, program = traced.call, traced.key, traced.trace, traced.program
        what, n = program.outputs, len(program.outputs.written)

        def undo() -> None:
            write(targets_of(what, call.tensors), outputs[:n])
            run.capture.per_call.fail()
            run.capture.undo_python()
            if program.cacheable and not run.capture.per_call.unrepeatable:
                self._cache.keep(key, program)

        assert program.words is not None
        try:
            program.words.read(outputs[n + what.n_made], undo)
        except Exception as error:
            if program.may_run_again:  # what the body does before is done
                raise CheckFailed from error
            raise

    def _count_unsettled(self, traced: Traced, asked: Any) -> None:
        """Count a program that changed what it had read, and so does not fit a call like the one
        that it was made for; run such calls eagerly when there are too many."""
        call, run, program = traced.call, traced.trace, traced.program
        changed = program.guards.explain(call.tensors)
        if not changed and program.numbers_of(call.leaves) is None:
            changed = run.outside.explain_numbers(run.numbers.static_places)
        if not changed:
            return
        in_row, in_all, at = self._unsettled
        in_row = in_row + 1 if at == self._calls - 1 else 1
        self._unsettled = in_row, in_all + 1, self._calls
        if in_row >= _MOST_UNSETTLED or in_all + 1 >= _MOST_UNSETTLED_IN_ALL:
            lines = run.outside.lines(changed)
            self._fall_back(
                asked,
                f"it reads a Python value that it changes itself, for which each call compiles "
                f"anew ({changed}{lines}); use a tensor, or change it outside",
                lines,
            )

    def _count_unkept(self, program: Program, asked: Any) -> None:
        """Count a program that is for one call alone, as those of later calls may be; fall back to
        eager calls, or warn, when there are too many."""
        # What is changed once is made at the first call of its kind: so it is counted for each.
        kind = asked if program.changes_structure else None
        self._unkept[kind] += 1
        if self._fallback is not None and self._unkept[kind] >= _WARN_AFTER:
            self._fall_back(asked, program.why_not)
        elif self._unkept[kind] == _WARN_AFTER:
            errors.warn_user(
                f"torchlike.jit: {self._name} was compiled {self._unkept[kind]} times and "
                f"cannot be kept: {program.why_not}. Each call compiles anew."
            )

    def _call_without_key(self, why: NoKey, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a call whose arguments choose no program: eagerly where the function falls back, else
        refuse it."""
        if self._opened.refuse():
            return self._call_again(args, kwargs)
        if self._fallback is None:
            raise TypeError(str(why)) from None
        if NoKey not in self.fell_back:
            self._fall_back(NoKey, str(why))
        return self._call_deferred(args, kwargs)

    def _call_unseen(
        self, what: str, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run a call of which something raises that only torchlike asks for, which eager code does
        not do: eagerly where the function falls back, else refuse it."""
        why = f"{what}: {type(error).__name__}: {error}"
        if self._fallback is None:
            raise JitCaptureError(f"{self._name} cannot be compiled: {why}") from error
        return self._call_without_key(NoKey(why), args, kwargs)

    def _call_deferred(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run eagerly a call that cannot be compiled, and defer what its thread calls from now on:
        what recurs, the backward pass and the optimizer's step among it, becomes programs."""
        defer_as_asked()
        return self._call_plainly(args, kwargs)

    def _report_no_more(self, why: str) -> None:
        """Say once why the function is compiled no more."""
        if why not in self._reported:
            self._reported.add(why)
            errors.warn_user(f"torchlike.jit: {self._name} is compiled no more, because {why}")

    def _call_eagerly(self, *args: Any, **kwargs: Any) -> Any:
        """Run a call while the stance is "force_eager": eagerly, unless the function does not heed
        the stance."""
        if not self._heeds_stance:
            return _call(self, *args, **kwargs)
        self.ran_eagerly = True
        return self._fn(*args, **kwargs)

    def _may_compile(self, call: Call) -> bool:
        """Return whether the stance lets a call be compiled that no program fits. RuntimeError
        where it wants to be told."""
        if (
            _stance in ("default", "force_eager")
            or not self._heeds_stance
            or (self._warm_up is not None and self._warm_up.expects(call))
        ):
            return True
        if _stance == "fail_on_recompile":
            code = getattr(self._fn, "__code__", None)
            where = (
                ""
                if code is None
                else (
                    f"filename: '{code.co_filename}', function name: '{code.co_name}', "
                    f"line number: {code.co_firstlineno}"
                )
            )
            reason = self._cache.reason(call, self._compiling(call.key))
            raise RuntimeError(
                f"Detected recompile when torch.compile stance is '{_stance}'. {where}"
                + (f"\n    triggered by: {reason}" if reason else "")
            )
        if _stance == "eager_then_compile":
            self._deferred, deferred = True, self._deferred
            return deferred
        return False  # eager_on_recompile

    def _compiling(self, key: Any) -> list[Draft]:
        """Return the programs that are being compiled for calls with a key."""
        return [] if self._warm_up is None else self._warm_up.programs(key)

    @property
    def warms_up(self) -> bool:
        """Whether first calls run eagerly, or have."""
        return self._warm_up is not None and self._warm_up.is_active

    def _call_warming(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a call eagerly, as do the compiled functions that it calls."""
        self.ran_eagerly = modes.current.warming = True
        weight, first_calls.thread.weight = first_calls.thread.weight, 0.0
        try:
            return self._fn(*args, **kwargs)
        finally:
            modes.current.warming, first_calls.thread.weight = False, weight

    def _call_watched(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a call eagerly whose trace did not come to its end, and learn from it what the trace
        would have told: in which of its arguments it makes state, and whether that grows."""
        look_again = self._opened.watch(call.leaves)
        try:
            return self._call_warming(args, kwargs)
        finally:
            if look_again() and self._fallback is not None and self._numbers.dynamic is not False:
                self._cache.note_growing(call.key)

    def _call_again(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call once more, whose arguments are taken apart in another way now."""
        return _call(self, *args, **kwargs)

    def _call_plainly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a call eagerly."""
        self.ran_eagerly = True
        return self._fn(*args, **kwargs)

    def _call_sharing(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a call eagerly whose tensors share memory outside: eager operations read and write it
        in their order. Other calls of its kind may not, so they keep their program."""
        if SharedOutside not in self._reported:
            self._reported.add(SharedOutside)
            errors.warn_user(f"torchlike.jit: a call of {self._name} runs eagerly, because {WHY}")
        self.ran_eagerly = True
        return self._fn(*args, **kwargs)

    def _call_raised(
        self, key: Any, why: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run eagerly a call whose body raised ``why`` while it was captured. Where it does not
        raise eagerly, calls like it are not captured again."""
        result = self._call_plainly(args, kwargs)
        if not self._opened.refuse():  # of a copy of an argument it may
            self._fall_back(key, why)
        return result

    def _run(self, program: Program, tensors: Sequence[Tensor], numbers: Any) -> Any:
        state = program.state
        if late_checks.queue:
            late_checks.look()
        self._calls = state.used = self._calls + 1
        self._cache.latest, self.ran_eagerly = program, False
        call = state.call or program.generate()
        if program.prints is not None:
            program.check_memory(tensors)  # before anything is done
            if program.may_run_again:
                result = program.call(tensors, numbers)
                program.prints()
                return result
            program.prints()
        try:
            if not program.updates:
                result = call(tensors, numbers)
                return program.call(tensors, numbers) if result is UNFIT else result
            with state.lock:  # a call reads state and writes it back: two would lose one update
                result = call(tensors, numbers)
                return program.call(tensors, numbers) if result is UNFIT else result
        except jax.errors.JaxRuntimeError as error:
            raise errors.out_of_memory(error, doing=f"{self._name} (compiled)") from None

    def _fall_back(self, key: Any, why: str | JitCaptureError, place: str = "") -> None:
        """Run calls like this one eagerly from now on, and say so, once for each place in the
        code that is in the way: other kinds of calls come to the same."""
        self.fell_back[key] = str(why)
        place = place or getattr(why, "place", str(why))
        if place not in self._reported:
            self._reported.add(place)
            deferred = _DEFERRED if not self.scripting and begins_as_asked() else ""
            errors.warn_user(
                f"torchlike.jit: {self._name} runs eagerly, because it cannot be compiled: {why}"
                f"{deferred}"
            )


class _WithTail(JitFunction):
    """One that was split: a program, and the rest of the function, which runs in Python behind
    it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = JitFunction.__call__(self, *args, **kwargs)
        mark = found[-1] if type(found) is tuple and found else None
        if type(mark) is not str or mark not in self._tails:
            return found  # of a call that another thread began before the function was split
        tail, given = self._tails[mark], found[:-1]
        return tail(*given)


def _made_again(cls: type[JitFunction], fn: Any, options: dict[str, Any]) -> JitFunction:
    return cls(fn, **options)


_call = JitFunction.__call__
#: What ``torch.compiler.set_stance`` set last, for all threads.
_stance = "default"


def exchange_stance(stance: str) -> str:
    """Set the stance; gives the one before.

    "force_eager" exchanges the method, so that a call does not have to ask for the stance.
    """
    global _stance
    previous, _stance = _stance, stance
    call = JitFunction._call_eagerly if stance == "force_eager" else _call
    JitFunction.__call__ = call  # type: ignore[method-assign]
    return previous


def functions() -> list[JitFunction]:
    """Return every compiled function that is alive."""
    return list(_functions)


def reset_all() -> None:
    """Forget every compiled program of every function."""
    for function in functions():
        function.reset()
    forget_asked()
