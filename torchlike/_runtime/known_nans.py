"""Exponentials of a NaN that the compiler knows.

XLA's CPU backend computes exp from the integer nearest to its operand. Where LLVM finds out while
compiling that the operand is NaN, that integer is undefined to it, and so is the result: the
program writes nothing, and gives what the memory held. ``jax.jit(lambda x: jnp.exp(x * nan))`` does
it, and so do NaNs behind a condition or a computation, ``exp(sqrt(where(flag, -1, x)))`` for one.
jaxlib 0.10 has this; 0.12 has it in loops, and where a flag chooses the NaN.

So an exponential whose operand may be such a NaN is followed by ``where(x != x, x, exp(x))``, in
which LLVM drops the undefined one. Everywhere, it would cost: XLA then leaves sums of exponentials
to slower kernels (a softmax of 1024x1024 takes 1.2 times as long, a row's sum of exponentials
1.6). What may be known is followed from the constants on, equation by equation, while a program is
lowered; programs in which no NaN can be known are as they were.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import lax

from torchlike._runtime.jax_private.equations import (
    interpret,
    loop_of,
    rewrite,
    subjaxprs,
    walk,
    while_parts,
    with_params,
)
from torchlike._runtime.jax_private.lowering import LOWER
from torchlike._runtime.patches import at_import

#: What a value may be known to be, as bits; none for what only a run of the program tells.
_NAN, _INFINITE, _ZERO, _NUMBER = 1, 2, 4, 8
_FINITE = _ZERO | _NUMBER
_ANY_NUMBER = _FINITE | _INFINITE
_ANYTHING = _ANY_NUMBER | _NAN
#: It is computed of nothing but constants. (Others may be known in one branch of the machine code.)
_CONSTANT = 16

#: What LLVM computes by XLA's exponential, expm1 and logistic of bfloat16 alone.
_EXPONENTIALS = frozenset(("exp", "exp2", "expm1", "sinh", "cosh", "logistic"))
#: The result is one of the operands, or one but for its sign.
_CHOICES_TEXT = """
broadcast_in_dim reshape transpose squeeze slice rev copy copy_p neg abs select_n concatenate pad
dynamic_slice gather dynamic_update_slice stop_gradient real imag complex conj
"""
_CHOICES = frozenset(_CHOICES_TEXT.split())
#: NaN only where an operand is.
_TOTAL = _EXPONENTIALS | {
    "tanh",
    "erf",
    "erfc",
    "atan",
    "asinh",
    "cbrt",
    "floor",
    "ceil",
    "round",
    "sign",
    "nextafter",
    "square",
    "integer_pow",
    "convert_element_type",
    "reduce_precision",
    "is_finite",
    "atan2",
}
#: XLA computes these into memory, behind which LLVM sees a NaN at most.
_INTO_MEMORY_TEXT = """
reduce_ arg cum dot_general conv_ sort top_k scatter fft select_and_
"""
_INTO_MEMORY = tuple(_INTO_MEMORY_TEXT.split())


def guarded(closed: Any) -> Any:
    """Put guards behind the exponentials of a closed jaxpr that need one, and return it."""
    if not _has_exponentials(closed.jaxpr):
        return closed
    return _closed(closed, [0] * len(closed.jaxpr.invars))[1]


def _has_exponentials(jaxpr: Any) -> bool:
    return any(eqn.primitive.name in _EXPONENTIALS for eqn in walk(jaxpr))


@functools.cache
def _is_inexact(dtype: Any) -> bool:
    return jax.numpy.issubdtype(dtype, np.inexact)


def _known(value: Any) -> int:
    """Return what is known of the elements of a constant."""
    if isinstance(value, jax.Array) and not value.is_fully_addressable:
        return 0
    try:
        array = np.asarray(value)
    except TypeError:  # keys of random numbers and the like
        return 0
    if not (_is_inexact(array.dtype) and array.size):
        return _FINITE | _CONSTANT
    kinds = (_NAN, np.isnan(array)), (_INFINITE, np.isinf(array)), (_ZERO, array == 0)
    return _NUMBER | _CONSTANT | sum(bit for bit, where in kinds if where.any())


def _closed(closed: Any, inputs: list[int]) -> tuple[list[int], Any]:
    """Return what is known of the results of a closed jaxpr, given its inputs, and the jaxpr with
    guards."""
    constants = [_known(value) for value in closed.consts]
    results, jaxpr = _open(closed.jaxpr, constants, inputs)
    return results, closed if jaxpr is closed.jaxpr else closed.replace(jaxpr=jaxpr)


def _open(jaxpr: Any, constants: list[int], inputs: list[int]) -> tuple[list[int], Any]:
    guards: dict[int, list[Any]] = {}

    def run(eqn: Any, operands: list[int]) -> list[int]:
        results, own = _results(eqn, operands)
        if eqn.primitive.name in _EXPONENTIALS and operands[0] & _NAN and _is_real(eqn):
            guards[id(eqn)] = _with_guard(eqn)
        elif own is not eqn:
            guards[id(eqn)] = [own]
        return results

    results = interpret(jaxpr, constants, inputs, run, lambda atom: _known(atom.val))
    return results, rewrite(jaxpr, lambda eqn: guards.get(id(eqn)))


def _is_real(eqn: Any) -> bool:
    """Return whether the exponential of NaN is NaN: of complex numbers it depends on both parts."""
    return not jax.numpy.issubdtype(eqn.outvars[0].aval.dtype, np.complexfloating)


def _with_guard(eqn: Any) -> list[Any]:
    """Return the equations of ``where(x != x, x, exp(x))``."""
    (x,), (out,) = eqn.invars, eqn.outvars
    aval = jax.ShapeDtypeStruct(out.aval.shape, out.aval.dtype)
    example = jax.make_jaxpr(lambda x, y: lax.select(lax.ne(x, x), x, y))(aval, aval).jaxpr
    (_, y), (compared, selected) = example.invars, example.eqns
    return [
        eqn.replace(outvars=[y]),
        compared.replace(invars=[x, x]),
        selected.replace(invars=[compared.outvars[0], y, x], outvars=[out]),
    ]


def _results(eqn: Any, operands: list[int]) -> tuple[list[int], Any]:
    """Return what is known of the results of an equation, and the equation with guards in what it
    calls."""
    name = eqn.primitive.name
    if any(subjaxprs(eqn)) and not name.startswith(_INTO_MEMORY):
        call = {"cond": _cond, "while": _while, "scan": _scan}.get(name, _call)
        results, params = call(eqn, operands)
        if results is None:
            results = [_anything(operands)] * len(eqn.outvars)
        return results, with_params(eqn, params)
    if name == "optimization_barrier":
        return operands, eqn
    found = _arithmetic(eqn, operands)
    if found & ~_CONSTANT and all(o & _CONSTANT for o in operands):
        found |= _CONSTANT
    return [
        found if _is_inexact(var.aval.dtype) else _of_integers(found, operands)
        for var in eqn.outvars
    ], eqn


def _of_integers(found: int, operands: list[int]) -> int:
    return (found & _CONSTANT) | (_FINITE if any(operands) else 0)


def _anything(operands: list[int]) -> int:
    """Return what is known of the results of a function of which nothing is known, given its
    operands."""
    if all(o & ~_CONSTANT for o in operands):
        return _ANYTHING
    return _any_of(operands) & _NAN


def _any_of(operands: Sequence[int]) -> int:
    found = 0
    for operand in operands:
        found |= operand
    return found & ~_CONSTANT


def _arithmetic(eqn: Any, operands: list[int]) -> int:
    name = eqn.primitive.name
    if name == "select_n":
        operands = operands[1:]
    together = _any_of(operands)
    nan = together & _NAN
    if name.startswith(_INTO_MEMORY) and name != "reduce_precision":
        if any(0 in _numbers(v.aval.shape) for v in eqn.invars):
            return _ANY_NUMBER | nan
        return _ANYTHING if all(o & _CONSTANT for o in operands) else nan
    if name == "iota":
        return _FINITE | _CONSTANT
    if name in _CHOICES:
        return together
    if name in ("max", "min", "clamp"):
        # The greater of -inf and what a run tells is nothing that LLVM knows, as a trial showed.
        return together if all(o & ~_CONSTANT for o in operands) else nan
    if name in _TOTAL:
        return nan | (_ANY_NUMBER if together else 0)
    if name == "pow":  # the power 0 of anything is 1
        return _anything(operands) | (_ANY_NUMBER if together else 0)
    if len(operands) == 2 and all(o & ~_CONSTANT for o in operands):
        a, b = operands
        infinite, zero = a & b & _INFINITE, a & b & _ZERO
        mixed = (a & _INFINITE and b & _ZERO) or (a & _ZERO and b & _INFINITE)
        makes_nan = {
            "add": infinite,
            "sub": infinite,
            "add_any": infinite,
            "mul": mixed,
            "div": infinite or zero,
        }.get(name, True)
        return _ANYTHING if makes_nan else nan | _ANY_NUMBER
    return _anything(operands)


def _numbers(shape: Any) -> list[int]:
    return [n for n in shape if type(n) is int]


# -- equations that call jaxprs --------------------------------------------------------------------


def _run(item: Any, operands: list[int]) -> tuple[list[int], Any]:
    """Return what is known of the results of a jaxpr with or without constants, and the jaxpr with
    guards."""
    if hasattr(item, "consts"):
        return _closed(item, operands)
    return _open(item, [_ANYTHING] * len(item.constvars), operands)


def _call(eqn: Any, operands: list[int]) -> tuple[list[int] | None, Any]:
    """Follow an equation that calls one jaxpr with its operands; where it calls otherwise, None is
    known of its results. Return them, and its parameters with guards."""
    params = eqn.params
    results: list[int] | None = None
    changed = {}
    n_called = 0
    for key, value in params.items():
        items = value if isinstance(value, (tuple, list)) else (value,)
        found = []
        for item in items:
            jaxpr = getattr(item, "jaxpr", item)
            if not hasattr(jaxpr, "eqns"):
                found.append(item)
                continue
            n_called += 1
            own = operands if len(operands) == len(jaxpr.invars) else None
            outs, item_guarded = _run(item, own or [_ANYTHING] * len(jaxpr.invars))
            results = outs if own is not None else None
            found.append(item_guarded)
        if any(a is not b for a, b in zip(found, items, strict=True)):
            changed[key] = type(value)(found) if isinstance(value, (tuple, list)) else found[0]
    return results if n_called == 1 else None, {**params, **changed}


def _cond(eqn: Any, operands: list[int]) -> tuple[list[int], Any]:
    params = eqn.params
    found = [_run(branch, operands[1:]) for branch in params["branches"]]
    branches = tuple(branch for _, branch in found)
    if all(a is b for a, b in zip(branches, params["branches"], strict=True)):
        branches = params["branches"]
    outs = [_any_of(results) for results in zip(*(r for r, _ in found), strict=True)]
    return outs, {**params, "branches": branches}


def _until_the_same(step: Callable[[list[int]], list[int]], carried: list[int]) -> list[int]:
    """Repeat ``step`` until it changes nothing, and return what may be known of the values that a
    loop carries, at the start of any turn."""
    while True:
        after = [a | b & ~_CONSTANT for a, b in zip(carried, step(carried), strict=True)]
        if after == carried:
            return carried
        carried = after


def _while(eqn: Any, operands: list[int]) -> tuple[list[int], Any]:
    cond, body, n, m = while_parts(eqn)
    own, shared = operands[:n], operands[n : n + m]
    carried = [o & ~_CONSTANT for o in operands[n + m :]]
    carried = _until_the_same(lambda c: _run(body, [*shared, *c])[0], carried)
    changed = {
        "cond_jaxpr": _run(cond, [*own, *carried])[1],
        "body_jaxpr": _run(body, [*shared, *carried])[1],
    }
    return carried, {**eqn.params, **changed}


def _scan(eqn: Any, operands: list[int]) -> tuple[list[int], Any]:
    body = eqn.params["jaxpr"]
    n, m = loop_of(eqn)
    shared, rows = operands[:n], operands[n + m :]
    carried = [o & ~_CONSTANT for o in operands[n : n + m]]
    carried = _until_the_same(lambda c: _run(body, [*shared, *c, *rows])[0][:m], carried)
    results, changed = _run(body, [*shared, *carried, *rows])
    return [*carried, *results[m:]], {**eqn.params, "jaxpr": changed}


# -- where JAX lowers ------------------------------------------------------------------------------


class Guarding:
    """Stands for ``lower_jaxpr_to_module`` of JAX: lowers programs with guards."""

    def __init__(self, lower: Callable[..., Any]) -> None:
        self._lower = lower

    def __call__(self, name: Any, closed: Any, *, platforms: Any, **rest: Any) -> Any:
        if "cpu" in platforms:
            closed = guarded(closed)
        return self._lower(name, closed, platforms=platforms, **rest)


def watch_for() -> None:
    """Let JAX guard the exponentials of NaNs that XLA may know, from now on."""
    lower = LOWER.find()
    if lower is not None and not isinstance(lower, Guarding):
        LOWER.replace(at_import.KNOWN_NANS, Guarding(lower))
