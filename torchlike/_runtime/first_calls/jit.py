"""``jax.jit`` whose first calls with a signature are computed by NumPy."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from time import perf_counter
from typing import Any, Protocol

import jax
import numpy as np

from torchlike._runtime import logs, mixed_operands, one_device
from torchlike._runtime.first_calls import cost
from torchlike._runtime.first_calls.families import Family, FormTemplate
from torchlike._runtime.first_calls.inlined import DECLINED, Inlined
from torchlike._runtime.first_calls.interpreter import EvaluationPlan
from torchlike._runtime.first_calls.program import (
    NUMBERS,
    InterpreterProgram,
    agree,
    here,
    host,
    operands,
    signature,
)
from torchlike._runtime.first_calls.rules import NoNumpyRule, TooLong
from torchlike._runtime.first_calls.rules.control_flow import turns
from torchlike._runtime.first_calls.settings import COMPILED, LEAST, settings, thread
from torchlike._runtime.first_calls.statistics import record_of
from torchlike._runtime.first_calls.tracing import traced
from torchlike._runtime.jax_private import arrays
from torchlike._runtime.jax_private.compiled_calls import cache_miss, compiled_calls
from torchlike._runtime.jax_private.tracing import TAKES_OVER, trace_state_clean
from torchlike._runtime.provided import Provided

log = logs.logger("first_calls")

_ndarray, _array_type = np.ndarray, arrays.ArrayImpl
#: What stands in a key of `by_numpy` behind a device array whose dtype is weak.
_WEAK = "weak"
_config: Any = jax.config  # gets its fields one by one

#: ``defer(first_calls, args, starts)`` gives what stands for the results of a call that is put off,
#: or the results where an argument is such a thing and the call is not; DECLINED for all others.
#: ``starts``: whether a call of arrays alone may be put off.
defer = Provided("records a call of a compiled form to run it later")
#: ``meets_accelerator(args)`` is told of a call for which JAX has no executable in a process whose
#: arrays are on an accelerator, before it is compiled, and says whether calls are deferred from
#: this one on.
meets_accelerator = Provided("begins to defer calls on an accelerator")
#: ``put_off(program)`` says whether NumPy goes on with a signature for now that is due to be
#: compiled: a larger program, of which it would be a part, may soon be compiled in its place.
put_off = Provided("puts off the compilation of a form")


class CompiledForm(Protocol):
    """A compiled form of a function, as ``jax.jit`` gives it, with a way for NumPy arrays."""

    by_numpy: Callable[..., Any]
    lower: Callable[..., Any]

    def __call__(self, *args: Any) -> Any: ...


def jit(
    function: Callable[..., Any],
    *,
    name: str = "",
    template: FormTemplate | None = None,
    families: dict[Any, Family] | None = None,
    like: Any = None,
    patience: Callable[[Any], float] | None = None,
    op: Callable[[], str] | None = None,
    of_library: bool = False,
    **options: Any,
) -> CompiledForm:
    """Compile as ``jax.jit(function, **options)`` does, and have NumPy compute the first calls with
    a signature.

    The signature is what ``jax.jit`` compiles for: tree, shapes and dtypes of the arguments. On
    accelerators, within a trace, for arrays on other devices than the first CPU, and where NumPy
    has no rule, it is ``jax.jit``. ``name`` stands in reports.

    Its method ``by_numpy`` takes the same arguments, some of which are NumPy arrays, and gives
    NumPy arrays, or `DECLINED`.

    ``function`` may itself be made for sizes: ``template`` then makes it for others, and functions
    of one template share their ``families``.

    ``like`` is another form of the same computation, such as one that donates nothing. What NumPy
    computed for either counts for both: where one is due to be compiled, so is the other.

    ``patience(arguments)`` is how many times as many calls as usual NumPy computes.

    ``op()`` is the name of the op whose operands the arguments are: `mixed_operands` may refuse
    them. Without it they are not looked at.

    ``of_library`` says that all loops of the function are those of `torchlike._ops.loops`, so that
    it can be traced in half the time (`first_calls.tracing.without_jits`).
    """
    return FirstCalls(
        function,
        name=name,
        template=template,
        families=families,
        like=like,
        patience=patience,
        op=op,
        of_library=of_library,
        **options,
    ).form()


def call(form: CompiledForm, *args: Any) -> Any:
    """Call ``form(*args)`` where arguments may be NumPy arrays; the results may be, too."""
    out = form.by_numpy(*args)
    return form(*args) if out is DECLINED else out


def takes(values: np.ndarray) -> bool:
    """Return whether a new array should stay NumPy's, for forms that compute with it."""
    return (
        values.nbytes <= settings.host_bytes
        and settings.mode != COMPILED
        and not compiled_calls.missing
        and type(values) is _ndarray
        and values.flags.c_contiguous
        and _config.jax_enable_x64
        and _config.jax_default_device is None
        and host().is_default
    )


def _decline(*args: Any) -> Any:
    return DECLINED


def _no_form() -> None:
    return None


def _is_on_host(argument: Any) -> bool:
    kind = type(argument)
    if kind is tuple or kind is list:
        return any(map(_is_on_host, argument))
    return kind is _ndarray


class FirstCalls:
    """Answers the calls of one form for which JAX has no executable, and those by NumPy.

    The arguments are those of `jit`. An op on small tensors never asks for the form, and to make
    one takes a seventh of its first call.
    """

    __slots__ = (
        "_by_avals",
        "_compiled",
        "_families",
        "_inlined",
        "_like",
        "_made",
        "_of_library",
        "_op",
        "_own",
        "_patience",
        "_programs",
        "_template",
        "donating",
        "function",
        "name",
        "options",
    )

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str = "",
        template: FormTemplate | None = None,
        families: dict[Any, Family] | None = None,
        like: Any = None,
        patience: Callable[[Any], float] | None = None,
        op: Callable[[], str] | None = None,
        of_library: bool = False,
        **options: Any,
    ) -> None:
        self._of_library = of_library
        self.function = function
        self.options = options
        #: The form that was made last, and one of this object's own where nobody keeps one.
        self._made: Callable[[], CompiledForm | None] = _no_form
        self._own: CompiledForm | None = None
        self.name = name or getattr(function, "__name__", "?")
        self._template = template or FormTemplate(lambda sizes: function, ())
        self._families = {} if families is None else families
        self._patience = patience
        self._op = op
        #: Programs by their signature, and by what `by_numpy` sees of it.
        self._programs: dict[Any, InterpreterProgram] = {}
        self._by_avals: dict[Any, InterpreterProgram] = {}
        #: The programs of the form that this one is like.
        peer = getattr(getattr(like, "by_numpy", None), "__self__", self)
        self._like: dict[Any, InterpreterProgram] = peer._programs
        #: The form like this one that gives up its first argument.
        self.donating: FirstCalls | None = None
        if peer is not self and options.get("donate_argnums") == 0:
            peer.donating = self

    def form(self) -> CompiledForm:
        """Make the form that `jit` returns, anew each time: the caller keeps it, else it would be
        part of a cycle."""
        form: Any = jax.jit(self.function, **self.options)
        own = self.function if self._of_library else None
        can = TAKES_OVER and "inline" in self.options
        self._inlined = Inlined(form.trace, own) if can else None
        if not compiled_calls.missing:
            self._compiled = cache_miss(form)
            form = compiled_calls.hooked(self.function, form, self.miss)
        form.by_numpy = self.by_numpy
        self._made = weakref.ref(form)
        return form

    def run(self, *args: Any) -> Any:
        """Call the form as an op does, by NumPy where there are host values."""
        out = self._by_numpy(*args) if any(map(_is_on_host, args)) else DECLINED
        if out is not DECLINED:
            return out
        form = self._made()
        if form is None:
            form = self._own = self.form()
        return form(*args)

    @property
    def by_numpy(self) -> Callable[..., Any]:
        """The form's `by_numpy`, which needs no form."""
        return _decline if compiled_calls.missing else self._by_numpy

    # -- called by JAX -----------------------------------------------------------------------------

    def miss(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Answer as JAX's own ``cache_miss``: (outputs, what to keep in C++, whether to ask
        again)."""
        if settings.defers and not kwargs and _config.jax_enable_x64:
            out = defer.function(self, args, False)
            if out is not DECLINED:
                return out, None, True
        if (
            self._op is not None
            and mixed_operands.refuse.is_provided
            and (mixed_operands.met(self._op(), jax.tree.leaves((args, kwargs))))
        ):
            return self._compiled(*args, **kwargs)[0], None, True  # allowed here: asked again
        if not host().is_default:
            if meets_accelerator.function((args, kwargs)) and not kwargs:
                out = defer.function(self, args, True)
                if out is not DECLINED:
                    return out, None, True
            op = None if self._op is None else self._op()
            return one_device.call(self._compiled, args, kwargs, op=op)
        if not trace_state_clean():
            out = DECLINED if kwargs or self._inlined is None else self._inlined.call(*args)
            return self._compiled(*args, **kwargs) if out is DECLINED else (out, None, True)
        if settings.mode == COMPILED or kwargs:
            return self._compiled(*args, **kwargs)
        if not _config.jax_enable_x64:  # where it is traced, it refuses
            return self._compiled(*args)
        leaves, tree = jax.tree.flatten(args)
        key = signature(leaves, tree)
        if key is None:
            return self._compiled(*args)
        program, outs = self._lookup(key, leaves, tree)
        if outs is None and program.calls_left <= 0 and self._is_due(program):
            return self._compile(program, args)
        if outs is None:
            values = operands(leaves, program.dtypes)
            if values is None:
                return self._compiled(*args)
            outs = self._call(program, values)
            if outs is None:
                return self._compile(program, args)
        return program.device_arrays(outs, leaves), None, True

    # -- called by us ------------------------------------------------------------------------------

    def _by_numpy(self, *args: Any) -> Any:
        """Compute the form's results as NumPy arrays. Return DECLINED where it should be called as
        it is: it is to be compiled, or an argument is no array with values."""
        is_x64 = _config.jax_enable_x64
        if settings.asks or not is_x64:
            if settings.defers and is_x64:
                out = defer.function(self, args, True)
                if out is not DECLINED:
                    return out
            if settings.mode == COMPILED or not is_x64:  # the form refuses
                return DECLINED
        key: list[Any] = []
        values: list[Any] = []
        #: Where device arrays are among the values. They are waited for only if NumPy computes.
        pending: list[int] = []
        for a in args:
            kind = type(a)
            if kind is _ndarray:
                key.append(a.shape)
                key.append(a.dtype)
                values.append(a)
            elif kind in NUMBERS:
                key.append(kind if a != 1 else (kind,))
                values.append(a)
            elif not _describe(a, key, values, pending):
                return DECLINED
        known = tuple(key)
        program = self._by_avals.get(known)
        if program is None:
            program = self._program_for(args)
            if program is None:
                return DECLINED
            self._by_avals[known] = program
        if not program.stays and program.calls_left <= 0 and self._is_due(program):
            return DECLINED
        for i in pending:
            values[i] = np.asarray(values[i])
        for i, dtype in program.numbers:
            values[i] = np.asarray(values[i], dtype)
        if program.stays:
            program.record.calls += 1
            try:
                outs: Any = program.run(values)
            except Exception as error:
                self._failed(program, error)
                return DECLINED
        else:
            outs = self._call(program, values)
            if outs is None:
                return DECLINED
        found = program.host_values(outs)
        if settings.strict:  # so that a rule that writes into its operands fails
            for array in jax.tree.leaves(found):
                array.flags.writeable = False
        return found

    def _program_for(self, args: Any) -> InterpreterProgram | None:
        """Return the program of arguments that `by_numpy` meets for the first time; None where
        something around the call (a trace, another device) forbids it."""
        if not trace_state_clean() or not host().is_default:
            return None
        leaves, tree = jax.tree.flatten(args)
        key = signature(leaves, tree)
        return None if key is None else self._lookup(key, leaves, tree)[0].with_ones(leaves)

    # -- programs ----------------------------------------------------------------------------------

    def _lookup(
        self, key: Any, leaves: list[Any], tree: Any
    ) -> tuple[InterpreterProgram, list[Any] | None]:
        """Return the program of a signature, made where there is none; with it the results, where
        it had to be run to be checked."""
        program = self._programs.get(key)
        if program is not None:
            return program, None
        peer = self._like.get(key)
        if peer is not None and peer.calls_left <= 0:
            program = self._programs[key] = InterpreterProgram(record_of(self.name))
            program.calls = peer.calls
            return program, None
        outs = None
        found = self._of_family(key, leaves, tree)
        if found is None:
            program = self._build_program(key, leaves, tree)
        else:
            program, check = found
            values = operands(leaves, program.dtypes) if check and program.calls_left else None
            if values is not None:
                program, outs = self._checked(key, leaves, tree, values, program)
        if self._patience is not None:
            program.calls_left *= self._patience(jax.tree.unflatten(tree, leaves))
        if peer is not None:
            program.calls_left = min(program.calls_left, peer.calls_left)
        self._programs[key] = program
        return program, outs

    def _of_family(
        self, key: Any, leaves: list[Any], tree: Any
    ) -> tuple[InterpreterProgram, bool] | None:
        """Return the program that other sizes of this signature have traced, if any, and whether it
        is to be checked."""
        shapes = [part[0] if type(part) is tuple else None for part in key[2:]]
        shapes.append(self._template.sizes)
        kind = self._kind(key)
        family = self._families.get(kind)
        if family is None:
            self._families[kind] = Family(shapes)
            return None
        began = perf_counter()
        found = family.find(self.name, self._template, tree, leaves, shapes)
        if found is None:
            return None
        specialised, check = found
        program = InterpreterProgram(record_of(self.name))
        try:
            program.describe(*specialised, leaves)
        except NoNumpyRule:
            return None
        program.record.specialised += 1
        program.record.making_seconds += perf_counter() - began
        return program, check or settings.check

    def _kind(self, key: Any) -> tuple[Any, ...]:
        """Return the parts of a key that signatures of one family have in common. Sizes that are 0
        or 1 are among them: no symbol stands for those."""
        parts = [(_small(p[0]), *p[1:]) if type(p) is tuple else p for p in key[2:]]
        return (*key[:2], _small(self._template.sizes), *parts)

    def _checked(
        self, key: Any, leaves: list[Any], tree: Any, values: list[Any], program: InterpreterProgram
    ) -> tuple[InterpreterProgram, list[Any] | None]:
        """Check the results of a family's program against those of a trace of its own, and return
        the program with them; the latter program and results where they differ."""
        outs = self._call(program, values)
        if outs is None:
            return program, None
        own = self._build_program(key, leaves, tree)
        expected = self._call(own, values) if own.calls_left else None
        if expected is not None and agree(program, outs, own, expected):
            return program, outs
        message = f"{self.name}: a program traced for other sizes differs from one of its own"
        if settings.strict:
            raise AssertionError(f"{message}: {key[2:]}, {self._template.sizes}")
        log.warning("%s; each size is traced from now on", message)
        self._families[self._kind(key)].give_up()
        return own, expected

    def _build_program(self, key: Any, leaves: list[Any], tree: Any) -> InterpreterProgram:
        """Trace the function for these arguments, and make the program that NumPy runs."""
        program = InterpreterProgram(record_of(self.name))
        record = program.record
        began = perf_counter()
        shapes = [part[0] if type(part) is tuple else None for part in key[2:]]
        closed = traced(self.function, tree, shapes, leaves)
        try:
            worth = cost.worth(closed.jaxpr)
            if worth.calls:
                plan = EvaluationPlan(closed)
                dtypes = [aval.dtype for aval in closed.in_avals]
                of_all = dtypes, closed.out_avals, closed.structure
                program.describe(plan, {}, worth, *of_all, leaves)
            else:
                record.compiled_because("large")
        except NoNumpyRule as reason:
            record.compiled_because(f"no rule for {reason}")
        except Exception as error:  # another version of JAX may name parameters otherwise
            if settings.strict:
                raise
            log.warning("%s is compiled: no program for NumPy, %r", self.name, error)
            record.compiled_because(f"{type(error).__name__}: {error}")
        record.programs += 1
        record.making_seconds += perf_counter() - began
        return program

    @staticmethod
    def _is_due(program: InterpreterProgram) -> bool:
        """Return whether a signature that NumPy has computed often enough is compiled now."""
        return not (settings.defers and program.can_wait and put_off.function(program))

    def nearness(self, key: Any) -> float:
        """Return how near a signature is to being compiled: which part of the calls before that
        has been made. 0 where it is compiled already, or never will be."""
        found = 0.0
        for form in (self, self.donating):
            program = None if form is None else form._programs.get(key)
            if program is not None and program.can_wait and not program.stays:
                found = max(found, program.calls / max(program.calls + program.calls_left, 1.0))
        return min(found, 1.0)

    def compiling(self, key: Any) -> cost.Compiling | None:
        """Return what compiling a signature takes, where NumPy has computed it."""
        program = self._programs.get(key)
        return None if program is None else program.compiling

    # -- calls -------------------------------------------------------------------------------------

    def _call(self, program: InterpreterProgram, values: list[Any]) -> list[Any] | None:
        """Run a program by NumPy, count the call, and return its results, or None where it
        fails."""
        program.calls += 1
        weight = thread.weight
        if weight:
            program.calls_left -= weight
        record = program.record
        began, before = perf_counter(), turns.made
        try:
            found = program.run(values)
            if weight:
                program.calls_left -= program.of_a_turn * (turns.made - before)
            return found
        except TooLong as reason:
            program.calls_left = 0
            record.compiled_because(str(reason))
            return None
        except Exception as error:
            self._failed(program, error)
            return None
        finally:
            record.calls += 1
            record.calling_seconds += perf_counter() - began

    def _failed(self, program: InterpreterProgram, error: Exception) -> None:
        """Have a signature compiled from now on, as NumPy raised an error; under ``strict`` raise
        that error."""
        if settings.strict:
            raise error
        program.calls_left, program.stays = 0, False
        log.warning("%s is compiled: by NumPy it raised %r", self.name, error)
        program.record.compiled_because(f"{type(error).__name__}: {error}")

    def _compile(self, program: InterpreterProgram, args: tuple[Any, ...]) -> tuple[Any, ...]:
        record = program.record
        began = perf_counter()
        found = self._compiled(*args)
        program.can_wait = False
        record.compiled += 1
        record.compiled_after.append(program.calls)
        record.compiling_seconds += perf_counter() - began
        log.info(
            "%s is compiled after %d calls: %.0f ms",
            self.name,
            program.calls,
            1e3 * (perf_counter() - began),
        )
        return found


def _small(shape: tuple[int, ...]) -> tuple[int | None, ...]:
    """Return the sizes for which no symbol stands, None in the place of any other."""
    return tuple([n if n < LEAST else None for n in shape])


def _describe(argument: Any, key: list[Any], values: list[Any], pending: list[int]) -> bool:
    """Append what a program depends on in an argument, and its values; to ``pending`` where among
    these a device array is. False where the argument has no values."""
    kind = type(argument)
    if kind is _array_type:
        if id(argument.sharding) not in here and not host().has(argument.sharding):
            return False
        key.append(argument.shape)
        key.append(argument.dtype)
        if argument.weak_type:
            key.append(_WEAK)
        pending.append(len(values))
        values.append(argument)
        return True
    if kind is _ndarray:
        key.append(argument.shape)
        key.append(argument.dtype)
        values.append(argument)
        return True
    if argument is None:
        key.append(None)
        return True
    if kind is tuple or kind is list:
        key.append((kind, len(argument)))
        for a in argument:  # arrays at once: a call takes as long as what it does for them
            if type(a) is _ndarray:
                key.append(a.shape)
                key.append(a.dtype)
                values.append(a)
            elif not _describe(a, key, values, pending):
                return False
        return True
    if kind in NUMBERS:
        key.append(kind if argument != 1 else (kind,))
        values.append(argument)
        return True
    return False
