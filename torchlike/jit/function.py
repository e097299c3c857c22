"""JitFunction: from a call's arguments to the program that fits, capturing one when none does."""

from __future__ import annotations

import functools
import logging
import sys
import threading
import time
import types
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from torchlike._core import dtypes, errors, modes
from torchlike._core.errors import JitCaptureError
from torchlike._core.tensor import Tensor
from torchlike._core.tracebacks import trim
from torchlike._core.trees import containers, flatten_arguments
from torchlike.jit.capture.tracing import Tracing, offsets_among
from torchlike.jit.compile.delivery import deliver
from torchlike.jit.compile.double import Double
from torchlike.jit.compile.generated_call import UNFIT
from torchlike.jit.compile.program import Program
from torchlike.jit.compile.warmup import WarmUp, checked
from torchlike.jit.control_flow.conversion import Conversion
from torchlike.jit.fallback.module_fallback import Parts
from torchlike.jit.fallback.recompiles import Recompiles, differing, key_difference, resized
from torchlike.jit.guards.arguments import Numbers, with_offset
from torchlike.jit.guards.inline_cache import recognizer
from torchlike.jit.guards.keys import NoKey, static_key
from torchlike.jit.guards.naming import parameter_names
from torchlike.jit.guards.signatures import signature

logger = logging.getLogger("torchlike.jit")
#: After so many captures that could not be kept, say so (each call then compiles anew).
_WARN_AFTER = 3
#: After so many kinds of calls that cannot be compiled, try no further (PyTorch's limit, too).
_GIVE_UP_AFTER = 8
#: The structure and the modes stand before the leaves in a key.
_LEAVES = 5
_capturing = threading.RLock()
#: Stands for a tensor among the leaves that a program remembers.
_TENSOR = object()
#: All functions there are, for ``reset_all``.
_functions: weakref.WeakSet[JitFunction] = weakref.WeakSet()


class JitFunction:
    """A function compiled as a whole, with the state it uses found by itself.

    Attributes:
      compiles: how many programs were compiled.
      fell_back: why calls ran eagerly (``fallback="eager"``): the words of the errors.
    """

    #: Whether ``torch.jit.is_scripting()`` says yes inside.
    scripting = False

    def __init__(
        self, fn: Callable[..., Any], *, max_programs: int = 64, static_argnums: Any = None,
        static_argnames: Any = None, dynamic: Any = None, fallback: str | None = None,
        warmup: int = 0, heeds_stance: bool = False,
    ) -> None:  # fmt: skip
        if fallback not in (None, "eager"):
            raise ValueError(f"fallback must be None or 'eager', not {fallback!r}")
        _functions.add(self)
        self._options = {
            "max_programs": max_programs, "static_argnums": static_argnums,
            "static_argnames": static_argnames, "dynamic": dynamic, "fallback": fallback,
            "warmup": warmup, "heeds_stance": heeds_stance,
        }  # fmt: skip
        self._fn = fn
        self._name = getattr(fn, "__qualname__", type(fn).__name__)
        self._programs: dict[Any, list[Program]] = {}
        self._calls = 0
        self._recompiles = Recompiles(self._name)
        self._latest_key: tuple[Any, ...] | None = None
        #: The program that ran last.
        self.latest: Program | None = None
        self._max_programs = max_programs
        #: Captures that could not be kept: in a row, by the key of the call, where the body
        #: changed the structure of modules or optimizers; all others under None.
        self._unkept: Counter[Any] = Counter()
        self._recorded: set[str] = set()
        self._numbers = Numbers(fn, static_argnums, static_argnames, dynamic)
        self._conversion = Conversion()
        self._fallback = fallback
        self._warm_up = WarmUp(warmup) if checked(warmup) else None
        #: Whether ``torch.compiler.set_stance`` speaks of it, and whether a stance let it run
        #: eagerly before it compiles.
        self._heeds_stance = heeds_stance
        self._deferred = False
        self.fell_back: dict[Any, str] = {}
        #: The places that stand in the way, of which it was warned.
        self._told: set[Any] = set()
        self._parts: Parts | None = None
        #: Whether a trace runs whose call is eager.
        self._is_warming = False
        #: Whether the last call did.
        self.ran_eagerly = False
        self.compiles = 0
        functools.update_wrapper(self, fn, updated=())

    def reset(self) -> None:
        """Forget every compiled program."""
        self._programs.clear()
        self._unkept.clear()
        if self._warm_up is not None:
            self._warm_up.clear()
        self.fell_back.clear()
        self._told.clear()
        self._parts = None
        self._deferred = False
        self._latest_key = self.latest = None

    def __reduce__(self) -> Any:
        """Copies and pickles are of the function and compile anew: a program is bound to the very
        cells that it was captured with. One that stands where its function did is told by name."""
        found: Any = sys.modules.get(str(getattr(self, "__module__", None)))
        name = str(getattr(self, "__qualname__", ""))
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is self:
            return name
        fresh = type(self)(self._fn, **self._options)
        users = {k: v for k, v in vars(self).items() if k not in vars(fresh)}
        return _made_again, (type(self), self._fn, self._options), users or None

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method: the instance is an argument like any other."""
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        current = modes.current.__dict__  # of this thread: one look instead of six
        if current["capture"] is not None or current["levels"]:
            # Nested: part of the graph being captured, or of what a torch.func transform runs.
            return self._fn(*args, **kwargs)
        latest = self.latest
        if latest is not None and latest.state.recognize:
            tensors = latest.state.recognize(args, kwargs, current)
            if tensors is not None:
                return self._run(latest, tensors, ())
        try:
            leaves, structure = flatten_arguments(args, kwargs)
        except RecursionError:
            why = NoKey(
                "a list or dictionary that is nested too deeply was passed to a jitted function"
            )
            return self._call_without_key(why, args, kwargs)
        tensors = []
        switches = current["inference"], current["autocast"]
        key: list[Any] = [structure, current["grad_enabled"], dtypes.get_default_dtype(), switches,
                          current["device"]]  # fmt: skip
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
        traced: Sequence[int] = ()
        if self._numbers.active:
            traced = self._numbers.rewrite(key, _LEAVES, leaves, structure)
        whole = tuple(key)
        for program in self._programs.get(whole, ()):
            guard = program.state.guard
            if (guard is not None and guard(tensors)) or program.guards.check(tensors):
                numbers = (
                    program.numbers.evaluate(leaves, (args, kwargs)) if program.numbers else ()
                )
                if numbers is not None:
                    if (
                        program.state.recognize is None
                        and guard is not None
                        and not self._numbers.active
                    ):
                        program.state.recognize = recognizer(program.guards, args, whole)
                    return self._run(program, tensors, numbers)
        if self.fell_back and (whole in self.fell_back or len(self.fell_back) >= _GIVE_UP_AFTER):
            return self._call_in_parts(args, kwargs)
        if current["warming"]:
            self.ran_eagerly = True
            return self._fn(*args, **kwargs)
        call = args, kwargs
        if _stance != "default" and not (
            self._is_pending(whole, tensors, leaves, call) or self._may_compile(whole, tensors)
        ):
            self.ran_eagerly = True
            return self._fn(*args, **kwargs)
        unlike_eager, warms_up = "", False
        # One capture at a time: two threads that train one model would see each other's tracers.
        with _capturing:
            for program in self._programs.get(whole, ()):
                if program.guards.check(tensors):
                    numbers = (
                        program.numbers.evaluate(leaves, (args, kwargs)) if program.numbers else ()
                    )
                    if numbers is not None:
                        return self._run(program, tensors, numbers)
            try:
                if self._warm_up is not None:
                    found = self._warm(whole, tensors, leaves, structure, traced, call)
                    if type(found) is _Result:
                        return found.value
                    if type(found) is tuple:
                        return self._run(found[0], tensors, found[1])
                    warms_up = found
                if not warms_up:
                    return self._capture(whole, tensors, leaves, structure, traced, call)
            except JitCaptureError as error:
                falls_back = self._fallback is not None
                if error.is_final or (error.is_final is None and not falls_back):
                    trim(error)
                    raise
                self._fall_back(whole, error)
            except _BodyRaised as raised:
                unlike_eager = raised.args[0]
            except Exception as error:
                trim(error)
                raise
        if warms_up:
            return self._call_warming(args, kwargs)
        # What the capture did is undone; eagerly, what the body does before it raises is done.
        result = self._call_in_parts(args, kwargs)
        if unlike_eager:
            self._fall_back(whole, unlike_eager)
        return result

    def _call_without_key(self, why: NoKey, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call whose arguments choose no program."""
        if self._fallback is None:
            raise TypeError(str(why)) from None
        if NoKey not in self.fell_back:
            self._fall_back(NoKey, str(why))
        return self._call_in_parts(args, kwargs)

    def _call_in_parts(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that cannot be compiled: eagerly, its modules compiled by themselves."""
        self.ran_eagerly = True
        if self._parts is None:
            self._parts = Parts(self._fn, self._part)
        return self._parts.run(self._fn, args, kwargs)

    def _part(self, module: Any) -> JitFunction:
        """What compiles a module that a call in parts calls."""
        part = JitFunction(
            module, fallback="eager", warmup=self._options["warmup"],
            heeds_stance=self._heeds_stance,
        )  # fmt: skip
        part._told = self._told
        return part

    def _call_eagerly(self, *args: Any, **kwargs: Any) -> Any:
        """What a call is while the stance is "force_eager"."""
        if not self._heeds_stance:
            return _call(self, *args, **kwargs)
        self.ran_eagerly = True
        return self._fn(*args, **kwargs)

    def _may_compile(self, key: Any, tensors: list[Tensor]) -> bool:
        """Whether the stance lets a call be compiled that no program fits. RuntimeError where it
        wants to be told."""
        if not self._heeds_stance or _stance == "force_eager":
            return True
        if _stance == "fail_on_recompile":
            code = getattr(self._fn, "__code__", None)
            where = "" if code is None else (
                f"filename: '{code.co_filename}', function name: '{code.co_name}', "
                f"line number: {code.co_firstlineno}"
            )  # fmt: skip
            reason = self._reason(key, tensors)
            raise RuntimeError(
                f"Detected recompile when torch.compile stance is '{_stance}'. {where}"
                + (f"\n    triggered by: {reason}" if reason else "")
            )
        if _stance == "eager_then_compile":
            self._deferred, deferred = True, self._deferred
            return deferred
        return False  # eager_on_recompile

    def _run(self, program: Program, tensors: Sequence[Tensor], numbers: Any) -> Any:
        state = program.state
        self._calls = state.used = self._calls + 1
        self.latest, self.ran_eagerly = program, False
        if program.effects:
            for effect in program.effects:
                effect()
        call = state.call or program.generate()
        if not program.updates:
            result = call(tensors, numbers)
            return program.call(tensors, numbers) if result is UNFIT else result
        with state.lock:  # a call reads state and writes it back: two would lose one update
            result = call(tensors, numbers)
            return program.call(tensors, numbers) if result is UNFIT else result

    def _fall_back(self, key: Any, why: str | JitCaptureError) -> None:
        """Run calls like this one eagerly from now on, and say so, once for each place in the
        code that is in the way: other kinds of calls, and modules that are compiled by themselves
        then, come to the same."""
        self.fell_back[key] = str(why)
        place = getattr(why, "place", str(why))
        if place not in self._told:
            self._told.add(place)
            errors.warn_user(
                f"torchlike.jit: {self._name} runs eagerly, because it cannot be compiled: {why}"
            )

    # -- capture -----------------------------------------------------------------------------------

    def _reason(self, key: tuple[Any, ...], tensors: list[Tensor]) -> str:
        """Why the call needs another program; "" for the first."""
        known = list(self._programs.get(key, ()))
        if self._warm_up is not None:
            known += [pending.program for pending in self._warm_up.pending(key)]
        for program in known:
            if not program.guards.check(tensors):
                return program.guards.explain(tensors)
            return "a comparison or value of a traced number changed"
        if self._latest_key is None:
            return ""
        reason = key_difference(self._latest_key, key, parameter_names(self._fn))
        # What the body read may have changed as well, and would have been enough.
        changed = "" if self.latest is None else self.latest.guards.explain(None)
        return " and ".join(filter(None, (changed, reason)))

    def _note(self, reason: str, before: Any, key: Any) -> None:
        """Say why it was compiled again, between calls with these keys."""
        needed = any(self._numbers.is_needed(key[0], i) for i in differing(before, key))
        arguments = resized(before, key, parameter_names(self._fn))
        self._recompiles.note(reason, arguments, needed)

    def _keep(self, key: Any, program: Program) -> None:
        """Remember a program; the one unused for longest goes when there are too many."""
        self._programs.setdefault(key, []).insert(0, program)
        kept = [(p.state.used, k, p) for k, programs in self._programs.items() for p in programs]
        if len(kept) > self._max_programs:
            _, oldest_key, oldest = min(kept, key=lambda entry: entry[0])
            self._programs[oldest_key].remove(oldest)
            if not self._programs[oldest_key]:
                del self._programs[oldest_key]

    def _traced_again(
        self, key: tuple[Any, ...], leaves: list[Any], structure: Any
    ) -> tuple[tuple[Any, ...], Sequence[int]]:
        """The key and the traced numbers, as they are now that a recompilation was counted."""
        if self._latest_key is None or self._programs.get(key):
            return key, ()
        self._numbers.changed(self._latest_key, key, _LEAVES)
        if not self._numbers.active:
            return key, ()
        rewritten = list(key)
        traced = self._numbers.rewrite(rewritten, _LEAVES, leaves, structure)
        return tuple(rewritten), traced

    def _tracing(self, *what: Any) -> Tracing:
        """A capture of the function, not begun yet."""
        run = Tracing(self._fn, self._name, *what)
        run.capture.scripting = self.scripting
        run.capture.printed.held = self._fallback is not None
        run.capture.printed.silent = self._is_warming
        return run

    def _trace(
        self, arguments: list[Tensor], leaves: list[Any], structure: Any, traced: Sequence[int],
        avals: Sequence[Any] | None = None,
    ) -> tuple[Tracing, Any, frozenset[int]]:  # fmt: skip
        """One capture, with user functions converted where their control flow asked for it, and
        arguments as themselves that are also reached from outside."""
        shared: frozenset[int] = frozenset()
        drawn: Sequence[Any] = ()
        while True:
            with self._conversion.applied():
                run = self._tracing(arguments, leaves, structure, shared, traced, drawn)
                try:
                    closed = run.trace(avals)
                except Exception as error:
                    known = frozenset() if avals is not None else run.acquainted_arguments()
                    if known:  # the code may have looked for them, and not found the stand-ins
                        shared |= known
                        continue
                    if isinstance(error, JitCaptureError) and self._conversion.extend(error):
                        continue
                    raise
                reached = run.arguments_that_are_state()
                if reached and avals is None:
                    run.capture.undo_python()
                    if not run.offsets.isdisjoint(reached):
                        run.capture.fail()
                    shared, drawn = shared | reached, run.first_values
                    continue
            self._conversion.forgive(run.capture.watch)
            return run, closed, shared

    def _trace_numbers(
        self, arguments: list[Tensor], leaves: list[Any], structure: Any, traced: Sequence[int]
    ) -> Any:
        """A capture with numbers, and the offsets of views, traced; None where they have to be
        frozen after all."""
        moving = [arguments[i] for i in offsets_among(leaves, traced)]
        if any(sum(t is x for x in arguments) > 1 for t in moving):
            return None  # one tensor twice; later they may be two
        try:
            found = self._trace(arguments, leaves, structure, traced)
        except Exception:
            return None  # perhaps for want of a plain number; if not, the error comes again
        run = found[0]
        builder, watch = run.builder, run.capture.watch
        kept = not builder.cacheable or run.capture.unrepeatable or run.records
        # Something may hold a traced number that outlives the capture, or look at its class.
        wrong = run.numbers.positions and (kept or watch.asks_for_types())
        # And create_graph traces once more, for one offset.
        if wrong or (run.offsets and builder.cotangent_avals):
            run.capture.fail()
            run.capture.undo_python()
            return None
        return found

    def _capture(
        self, key: Any, arguments: list[Tensor], leaves: list[Any], structure: Any,
        traced: Sequence[int], call: Any,
    ) -> Any:  # fmt: skip
        """Trace, compile, run for the first time and remember."""
        asked, reason, before = key, self._reason(key, arguments), self._latest_key
        if not traced:
            key, traced = self._traced_again(key, leaves, structure)
        final, run, program = self._made(key, arguments, leaves, structure, traced, call)
        if reason and program.cacheable and not run.capture.unrepeatable:
            self._note(reason, before, asked)
        return self._first_run(asked, final, run, program, arguments, leaves, call)

    def _first_run(
        self, asked: Any, key: Any, run: Tracing, program: Program, arguments: list[Tensor],
        leaves: list[Any], call: Any,
    ) -> Any:  # fmt: skip
        """Let a program do what its trace did, and remember it where later calls may use it."""
        capture = run.capture
        capture.printed.let_out()
        self._calls = program.state.used = self._calls + 1
        self.latest, self._latest_key, self.ran_eagerly = program, key, False
        numbers = program.numbers.evaluate(leaves, call) if program.numbers else ()
        ran = program.run(arguments, run.first_values, numbers)
        made, known = run.returned.made, run.returned.cut()
        result = deliver(program, arguments, ran, made, numbers, known)
        del made, known
        if run.modes_left is not None:
            run.modes_left.restore()
        if capture.unrepeatable:
            return result
        if program.cacheable:
            self._unkept.pop(asked, None)
            self._keep(key, program)
            if self._fallback is None:
                self._say_recorded(run.records)
        else:
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
        return result

    def _made(
        self, key: Any, arguments: list[Tensor], leaves: list[Any], structure: Any,
        traced: Sequence[int], call: Any,
    ) -> tuple[Any, Tracing, Program]:  # fmt: skip
        """Trace, and make of it a program that has not run; with the key for later calls."""
        started = time.perf_counter()
        found = None
        for some in _choices(traced, leaves):
            found = self._trace_numbers(arguments, leaves, structure, some)
            if found is not None:
                self._numbers.refuse(structure, set(traced).difference(some))
                break
        if found is None:
            try:
                found = self._trace(arguments, leaves, structure, ())
            except Exception as error:
                if self._fallback is None or isinstance(error, JitCaptureError):
                    raise
                raise _BodyRaised(f"{type(error).__name__}: {error}") from error
            self._numbers.refuse(structure, traced)
        run, closed, shared = found
        capture, builder = run.capture, run.builder
        builder.capture_seconds = time.perf_counter() - started
        run.check_containers(containers(call))
        if run.numbers.static:
            self._numbers.refuse(structure, [run.numbers.positions[i] for i in run.numbers.static])
        key = self._final_key(key, leaves, run)
        if self._fallback is not None:
            builder.effects = run.effects
            if prints := capture.printed.effect():
                builder.effects.append(prints)
            if run.not_again and builder.cacheable:
                builder.do_not_keep(
                    f"it changes {', '.join(f'`{x}`' for x in run.not_again)}, which a compiled "
                    "program would do only once"
                )
        plain = [_TENSOR if isinstance(x, Tensor) else x for x in leaves]
        builder.retrace = functools.partial(
            self._double, plain, structure, shared, run.numbers.positions
        )
        program = builder.build(capture, closed, run.n_forward, run.sources(), arguments, shared)
        capture.inputs.clear()
        self.compiles += 1
        return key, run, program

    # -- warming up (see `warmup`) -----------------------------------------------------------------

    @property
    def warms_up(self) -> bool:
        """Whether first calls run eagerly."""
        return self._warm_up is not None

    def _is_pending(self, key: Any, tensors: list[Tensor], leaves: list[Any], call: Any) -> bool:
        """Whether a program for such a call is being compiled."""
        return self._pending(key, tensors, leaves, call) is not None

    def _pending(self, key: Any, tensors: list[Tensor], leaves: list[Any], call: Any) -> Any:
        """The program that is being compiled for such a call, and the numbers of this one."""
        if self._warm_up is None:
            return None
        for pending in self._warm_up.pending(key):
            program = pending.program
            if program.guards.check(tensors):
                numbers = program.numbers.evaluate(leaves, call) if program.numbers else ()
                if numbers is not None:
                    return pending, numbers
        return None

    def _warm(
        self, key: Any, arguments: list[Tensor], leaves: list[Any], structure: Any,
        traced: Sequence[int], call: Any,
    ) -> Any:  # fmt: skip
        """What a call is that no program fits: True where it runs eagerly to warm up, False where
        it is to be compiled now, a program and the call's numbers where that was compiled
        meanwhile, a `_Result` where the call is made."""
        warm_up: Any = self._warm_up
        found = self._pending(key, arguments, leaves, call)
        if found is not None:
            pending, numbers = found
            if pending.calls < warm_up.calls:
                pending.calls += 1
                return True
            try:
                pending.compilation.wait()
            except Exception:
                warm_up.drop(key, pending)
                raise
            warm_up.drop(key, pending)
            self._keep(key, pending.program)
            return pending.program, numbers
        if not traced:
            key, traced = self._traced_again(key, leaves, structure)
        what = warm_up.count(key, lambda: (self._reason(key, arguments), self._latest_key))
        self._latest_key = key
        if what == "traced":
            return self._trace_to_warm_up(key, arguments, leaves, structure, traced, call)
        return what == "eager"

    def _trace_to_warm_up(
        self, key: Any, arguments: list[Tensor], leaves: list[Any], structure: Any,
        traced: Sequence[int], call: Any,
    ) -> Any:  # fmt: skip
        """Trace a call that is to run eagerly, undo all that the trace did, and have the program
        compiled meanwhile: True. Where it is for this call alone nothing is undone (it may have
        taken from an iterator), and it runs now: its result, as `_Result`."""
        warm_up: Any = self._warm_up
        self._is_warming = True
        try:
            final, run, program = self._made(key, arguments, leaves, structure, traced, call)
        finally:
            self._is_warming = False
        capture = run.capture
        if capture.unrepeatable or not program.cacheable:
            warm_up.not_kept(key, not (capture.unrepeatable or program.changes_structure))
            return _Result(self._first_run(key, final, run, program, arguments, leaves, call))
        drawn, numbers = run.first_values, ()
        run.returned.cut()
        capture.fail()
        capture.undo_python()
        if program.numbers:
            numbers = program.numbers.evaluate(leaves, call)
        reason, before = warm_up.reason(key)
        reason = self._reason(key, arguments) or reason
        if reason and self.compiles > 1:
            self._note(reason, before, key)
        self._latest_key = final
        if self._fallback is None:
            self._say_recorded(run.records)
        warm_up.begin(key, final, program, program.compiling(arguments, drawn, numbers))
        return True

    def _call_warming(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that runs eagerly, as do the compiled functions that it calls."""
        self.ran_eagerly = modes.current.warming = True
        try:
            return self._fn(*args, **kwargs)
        finally:
            modes.current.warming = False

    def _double(
        self, plain: list[Any], structure: Any, shared: frozenset[int], traced: Sequence[int],
        call: Any,
    ) -> Double:  # fmt: skip
        """The gradient's gradient of one call; see ``double``."""
        it = iter(call.arguments)
        leaves = [next(it) if x is _TENSOR else x for x in plain]
        was = modes.current.grad_enabled
        modes.current.grad_enabled = True
        try:
            with _capturing, self._conversion.applied():
                run = self._tracing(
                    list(call.arguments), leaves, structure, shared, traced, call.drawn
                )
                run.create_graph = run.capture.is_retraced = True
                closed = run.trace()
                run.capture.undo_python()
        finally:
            modes.current.grad_enabled = was
        return Double(run, closed)

    def _final_key(self, key: tuple[Any, ...], leaves: list[Any], run: Tracing) -> Any:
        """The key under which the next call will look: numbers found static are part of it."""
        final = list(key)
        static = {run.numbers.positions[i] for i in run.numbers.static}
        n_tensors = 0
        for i, leaf in enumerate(leaves):
            if isinstance(leaf, Tensor):
                if leaf._view is not None and n_tensors not in run.offsets:
                    final[_LEAVES + i] = with_offset(final[_LEAVES + i], leaf._view.dynamic)
                n_tensors += 1
            elif i not in run.numbers.positions or i in static:
                final[_LEAVES + i] = static_key(leaf)
        return tuple(final)

    def _say_recorded(self, labels: list[str]) -> None:
        """Once for each: what the body counts or logs, it does once per compile."""
        new = [label for label in labels if label not in self._recorded]
        self._recorded.update(new)
        if new:
            logger.warning(
                "torchlike.jit: %s changes %s; compiled code does that once per compile, not at "
                "each call",
                self._name,
                ", ".join(f"`{label}`" for label in new),
            )


class _Result(NamedTuple):
    """What a call gives that has been made already."""

    value: Any


class _BodyRaised(Exception):
    """The body of a function with a fallback raised an error of its own, which its argument tells:
    the call runs eagerly, and raises it there."""


def _choices(traced: Sequence[int], leaves: list[Any]) -> list[list[int]]:
    """Which numbers and offsets to trace, in turn, until it can be done: one kind may be needed in
    Python, and the other not."""
    offsets = [i for i in traced if isinstance(leaves[i], Tensor)]
    numbers = [i for i in traced if i not in offsets]
    return [x for x in ([*numbers, *offsets], numbers, offsets) if x][
        : 3 if offsets and numbers else 1
    ]


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


def reset_all() -> None:
    """Forget every compiled program of every function."""
    for function in list(_functions):
        function.reset()
