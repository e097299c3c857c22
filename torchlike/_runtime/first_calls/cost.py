"""When compiling pays: how long a program takes by NumPy, and how long to compile.

Both are estimates from sizes alone, so two runs of a script switch at the same call and give the
same bits. NumPy is given as much work as compiling is thought to take; what is spent is then at
most about twice what knowing the number of calls beforehand would have taken.

Units: 1 is the time of one addition in a large array, some nanoseconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from torchlike._runtime.first_calls.internals import internals
from torchlike._runtime.first_calls.settings import settings

#: What NumPy takes for an equation, however small its arrays are.
_PER_EQUATION = 3e3
#: What XLA takes for a program, and for each of its equations.
_COMPILING = 20e6
_COMPILING_EQUATION = 8e6
#: A signature is called this often by NumPy at most.
_MOST_CALLS = 1000
#: What NumPy takes for a step of a program that has run before; what the call of a compiled program
#: takes, and the way of each of its operands and results between host and device.
_PER_STEP = 1.2e3
_XLA_CALL = 8e3
_XLA_OPERAND = 2e3
#: Turns that a loop with a condition is thought to take.
_TURNS = 100

_FREE = frozenset(("broadcast_in_dim", "reshape", "transpose", "squeeze", "slice", "rev"))
_DEAR = frozenset((
    "exp", "exp2", "log", "log1p", "expm1", "tanh", "erf", "erf_inv", "pow", "sin", "cos", "tan",
    "logistic", "threefry2x32", "lgamma", "digamma", "rem", "cbrt", "atan2",
))  # fmt: skip


#: Arithmetic on 16-bit floats goes number by number through float32 (integers pay for it, too).
_SLOW_IN_HALF = frozenset(("add", "sub", "mul", "div", "max", "min", "neg", *_DEAR))


def calls_by_numpy(jaxpr: Any, value: Callable[[Any], int] = int) -> int:
    """How many calls NumPy should compute before the program is compiled; 0 is at once.

    ``value`` gives the number that a size stands for.
    """
    cost, n = _cost(jaxpr, value)
    calls = int((_COMPILING + _COMPILING_EQUATION * n) / max(cost, 1.0))
    return min(calls, _MOST_CALLS) if calls >= 2 else 0


def numpy_is_faster(jaxpr: Any, steps: int, value: Callable[[Any], int] = int) -> bool:
    """Whether a call by NumPy, on its own arrays, takes less than one of the compiled program.

    ``steps``: how many functions of NumPy's it runs. Never where there are loops: how long those
    take is known afterwards only.
    """
    if _has_loops(jaxpr):
        return False
    work, _ = _cost(jaxpr, value, 0)
    work += sum(math.prod(map(value, v.aval.shape)) for v in jaxpr.outvars)
    call = _XLA_CALL + _XLA_OPERAND * (len(jaxpr.invars) + len(jaxpr.outvars))
    return _PER_STEP * steps + work <= settings.xla_is_dear * call


def _has_loops(jaxpr: Any) -> bool:
    return any(
        eqn.primitive.name in ("scan", "while") or any(map(_has_loops, _inner(eqn)))
        for eqn in jaxpr.eqns
    )


def _cost(
    jaxpr: Any, value: Callable[[Any], int], per_equation: float = _PER_EQUATION
) -> tuple[float, int]:
    """(units that NumPy takes, equations of the program and those within it)."""
    total, count = 0.0, 0
    for eqn in jaxpr.eqns:
        turns = _turns(eqn, value)
        inner = list(_inner(eqn))
        total += per_equation * turns
        count += 1
        for sub in inner:
            cost, n = _cost(sub, value, per_equation)
            total += turns * cost
            count += n
        if not inner:
            total += _elements(eqn, value)
    return total, count


def _turns(eqn: Any, value: Callable[[Any], int]) -> int:
    name = eqn.primitive.name
    return value(eqn.params["length"]) if name == "scan" else _TURNS if name == "while" else 1


def _inner(eqn: Any) -> Any:
    """The jaxprs that an equation calls."""
    for value in eqn.params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            found = getattr(item, "jaxpr", item)
            if isinstance(found, internals.jaxpr):
                yield found


def _elements(eqn: Any, value: Callable[[Any], int]) -> float:
    """The work on the elements of an equation's arrays."""
    name = eqn.primitive.name

    def size(v: Any) -> int:
        return math.prod(map(value, v.aval.shape))

    out = sum(map(size, eqn.outvars))
    if name in _FREE:
        return 0
    if eqn.outvars and eqn.outvars[0].aval.dtype.itemsize < 4 and name in _SLOW_IN_HALF:
        out *= 8
    if name in _DEAR:
        return 8 * out
    if name == "dot_general":
        (summed, _), _ = eqn.params["dimension_numbers"]
        length = math.prod(value(eqn.invars[0].aval.shape[d]) for d in summed)
        # NumPy multiplies matrices of integers one number after the other.
        return out * (1 + (length if eqn.outvars[0].aval.dtype.kind in "iu" else length / 16))
    if name == "conv_general_dilated":
        layout, kernel = eqn.params["dimension_numbers"], [*map(value, eqn.invars[1].aval.shape)]
        taps = math.prod(kernel) / max(1, kernel[layout.rhs_spec[0]])
        # The column of a position is written once for all channels of the output.
        channels = max(1, value(eqn.outvars[0].aval.shape[layout.out_spec[1]]))
        return out * (1 + taps / channels * eqn.params["feature_group_count"] + taps / 16)
    if name.startswith(("reduce_window", "select_and")):
        return out * math.prod(map(value, eqn.params["window_dimensions"]))
    if name.startswith(("reduce", "arg")):
        return size(eqn.invars[0])
    if name.startswith("scatter"):
        return out + 20 * size(eqn.invars[2])
    if name == "gather":
        return 5 * out
    if name in ("sort", "top_k"):
        return 30 * size(eqn.invars[0])
    return out
