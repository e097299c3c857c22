"""``jax.jit`` whose first calls with a signature are computed by NumPy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from time import perf_counter
from typing import Any

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from torchlike import targets
from torchlike.first_calls import cost, interpreter
from torchlike.first_calls.families import Family, Template, described
from torchlike.first_calls.internals import internals, log
from torchlike.first_calls.rules import TooLong, Unsupported
from torchlike.first_calls.settings import COMPILED, settings
from torchlike.first_calls.statistics import record_of

_NUMBERS = frozenset((bool, int, float, complex))


def jit(
    function: Callable[..., Any], *, name: str = "", template: Template | None = None,
    families: dict[Any, Family] | None = None, **options: Any,
) -> Any:  # fmt: skip
    """``jax.jit(function, **options)``, whose first calls with a signature NumPy computes.

    The signature is what ``jax.jit`` compiles for: tree, shapes and dtypes of the arguments. On
    accelerators, within a trace, for arrays on other devices than the first CPU, and where NumPy
    has no rule, it is ``jax.jit``. ``name`` stands in reports.

    ``function`` may itself be made for sizes: ``template`` then makes it for others, and functions
    of one template share their ``families``.
    """
    jitted: Any = jax.jit(function, **options)
    if internals.missing:
        return jitted
    template = template or Template(lambda sizes: function, ())
    name = name or getattr(function, "__name__", "?")
    first_calls = _FirstCalls(
        function, jitted, name, template, {} if families is None else families
    )
    hooked: Any = internals.hooked(function, jitted, first_calls.miss)
    hooked = functools.wraps(function)(hooked)
    # What methods of JAX's class (lower, trace, eval_shape) look for.
    hooked._fun, hooked._jit_info = function, jitted._jit_info
    return hooked


class _Host:
    """The device that NumPy's results go to; JAX starts its backend when it is first asked for."""

    def __init__(self) -> None:
        self.device = jax.local_devices(backend="cpu")[0]
        self.sharding = SingleDeviceSharding(self.device)
        self.array_type = type(jax.device_put(np.zeros(()), self.device))
        self.is_default = jax.default_backend() == "cpu"


_host = functools.cache(_Host)


class _Program:
    """What is known of one signature of a form."""

    __slots__ = ("avals", "calls", "calls_left", "dtypes", "function", "structure")

    def __init__(self) -> None:
        #: Calls that NumPy has computed, and is still to compute; at 0 the signature is compiled.
        self.calls = 0
        self.calls_left = 0
        self.function: Callable[..., list[Any]]
        #: Dtypes of the operands, avals of the results and their tree.
        self.dtypes: list[Any] = []
        self.avals: list[Any] = []
        self.structure: Any = None


class _FirstCalls:
    """Answers the calls of one form for which JAX has no executable."""

    __slots__ = ("_compiled", "_families", "_function", "_name", "_programs", "_template")

    def __init__(
        self, function: Callable[..., Any], jitted: Any, name: str, template: Template,
        families: dict[Any, Family],
    ) -> None:  # fmt: skip
        self._function = function
        self._compiled = jitted._cache_miss
        self._name = name
        self._template, self._families = template, families
        self._programs: dict[Any, _Program] = {}

    def miss(self, *args: Any, **kwargs: Any) -> Any:
        """As JAX's own ``cache_miss``: (outputs, what to keep in C++, whether to ask again)."""
        if settings.mode == COMPILED or kwargs or not internals.trace_state_clean():
            return self._compiled(*args, **kwargs)
        host = _host()
        if not host.is_default:
            return self._compiled(*args)
        leaves, tree = jax.tree.flatten(args)
        key = _signature(leaves, tree, host.array_type)
        if key is None:
            return self._compiled(*args)
        program = self._programs.get(key)
        if program is None:
            program, check = self._of_family(key, leaves, tree) or (
                self._made(key, leaves, tree),
                False,
            )
            self._programs[key] = program
        else:
            check = False
        if program.calls_left <= 0:
            return self._compile(program, args)
        values = _values(leaves, program.dtypes, host)
        if values is None:
            return self._compiled(*args)
        outs = self._call(program, values)
        if check and outs is not None:
            program, outs = self._checked(key, leaves, tree, values, program, outs)
        if outs is None:
            return self._compile(program, args)
        committed = any(a._committed for a in leaves if type(a) is host.array_type)
        arrays = [
            _array(v, aval, host, committed) for v, aval in zip(outs, program.avals, strict=True)
        ]
        return jax.tree.unflatten(program.structure, arrays), None, True

    def _of_family(self, key: Any, leaves: list[Any], tree: Any) -> tuple[_Program, bool] | None:
        """The program that other sizes of this signature have traced, if any, and whether it is to
        be checked."""
        shapes = [part[0] if type(part) is tuple else None for part in key[2:]]
        shapes.append(self._template.sizes)
        kind = self._kind(key)
        family = self._families.get(kind)
        if family is None:
            self._families[kind] = Family(shapes)
            return None
        began = perf_counter()
        found = family.find(self._name, self._template, tree, leaves, shapes)
        if found is None:
            return None
        specialised, check = found
        program = _Program()
        program.function, program.calls_left, program.dtypes, program.avals = specialised[:4]
        program.structure = specialised.structure
        record = record_of(self._name)
        record.specialised += 1
        record.making_seconds += perf_counter() - began
        return program, check or settings.check

    def _kind(self, key: Any) -> Any:
        """What signatures of one family have in common."""
        parts = [(len(p[0]), *p[1:]) if type(p) is tuple else p for p in key[2:]]
        return (*key[:2], len(self._template.sizes), *parts)

    def _checked(
        self,
        key: Any,
        leaves: list[Any],
        tree: Any,
        values: list[Any],
        program: _Program,
        outs: list[Any],
    ) -> tuple[_Program, list[Any] | None]:
        """The program of a family and its results, held against those of a trace of its own; the
        latter where they differ."""
        own = self._made(key, leaves, tree)
        expected = self._call(own, values) if own.calls_left else None
        if expected is not None and _agree(program, outs, own, expected):
            return program, outs
        message = f"{self._name}: a program traced for other sizes differs from one of its own"
        if settings.strict:
            raise AssertionError(f"{message}: {key[2:]}, {self._template.sizes}")
        log.warning("%s; each size is traced from now on", message)
        self._families[self._kind(key)].give_up()
        self._programs[key] = own
        return own, expected

    def _made(self, key: Any, leaves: list[Any], tree: Any) -> _Program:
        """Trace the function for these arguments, and make the program that NumPy runs."""
        record = record_of(self._name)
        began = perf_counter()
        program = _Program()
        shapes = [part[0] if type(part) is tuple else None for part in key[2:]]
        given = [described(leaf, shape) for leaf, shape in zip(leaves, shapes, strict=True)]
        with targets.numpy(), jax.disable_jit():
            closed, out = jax.make_jaxpr(self._function, return_shape=True)(
                *jax.tree.unflatten(tree, given)
            )
        try:
            calls = cost.calls_by_numpy(closed.jaxpr)
            if calls:
                program.function = interpreter.function_of(closed)
                program.calls_left = calls
                program.dtypes = [aval.dtype for aval in closed.in_avals]
                program.avals = closed.out_avals
                program.structure = jax.tree.structure(out)
            else:
                record.compiled_because("large")
        except Unsupported as reason:
            record.compiled_because(f"no rule for {reason}")
        except Exception as error:  # another version of JAX may name parameters otherwise
            if settings.strict:
                raise
            log.warning("%s is compiled: no program for NumPy, %r", self._name, error)
            record.compiled_because(f"{type(error).__name__}: {error}")
        record.programs += 1
        record.making_seconds += perf_counter() - began
        return program

    def _call(self, program: _Program, values: list[Any]) -> list[Any] | None:
        """NumPy's results, or None where it fails."""
        program.calls += 1
        program.calls_left -= 1
        record = record_of(self._name)
        began = perf_counter()
        try:
            with np.errstate(all="ignore"):
                return program.function(*values)
        except TooLong as reason:
            program.calls_left = 0
            record.compiled_because(str(reason))
            return None
        except Exception as error:
            if settings.strict:
                raise
            program.calls_left = 0
            log.warning("%s is compiled: by NumPy it raised %r", self._name, error)
            record.compiled_because(f"{type(error).__name__}: {error}")
            return None
        finally:
            record.calls += 1
            record.calling_seconds += perf_counter() - began

    def _compile(self, program: _Program, args: tuple[Any, ...]) -> Any:
        record = record_of(self._name)
        began = perf_counter()
        found = self._compiled(*args)
        record.compiled += 1
        record.compiled_after.append(program.calls)
        record.compiling_seconds += perf_counter() - began
        log.info(
            "%s is compiled after %d calls: %.0f ms",
            self._name, program.calls, 1e3 * (perf_counter() - began),
        )  # fmt: skip
        return found


def _agree(program: _Program, outs: list[Any], own: _Program, expected: list[Any]) -> bool:
    """Whether two programs gave the same bits in the same tree."""
    if program.structure != own.structure:
        return False
    for a, b, x, y in zip(program.avals, own.avals, outs, expected, strict=True):
        if (a.shape, a.dtype, a.weak_type) != (b.shape, b.dtype, b.weak_type):
            return False
        if (
            np.shape(x) != b.shape
            or np.ascontiguousarray(x).tobytes() != np.ascontiguousarray(y).tobytes()
        ):
            return False
    return True


def _signature(leaves: list[Any], tree: Any, array_type: Any) -> Any:
    """What a program is made for, or None where an argument is neither array nor number."""
    key = [tree, internals.trace_context()]
    for leaf in leaves:
        kind = type(leaf)
        if kind is array_type:
            key.append((leaf.shape, leaf.dtype, leaf.weak_type))
        elif kind in _NUMBERS:
            key.append(kind)
        elif isinstance(leaf, (np.ndarray, np.generic)):
            key.append((leaf.shape, leaf.dtype, False))
        else:
            return None
    return tuple(key)


def _values(leaves: list[Any], dtypes: list[Any], host: _Host) -> list[Any] | None:
    """The operands as NumPy arrays that nobody may write, or None where one lies elsewhere."""
    values = []
    for leaf, dtype in zip(leaves, dtypes, strict=True):
        if type(leaf) is host.array_type:
            if leaf.sharding is not host.sharding and leaf.sharding != host.sharding:
                return None
            values.append(np.asarray(leaf))
            continue
        value = np.asarray(leaf, dtype)
        if value is leaf:
            value = value.view()
        value.flags.writeable = False
        values.append(value)
    return values


def _array(value: Any, aval: Any, host: _Host, committed: bool) -> Any:
    """A jax array of a NumPy result, whose memory JAX may keep."""
    if type(value) is not np.ndarray:
        value = np.asarray(value)
    flags = value.flags
    if not (flags.owndata and flags.writeable and flags.c_contiguous):
        value = np.array(value, order="C")  # a view, an operand or a constant
    return internals.put(aval, host.sharding, [value], [host.device], committed)
