"""Values of a program that XLA's CPU compiler would compute again for each reader, computed once.

XLA takes what is computed element by element into each loop that reads it. It spares what it holds
for expensive (an exponential that several read), but not a cheap operation behind one, nor a long
chain of cheap ones: ``softplus(x).unfold(-1, 8, 1).mean(-1)`` computes each softplus eight times, a
depthwise convolution of volumes behind which something is interpolated is computed twelve times.

Here the program is read as XLA does it: from its results backwards, with the places at which each
value is read (the same place twice is computed once). What would be computed again for more than
writing it down takes is put apart: `apart` gives it memory of its own. So is what is computed of
several elements and read in parts, such as a pool in a pool, because XLA does not vectorize it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import lax

from torchlike._runtime import targets
from torchlike._runtime.jax_private.equations import CHECKPOINTS, called
from torchlike._runtime.jax_private.jaxprs import is_literal, seems_symbolic
from torchlike._runtime.rolling.writing import Writer, renamed, with_operands

#: Operations on elements, in additions: those that take longer.
_DEAR: dict[str, int] = {
    "div": 4,
    "rem": 4,
    "sqrt": 4,
    "rsqrt": 4,
    "integer_pow": 2,
} | dict.fromkeys(
    (
        *("exp", "exp2", "expm1", "log", "log1p", "tanh", "logistic", "sin", "cos", "tan", "pow"),
        *("erf", "erf_inv", "erfc", "atan2", "cbrt", "sinh", "cosh", "asin", "acos", "atan"),
        *("asinh", "acosh", "atanh", "digamma", "lgamma"),
    ),
    10,
)
_CHEAP = frozenset(
    (
        *("add", "add_any", "sub", "mul", "neg", "abs", "sign", "max", "min", "select_n", "clamp"),
        *("eq", "ne", "lt", "le", "gt", "ge", "and", "or", "xor", "not", "floor", "ceil", "round"),
        *("is_finite", "square", "convert_element_type", "copy", "copy_p", "stop_gradient"),
        *("real", "imag", "shift_left", "shift_right_logical", "shift_right_arithmetic"),
    )
)
#: What reads its operands at other places than its results have.
_MOVES = frozenset(
    (
        *("slice", "dynamic_slice", "gather", "broadcast_in_dim", "pad", "concatenate", "rev"),
        *("reshape", "squeeze", "expand_dims", "transpose"),
    )
)
#: Of them, those that read each element once, and those that may read one several times.
_WHOLE = frozenset(("broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose", "rev"))
_ELSEWHERE = _MOVES - _WHOLE
_WINDOWS = frozenset(("reduce_window_sum", "reduce_window_max", "reduce_window_min"))
#: Of a value and all that it is computed from in the same loop, at most so many operations.
_LARGEST_CHAIN = 160
#: What writing an element down and reading it takes, and handing a value to a loop of its own.
_WRITING, _APART = 6, 100_000
#: Elements of the smallest value that is put apart.
_SMALL = 1024
#: Additions an element from which on a value that is read at the same places in several loops is
#: put apart. XLA's own measure (operations that it holds for expensive) serves shorter ones,
#: but for sums of shifted images: it counts no readings.
_LONG, _LONG_OF_SHIFTED = 24, 4
#: Places of a value that are told apart. A chain of shifted sums doubles them at each link; beyond,
#: they count as one place that is read as often as all of them.
_MOST_PLACES = 64


@jax.custom_jvp
def apart(value: jax.Array) -> jax.Array:
    """Return ``value``, in memory of its own: XLA does not fuse what computes it with its readers.

    It goes through a loop of no turns, which XLA cannot know before it has stopped simplifying
    loops. Unlike a conditional, a loop takes over the memory of what goes into it.
    """
    never = lax.optimization_barrier(np.False_)
    return lax.while_loop(lambda c: c[0], lambda c: (np.False_, lax.neg(c[1])), (never, value))[1]


@apart.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    return apart(*primals), tangents[0]


class _FlatEquation(NamedTuple):
    """An equation of a program, or of one that is called in it, by its values."""

    eqn: Any
    operands: tuple[Any, ...]
    results: tuple[Any, ...]

    @property
    def name(self) -> str:
        return self.eqn.primitive.name


class _Inner:
    """A value within a program that is called."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval


def _steps(jaxpr: Any, names: dict[Any, Any], outermost: bool = True) -> Iterator[_FlatEquation]:
    """Yield the equations of a program as XLA sees them, those of called programs among them."""
    for eqn in jaxpr.eqns:
        given = [None if is_literal(v) else names.get(v, v) for v in eqn.invars]
        if not outermost:
            names |= {v: names.get(v) or _Inner(v.aval) for v in eqn.outvars}
        results = [names.get(v, v) for v in eqn.outvars]
        inside = called(eqn) if eqn.primitive.name not in CHECKPOINTS else None
        if inside is None:
            yield _FlatEquation(eqn, tuple(given), tuple(results))
            continue
        program = inside[0]
        own: dict[Any, Any] = {v: _Inner(v.aval) for v in program.constvars}
        own |= zip(program.invars, given, strict=True)
        passed = [v for v in program.outvars if is_literal(v) or v in own]
        own |= {v: r for v, r in zip(program.outvars, results, strict=True) if v not in passed}
        yield from _steps(program, own, False)
        for v, result in zip(program.outvars, results, strict=True):
            if v in passed or own[v] is not result:  # an operand, or a result given twice
                yield _FlatEquation(eqn, (None if is_literal(v) else own[v],), (result,))


def _size(value: Any) -> int:
    return math.prod(value.aval.shape)


def _weight(step: _FlatEquation) -> int | None:
    """Return what an element of a step's result costs; None for what XLA computes apart."""
    if step.name in _CHEAP or step.name in _DEAR:
        return _DEAR.get(step.name, 1)
    if step.name in _ELSEWHERE:
        return 1
    return 0 if step.name in _WHOLE or step.name in _WINDOWS else None


def _chains(steps: Sequence[_FlatEquation]) -> dict[Any, dict[int, int]]:
    """Return for each value the steps that compute it in one loop, with what each costs."""
    found: dict[Any, dict[int, int]] = {}
    for i, step in enumerate(steps):
        weight = _weight(step)
        if weight is None:
            continue
        chain = {i: weight}
        for operand in step.operands:
            if operand is not None and len(chain) <= _LARGEST_CHAIN:
                chain |= found.get(operand, {})
        found |= dict.fromkeys(step.results, chain)
    return found


def _read(step: _FlatEquation, operand: Any) -> float:
    """Return how often each element of an operand is read for each that a step makes."""
    if step.name in ("slice", "dynamic_slice", "gather"):
        return _size(step.results[0]) / max(_size(operand), 1)
    if step.name in _WINDOWS:
        return math.prod(step.eqn.params["window_dimensions"])
    return 1


class _Readers:
    """Where each value of a program is read, and how often, in the loops that XLA would make.

    A place is a number: that of a loop, of memory, or of a reading at another place in one.
    """

    def __init__(self, jaxpr: Any) -> None:
        self._places: dict[Any, dict[int, float]] = {}
        self._moved: set[Any] = set()  # values of which something is read elsewhere
        self._numbers: dict[Any, int] = {}
        for v in jaxpr.outvars:
            if not is_literal(v):
                self._places.setdefault(v, {})[self._place("memory")] = 1.0

    def _place(self, name: Any) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    def places(self, value: Any) -> dict[int, float]:
        return self._places.get(value, {})

    def moved(self, value: Any) -> bool:
        return value in self._moved

    def put_apart(self, value: Any) -> None:
        """Note that a value is read from memory."""
        self._places[value] = {self._place("memory"): 1.0}
        self._moved.discard(value)

    def read(self, step: _FlatEquation, number: int) -> None:
        """Note what a step reads, after all steps behind it."""
        here: dict[int, float] = {}
        for result in step.results:
            here |= self.places(result)
        moved = not self._moved.isdisjoint(step.results)
        for operand in {v for v in step.operands if v is not None}:
            known = self._places.setdefault(operand, {})
            if _weight(step) is None:
                # A sum is a loop that reads; other operations read what is in memory.
                loop = number if step.name.startswith("reduce_") else "memory"
                known[self._place(loop)] = 1.0
                continue
            if step.name in _MOVES or step.name in _WINDOWS:
                times = step.operands.count(operand) * _read(step, operand)
                known |= {self._place((number, p)): often * times for p, often in here.items()}
            else:
                for place, often in here.items():
                    known[place] = max(known.get(place, 0.0), often)
            if moved or step.name in _ELSEWHERE or step.name in _WINDOWS:
                self._moved.add(operand)
            if len(known) > _MOST_PLACES:
                self._places[operand] = {self._place(("many", number)): sum(known.values())}


def _repeated(jaxpr: Any) -> set[Any]:
    """Return the variables of a program that are to be put apart."""
    steps = list(_steps(jaxpr, {}))
    chains = _chains(steps)
    shifted = {i for i, step in enumerate(steps) if step.name in _ELSEWHERE}
    outermost = {v for eqn in jaxpr.eqns for v in eqn.outvars}
    readers = _Readers(jaxpr)
    found: set[Any] = set()
    for i in range(len(steps) - 1, -1, -1):
        for result in outermost.intersection(steps[i].results):
            chain = chains.get(result, {})
            of_several = len(shifted.intersection(chain)) > 1
            least = _LONG_OF_SHIFTED if of_several else _LONG
            least = 0 if readers.moved(result) else least
            places = readers.places(result)
            computed = of_several and steps[i].name not in _WHOLE and readers.moved(result)
            if (computed and _is_read_in_parts(result, places)) or _pays(
                result, places, chain, least
            ):
                found.add(result)
                readers.put_apart(result)
        readers.read(steps[i], i)
    return found


def _pays(value: Any, places: dict[int, float], chain: dict[int, int], least: int) -> bool:
    """Return whether to compute a value once takes less than to compute it at all places, if it
    takes ``least`` cheap operations."""
    again = sum(places.values()) - 1
    if again < 0.5 or _size(value) < _SMALL or value.aval.dtype.kind not in "fiu":
        return False
    if sum(w for w in chain.values() if w < 10) < least:
        return False
    return (sum(chain.values()) * again - _WRITING) * _size(value) >= _APART


def _is_read_in_parts(value: Any, places: dict[int, float]) -> bool:
    """Return whether a value is read once in all, its parts at several places: by a pool, whose
    loop would read the elements of a pool before it one by one (4 × 8 images of 64 × 64, 2 × 2
    twice, 158 µs, apart 43)."""
    return len(places) > 1 and sum(places.values()) < 1.5 and _size(value) >= _SMALL


def _has_symbols(jaxpr: Any) -> bool:
    return any(seems_symbolic(size) for v in jaxpr.invars for size in v.aval.shape)


def computed_once(jaxpr: Any) -> Any:
    """Return a program for XLA's CPU compiler in which no long computation is repeated; itself
    where there is none, and for other targets."""
    if not targets.is_xla_cpu() or len(jaxpr.eqns) < 2 or _has_symbols(jaxpr):
        return jaxpr
    found = _repeated(jaxpr)
    if not found:
        return jaxpr
    writer, names, eqns = Writer(), dict[Any, Any](), list[Any]()
    for eqn in jaxpr.eqns:
        eqns.append(with_operands(eqn, names))
        for v in eqn.outvars:
            if v in found:
                more, (names[v],) = writer.equations(apart, [v])
                eqns += more
    return jaxpr.replace(eqns=eqns, outvars=[renamed(v, names) for v in jaxpr.outvars])
