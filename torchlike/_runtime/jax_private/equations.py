"""The walker over traced programs: which equations run other programs, and how those are reached.

The names and parameters of JAX's equations are nobody's interface. What runs a program within a
program is known here alone: calls (`CALLS`), branches, loops, regions of `jax.checkpoint`,
functions with gradients of their own, `shard_map`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from torchlike._runtime.jax_private.jaxprs import Jaxpr, Literal, opened

#: Equations that run one program on their operands, once, and nothing else: which parameter it is.
CALLS: Mapping[str, tuple[str, ...]] = {
    "jit": ("jaxpr",),
    "pjit": ("jaxpr",),
    "closed_call": ("call_jaxpr",),
    "core_call": ("call_jaxpr", "jaxpr"),
    "custom_jvp_call": ("call_jaxpr",),
    "custom_vjp_call": ("call_jaxpr", "fun_jaxpr"),
    "eval_jaxpr": ("call_jaxpr",),
    "checkpoint": ("jaxpr",),
    "remat": ("jaxpr",),
    "remat2": ("jaxpr",),
}
#: Those that are computed again for the gradient, and those with a gradient of their own.
CHECKPOINTS = frozenset(("checkpoint", "remat", "remat2"))
CUSTOM = frozenset(("custom_jvp_call", "custom_vjp_call"))
#: Equations that run a program more than once.
LOOPS = frozenset(("scan", "while"))


#: Types of parameters that are no programs: most of them, told apart before anything is asked.
_PLAIN = frozenset((type(None), bool, int, float, str))


def subjaxprs(eqn: Any) -> Iterator[Any]:
    """Yield the programs among an equation's parameters, without their constants."""
    for value in eqn.params.values():
        if type(value) in _PLAIN:
            continue
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if type(item) in _PLAIN:
                continue
            found = getattr(item, "jaxpr", item)
            if isinstance(found, Jaxpr):
                yield found


def program_of_call(eqn: Any) -> Any:
    """Return the program that an equation of `CALLS` runs, with its constants if it has any; None
    for any other equation."""
    names = CALLS.get(eqn.primitive.name, ())
    return next((eqn.params[name] for name in names if name in eqn.params), None)


def called(eqn: Any) -> tuple[Any, Any] | None:
    """Return the program that an equation runs once on its own operands, and the program's
    constants; None for an equation that does anything else."""
    jaxpr, constants = opened(program_of_call(eqn))
    if isinstance(jaxpr, Jaxpr) and len(jaxpr.invars) == len(eqn.invars):
        return jaxpr, constants
    return None


def walk(jaxpr: Any) -> Iterator[Any]:
    """Yield all equations of a program, each before those of the programs that it runs."""
    for eqn in jaxpr.eqns:
        yield eqn
        for inner in subjaxprs(eqn):
            yield from walk(inner)


class ScanParts(NamedTuple):
    """How the operands of a `scan` follow one another: constants, what is carried, rows."""

    constants: int
    carried: int


def loop_of(eqn: Any) -> ScanParts:
    """Return how many operands of a ``scan`` are constants, and how many are carried: only rows
    have a dimension more outside."""
    inner = eqn.params["jaxpr"].jaxpr
    carried = _of_same_rank(eqn.outvars, inner.outvars)
    return ScanParts(_of_same_rank(eqn.invars, inner.invars) - carried, carried)


def _of_same_rank(outer: Sequence[Any], inner: Sequence[Any]) -> int:
    return sum(a.aval.ndim == b.aval.ndim for a, b in zip(outer, inner, strict=True))


class WhileParts(NamedTuple):
    """A `while` loop, with how many of its first operands are constants of test and body."""

    test: Any
    body: Any
    n_test: int
    n_body: int


def while_parts(eqn: Any) -> WhileParts:
    """Return the parts of a ``while`` equation."""
    p = eqn.params
    return WhileParts(p["cond_jaxpr"], p["body_jaxpr"], p["cond_nconsts"], p["body_nconsts"])


def _value(literal: Any) -> Any:
    return literal.val


def interpret(
    jaxpr: Any,
    constants: Sequence[Any],
    operands: Sequence[Any],
    run: Callable[[Any, list[Any]], Sequence[Any]],
    literal: Callable[[Any], Any] = _value,
) -> list[Any]:
    """Go through a program and return what stands for its outputs.

    ``run(eqn, what stands for its operands)`` gives what stands for its results, for each equation
    in order; ``literal(atom)`` what stands for a number written into the program.
    """
    known: dict[Any, Any] = dict(zip(jaxpr.constvars, constants, strict=True))
    known.update(zip(jaxpr.invars, operands, strict=True))

    def read(v: Any) -> Any:
        return literal(v) if type(v) is Literal else known[v]

    for eqn in jaxpr.eqns:
        results = run(eqn, [read(v) for v in eqn.invars])
        known.update(zip(eqn.outvars, results, strict=True))
    return [read(v) for v in jaxpr.outvars]


def rewrite(jaxpr: Any, change: Callable[[Any], Sequence[Any] | None]) -> Any:
    """Return a program with other equations: ``change(eqn)`` gives those that stand in the place of
    one, or None where it stays as it is. Itself, where all stay. Programs within it are not looked
    at: `with_params` puts others into an equation."""
    eqns: list[Any] = []
    changed = False
    for eqn in jaxpr.eqns:
        others = change(eqn)
        changed = changed or others is not None
        eqns += [eqn] if others is None else others
    return jaxpr.replace(eqns=eqns) if changed else jaxpr


def with_params(eqn: Any, params: Mapping[str, Any]) -> Any:
    """Return an equation with these parameters; itself where none is another."""
    same = all(params[name] is value for name, value in eqn.params.items())
    return eqn if same else eqn.replace(params=params)


def is_read(jaxpr: Any) -> list[bool]:
    """Return for each input of a program whether a result depends on it."""
    needed = {v for v in jaxpr.outvars if not isinstance(v, Literal)}
    for eqn in reversed(jaxpr.eqns):
        if eqn.effects or not needed.isdisjoint(eqn.outvars):
            needed.update(v for v in eqn.invars if not isinstance(v, Literal))
    return [v in needed for v in jaxpr.invars]
