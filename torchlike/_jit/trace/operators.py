"""The operators that rewritten control flow calls (see ``rewriting``).

They are Python where values are known, and the graph where they are not.

Outside a capture, and for tests that are plain Python values, each of these is the statement it
stands for. For a test on a tensor's value (or a number of the program) both branches are traced and
``lax.cond`` picks; loops become ``lax.while_loop``.
"""

from __future__ import annotations

import dis
import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from torchlike._core import errors, modes
from torchlike._core.errors import JitCaptureError
from torchlike._jit.capture.effects import Effects
from torchlike._jit.capture.scalars import device_number, is_device, weak
from torchlike._jit.guards.guard import same
from torchlike._jit.trace import cond, loop_lowering
from torchlike._jit.trace import cond as cond_lowering
from torchlike._jit.trace.statements import VALUE
from torchlike._jit.trace.subgraph import SubgraphLeaf, TracedSubgraph, array_of
from torchlike._runtime import value_check
from torchlike._runtime.trees import flatten, unflatten
from torchlike._runtime.value_check import Site
from torchlike.tensor import Tensor, wrap

#: More turns than this are not unrolled as conditions (and a row source may have no end).
_MAX_TURNS = 256
#: A name that is not bound (yet, or in the other branch).
UNDEFINED = cond.ABSENT


#: What reading a name without value raises.
Unbound = NameError


def unbound(error: NameError) -> BaseException:
    """Return the error to be raised for a NameError: a refusal where only the program knows whether
    the name has a value, because user code may catch it."""
    capture = modes.running_capture()
    name = error.name or str(error).partition("'")[2].partition("'")[0]
    if name not in capture.maybe_unbound:
        return error
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    file = "" if at is None else at.tb_frame.f_code.co_filename.rpartition("/")[2]
    line = "" if at is None else f" ({file}:{at.tb_lineno})"
    return JitCaptureError(
        f"{error}{line}: {capture.name} binds this name in one branch on a tensor's value "
        "(or only within a loop on one), so compiled code has no value for it "
        "afterwards. Bind it before the branch or loop."
    )


def get(read: Callable[[], Any]) -> Any:
    """Return the value of a variable; the mark of no value where it has none."""
    try:
        return read()
    except NameError:
        return UNDEFINED


def is_traced(x: Any) -> bool:
    """Return whether only the program knows the truth of this value."""
    if not modes.is_capturing():
        return False
    if isinstance(x, Tensor):
        if x.numel() != 1:
            what = "no values" if x.numel() == 0 else "more than one value"
            raise RuntimeError(errors.AMBIGUOUS_BOOL.format(what=what))
        return True
    return is_device(x)


# -- expressions -----------------------------------------------------------------------------------


def not_(x: Any) -> Any:
    """Compute ``not x``."""
    if not is_traced(x):
        return not x
    return device_number(bool, jnp.logical_not(cond_lowering.predicate(x)))


def truth(function: Callable[[Any], Any], x: Any) -> Any:
    """Compute ``function(x)`` where only its truth matters; in the graph where ``function`` is
    ``bool``."""
    return _truth(x) if function is bool else function(x)


def _truth(x: Any) -> Any:
    """Convert a value to a bool, of Python or of the program."""
    return device_number(bool, cond_lowering.predicate(x)) if is_traced(x) else bool(x)


def and_(a: Any, b: Callable[[], Any], as_test: bool, where: str) -> Any:
    """Compute ``a and b()``."""
    if not is_traced(a):
        return a and b()
    if as_test:
        return pick(a, lambda: _truth(b()), lambda: False, where)
    return pick(a, b, lambda: a, where)


def or_(a: Any, b: Callable[[], Any], as_test: bool, where: str) -> Any:
    """Compute ``a or b()``."""
    if not is_traced(a):
        return a or b()
    if as_test:
        return pick(a, lambda: True, lambda: _truth(b()), where)
    return pick(a, lambda: a, b, where)


_COMPARE = {
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Is": operator.is_,
    "IsNot": operator.is_not,
    "In": lambda a, b: a in b,
    "NotIn": lambda a, b: a not in b,
}


def compare(
    left: Any, rest: Sequence[tuple[str, Callable[[], Any]]], as_test: bool, where: str
) -> Any:
    """Compute ``left < b < c``: each pair compared, as far as the truth of those before asks for
    it."""
    name, read = rest[0]
    right = read()
    found = _COMPARE[name](left, right)
    if len(rest) == 1:
        return found
    return and_(found, lambda: compare(right, rest[1:], as_test, where), as_test, where)


def item_of(x: Any, index: Any) -> Any:
    """Return ``x[index]``, where an index may be a number of the program."""
    if isinstance(x, Tensor):
        if is_device(index):
            return x[wrap(array_of(index))]
        if type(index) is tuple and any(map(is_device, index)):
            return x[tuple(wrap(array_of(i)) if is_device(i) else i for i in index)]
    return x[index]


# -- choices ---------------------------------------------------------------------------------------


def _watched(fn: Callable[..., Any], effects: Effects, what: str) -> Callable[..., Any]:
    """Decorate a branch or a loop's body for being traced: errors and effects in Python are
    refused."""

    def run(*values: Any) -> Any:
        try:
            with effects.refused(what):
                return fn(*values)
        except JitCaptureError:
            raise
        except Exception as error:
            raise JitCaptureError(
                f"{type(error).__name__} while {what} was traced: {error}\n  What depends on a "
                "tensor's value is part of the compiled graph whether it is taken or not. Raise "
                "errors and take Python's decisions outside the jitted function."
            ) from error

    return run


def _choose(
    test: Any,
    yes: Callable[[], Any],
    no: Callable[[], Any],
    where: str,
    names: Sequence[str],
    filled: Sequence[int] = (),
) -> Any:
    what = f"a branch on a tensor's value ({where})"
    effects = Effects((yes, no), modes.the_capture().observer)

    def mismatch(part: int, i: int, a: Any, b: Any) -> None:
        raise JitCaptureError(
            f"{what} cannot be compiled: {names[part]} is {cond.describe(a)} where the test holds"
            f" and {cond.describe(b)} where it does not.\n  Make them alike (shape, dtype, "
            "Python type): with .to(dtype), expand(), a tensor in place of a number, or "
            "torchlike.where."
        )

    missing: list[list[bool]] = []

    def noted(fn: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            parts = fn()
            missing.append([part is UNDEFINED for part in parts])
            return parts

        return run

    functions = [noted(_watched(fn, effects, what)) for fn in (yes, no)]
    found = cond.choose(test, functions, [what, what], mismatch, filled)
    for name, part, a, b in zip(names, found, *missing, strict=True):
        if part is UNDEFINED and a is not b:
            modes.the_capture().maybe_unbound.add(name.strip("`"))
    return found


def _never_returns(fn: Callable[..., Any]) -> bool:
    """Return whether every way through a branch raises."""
    names = {instruction.opname for instruction in dis.get_instructions(fn)}
    return not any(name.startswith(("RETURN", "YIELD")) for name in names)


def _knows_tests() -> bool:
    """Return whether the test of what may raise is known where the program goes on: it is checked,
    or was in the call that is traced once more."""
    capture = modes.the_capture()
    return capture.checks_values or capture.is_retraced


def _is_check(yes: Callable[..., Any], no: Callable[..., Any]) -> bool:
    """Return whether one branch of an ``if`` raises, and the other need not be chosen."""
    return _knows_tests() and _never_returns(yes) != _never_returns(no)


def _without_raising(
    test: Any, yes: Callable[..., Any], no: Callable[..., Any], where: str
) -> Callable[..., Any]:
    """Have the program check that the branch which raises is not taken; return the other one."""
    is_wanted = _never_returns(no)
    _check(test, is_wanted, where)
    return yes if is_wanted else no


def _check(test: Any, wanted: bool, where: str) -> None:
    """Have the program check that a test on a tensor's value comes out as wanted: where it does
    not, the user's code raises, for which the call is made eagerly."""
    capture = modes.the_capture()
    if not capture.checks_values:
        return
    line = capture.note_check()
    holds = cond.predicate(test)
    words = f"the branch at {where} raises"
    failed = ~holds if wanted else holds
    value_check.bind(failed, [], Site(RuntimeError, words, (), line, is_users=True))


def holds(test: Any, where: str) -> Any:
    """Return the test of an ``assert``, which the program checks where it is a tensor's value."""
    if not is_traced(test) or not _knows_tests():
        return test
    _check(test, True, where)
    return True


def pick(test: Any, yes: Callable[[], Any], no: Callable[[], Any], where: str) -> Any:
    """Compute ``yes() if test else no()``."""
    if not is_traced(test):
        return yes() if test else no()
    return _choose(test, lambda: (yes(),), lambda: (no(),), where, ("the expression",))[0]


def choose(
    test: Any,
    yes: Callable[..., Any],
    no: Callable[..., Any],
    values: tuple[Any, ...],
    names: tuple[str, ...],
    where: str,
) -> Any:
    """Run an ``if`` and return the values of the names that its branches bind. One bound in a
    single branch has none afterwards: reading it is Python's own error."""
    if not is_traced(test):
        return yes(*values) if test else no(*values)
    if _is_check(yes, no):
        return _without_raising(test, yes, no, where)(*values)
    shown = [f"`{name}`" for name in names]
    # A loop's return value: its flag says whether there is one.
    filled = [k for k, name in enumerate(names) if name.startswith(VALUE)]
    return _choose(test, lambda: yes(*values), lambda: no(*values), where, shown, filled)


def choose_return(
    test: Any,
    yes: Callable[..., Any],
    no: Callable[..., Any],
    values: tuple[Any, ...],
    names: tuple[str, ...],
    where: str,
) -> Any:
    """Run an ``if`` both branches of which return, and return what they return."""
    if not is_traced(test):
        return yes(*values) if test else no(*values)
    if _is_check(yes, no):
        return _without_raising(test, yes, no, where)(*values)
    return _choose(
        test, lambda: (yes(*values),), lambda: (no(*values),), where, ("what is returned",)
    )[0]


# -- loops -----------------------------------------------------------------------------------------


class Turns:
    """``range`` of numbers that only the program knows."""

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.start, self.stop, self.step = start, stop, step


def range_(function: Any, *args: Any) -> Any:
    """Compute ``range(*args)``, where an argument may be a tensor or a number of the program."""
    if function is not range or not any(
        is_traced(a) for a in args if not isinstance(a, int) or (is_device(a))
    ):
        return function(*args)
    numbers = []
    for a in args:
        if isinstance(a, Tensor):
            if a.dtype.category > 1:
                raise TypeError(
                    "only integer tensors of a single element can be converted to an index"
                )
            a = device_number(int, weak(int, a._read().reshape(())))
        numbers.append(a)
    start, stop, step = (0, *numbers, 1) if len(numbers) == 1 else (*numbers, 1)[:3]
    if is_device(step):
        modes.the_capture().refuse_value("range() with a step that is a tensor", "a plain step")
    return Turns(start, stop, step)


def for_each(
    rows: Any,
    turn: Callable[..., Any],
    values: tuple[Any, ...],
    names: tuple[str, ...],
    done: str | None,
    where: str,
) -> Any:
    """Run a ``for`` loop. It is unrolled where the rows are known; turns after a break on a
    tensor's value are conditions."""
    if isinstance(rows, Turns):
        return _for_turns(rows, turn, values, names, done, where)
    at = names.index(done) if done is not None else -1
    conditional = 0
    for row in rows:
        if at >= 0 and is_traced(values[at]):
            conditional += 1
            if conditional > _MAX_TURNS:
                raise JitCaptureError(
                    f"a loop that is left on a tensor's value ({where}) has more than {_MAX_TURNS} "
                    "turns, each of which would be a condition in the graph: write it as a while "
                    "loop on a counter, which is one loop there"
                )
            values = choose(
                values[at], lambda *v: v, lambda *v, row=row: turn(row, *v), values, names, where
            )
            continue
        if at >= 0 and values[at]:
            break
        values = turn(row, *values)
    return values


def _for_turns(
    rows: Turns,
    turn: Callable[..., Any],
    values: tuple[Any, ...],
    names: tuple[str, ...],
    done: str | None,
    where: str,
) -> Any:
    at = names.index(done) + 1 if done is not None else -1

    def holds(i: Any, *values: Any) -> Any:
        goes_on = i < rows.stop if rows.step > 0 else i > rows.stop
        return goes_on if at < 0 else and_(not_(values[at - 1]), lambda: goes_on, True, where)

    def step(i: Any, *values: Any) -> Any:
        return (i + rows.step, *turn(i, *values))

    return loop(holds, step, (rows.start, *values), ("the counter", *names), where)[1:]


def loop(
    holds: Callable[..., Any],
    turn: Callable[..., Any],
    values: tuple[Any, ...],
    names: tuple[str, ...],
    where: str,
) -> Any:
    """Run a ``while`` loop: turn by turn in Python as long as its test is known there."""
    while True:
        test = holds(*values)
        if is_traced(test):
            return _captured_loop(holds, turn, values, names, where)
        if not test:
            return values
        values = turn(*values)


def _captured_loop(
    holds: Callable[..., Any],
    turn: Callable[..., Any],
    values: tuple[Any, ...],
    names: tuple[str, ...],
    where: str,
) -> tuple[Any, ...]:
    """Run the loop as ``lax.while_loop`` from here on. Names that have no value yet live within a
    turn."""
    what = f"a loop on a tensor's value ({where})"
    effects = Effects((holds, turn), modes.the_capture().observer)
    holds, turn = _watched(holds, effects, what), _watched(turn, effects, what)
    values = _with_return_value(turn, values, names, what)
    modes.the_capture().maybe_unbound.update(
        name for name, value in zip(names, values, strict=True) if value is UNDEFINED
    )
    flat = [flatten(v) for v in values]
    structures = [s for _, s in flat]
    leaves = [x for part, _ in flat for x in part]
    owner = [f"`{names[k]}`" for k, (part, _) in enumerate(flat) for _ in part]
    carried = [i for i, x in enumerate(leaves) if cond.is_value(x)]

    def whole(state: Sequence[Any]) -> tuple[Any, ...]:
        merged = list(leaves)
        for i, x in zip(carried, state, strict=True):
            merged[i] = x
        it = iter(merged)
        return tuple(
            unflatten(s, [next(it) for _ in part])
            for (part, _), s in zip(flat, structures, strict=True)
        )

    def differs(name: str, before: Any, after: Any) -> None:
        raise JitCaptureError(
            f"{what} cannot be compiled: {name} is {before} before a turn and {after} after it.\n"
            "  Make it the same (shape, dtype, Python type) before the loop, with .to(dtype), "
            "expand(), or a tensor in place of a number."
        )

    def body(*state: Any) -> Any:
        found = []
        for k, (value, structure) in enumerate(zip(turn(*whole(state)), structures, strict=True)):
            if values[k] is UNDEFINED:
                found.append(UNDEFINED)
                continue
            part, after = flatten(value)
            if after != structure:
                differs(f"`{names[k]}`", cond.describe(values[k]), cond.describe(value))
            found += part
        for i, (before, after) in enumerate(zip(leaves, found, strict=True)):
            if i not in carried and not (before is after or same(before, after)):
                differs(owner[i], cond.describe(before), cond.describe(after))
            if i in carried and not cond.is_value(after):
                differs(owner[i], cond.describe(before), cond.describe(after))
        return [found[i] for i in carried], None

    def test(*state: Any) -> Any:
        return [_truth(holds(*whole(state)))], None

    result = loop_lowering.loop(
        test,
        body,
        [leaves[i] for i in carried],
        lambda i, before, after: differs(owner[carried[i]], before, after),
    )
    return whole(result)


def _with_return_value(
    turn: Callable[..., Any], values: tuple[Any, ...], names: tuple[str, ...], what: str
) -> tuple[Any, ...]:
    """Give a value to what a ``return`` in the loop returns, which has none before it: zeros of its
    kind, which nobody reads (its flag says so)."""
    missing = [k for k, n in enumerate(names) if n.startswith(VALUE) and values[k] is UNDEFINED]
    if not missing:
        return values
    seen: dict[int, Any] = {}

    def probe() -> Any:
        found = turn(*values)
        for k in missing:
            leaves, structure = flatten(found[k])
            seen[k] = [SubgraphLeaf(x) if cond.is_value(x) else x for x in leaves], structure
        return [], None

    TracedSubgraph(probe, [], [], what)
    filled = list(values)
    for k, (leaves, structure) in seen.items():
        filled[k] = unflatten(
            structure, [_zero(x) if isinstance(x, SubgraphLeaf) else x for x in leaves]
        )
    return tuple(filled)


def _zero(leaf: SubgraphLeaf) -> Any:
    if leaf.kind is not None:
        return leaf.kind(0)
    return wrap(jnp.zeros(leaf.shape, leaf.dtype.numpy))
