"""Splits a training step where Python needs a value: a program, and a tail that runs in Python.

``scheduler.step()``, ``meter.update(loss.item())`` and their like stand at the end of a step: the
program needs nothing of what they read. So a function is split before the statement that a capture
refused. The *head* is what stands before it, and gives out the variables that are read from there
on; the *tail* is called with these. Together they do what the function did, in the same order.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from torchlike._core.errors import JitCaptureError
from torchlike._jit.capture.refusals import line_of
from torchlike._jit.trace import statements
from torchlike._jit.trace.rewriting import compiled, source_of
from torchlike._jit.trace.statements import Unconvertible, bound_names, kept_by_functions

#: What a tail does not mention: it would go on with the graph of what the program computed.
_OF_GRAPHS = frozenset(
    ("backward", "grad", "grad_fn", "retain_grad", "register_hook", "requires_grad_")
)


class HeadAndTail(NamedTuple):
    """The two parts of a function, and the line where the second begins."""

    head: Any
    #: Called with what the head returned.
    tail: Any
    line: str


def split(fn: Any, error: JitCaptureError, mark: str) -> HeadAndTail | None:
    """Split a function before the statement of its body in which a capture was refused; None where
    it has no such statement, or where the parts would not be the whole. The head returns ``mark``
    behind the variables."""
    function = getattr(fn, "__func__", fn)
    if not isinstance(function, types.FunctionType):
        return None
    code = function.__code__
    line = next((n for c, n in vars(error).get("lines", {}).items() if _is_of(c, code)), None)
    if line is None:
        return None
    try:
        node, class_name = source_of(code)
        if isinstance(node, ast.Lambda):
            return None
        body = node.body
        at = next(i for i, s in enumerate(body) if s.lineno <= line <= (s.end_lineno or line))
        live = _handed_on(node, body[:at], body[at:])
        if live is None:
            return None
        names_given: list[ast.expr] = [ast.Name(n, ast.Load()) for n in live]
        given = ast.Tuple([*names_given, ast.Constant(mark)], ast.Load())
        end = ast.fix_missing_locations(ast.copy_location(ast.Return(given), body[at - 1]))
        used = {n.id for s in body[:at] for n in ast.walk(s) if isinstance(n, ast.Name)}
        # A variable that only the tail uses is none that the head is guarded by.
        head_body = [s for s in body[:at] if not _declares_others(s, used)]
        first = compiled(code, node, class_name, node.args, [*head_body, end])
        declared = [s for s in body[:at] if isinstance(s, (ast.Global, ast.Nonlocal))]
        names = ast.arguments(
            [], [ast.arg(n) for n in live], kwonlyargs=[], kw_defaults=[], defaults=[]
        )
        second = compiled(code, node, class_name, names, [*declared, *body[at:]])
    except (Unconvertible, StopIteration):
        return None
    head = _function(function, first, function.__defaults__, function.__kwdefaults__)
    if head is not function and isinstance(fn, types.MethodType):
        head = types.MethodType(head, fn.__self__)
    return HeadAndTail(
        head, _function(function, second, None, None), line_of(code, body[at].lineno)
    )


def _handed_on(node: Any, head: Sequence[ast.stmt], tail: Sequence[ast.stmt]) -> list[str] | None:
    """Return the variables that the tail needs of the head; None where the two cannot be parts."""
    named = {getattr(n, "attr", getattr(n, "id", "")) for s in tail for n in ast.walk(s)}
    returns = any(isinstance(n, (ast.Return, ast.Yield)) for s in head for n in ast.walk(s))
    if not any(isinstance(n, ast.Call) for s in head for n in ast.walk(s)) or returns:
        return None
    read = statements.read_by([*head, *tail], tail)
    if read is statements.ALL or named & _OF_GRAPHS or "super" in named:
        return None
    if kept_by_functions(head, bound_names(tail)):
        return None  # a function that is made in the head sees what the tail binds
    outer = {
        name
        for s in (*head, *tail)
        for n in ast.walk(s)
        if isinstance(n, (ast.Global, ast.Nonlocal))
        for name in n.names
    }
    a = node.args
    arguments = [x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if x]
    bound = dict.fromkeys([*arguments, *bound_names(head)])
    live = [name for name in bound if name in read and name not in outer]
    sure = {*arguments, *_surely_bound(head)}
    gone = any(isinstance(n, ast.Delete) for s in head for n in ast.walk(s))
    return None if gone or not sure.issuperset(live) else live


def _declares_others(s: ast.stmt, used: set[str]) -> bool:
    """Return whether a statement declares variables of outer scopes that are not used."""
    return isinstance(s, (ast.Global, ast.Nonlocal)) and used.isdisjoint(s.names)


def _surely_bound(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names that statements bind, whatever way they go."""
    found: set[str] = set()
    for s in body:
        if isinstance(s, ast.If):
            found |= _surely_bound(s.body) & _surely_bound(s.orelse)
        elif isinstance(s, (ast.With, ast.AsyncWith)):
            found |= _surely_bound(s.body) | bound_names(s.items).keys()
        elif not isinstance(s, (ast.For, ast.AsyncFor, ast.While, ast.Try, ast.TryStar, ast.Match)):
            perhaps = {n.target.id for n in ast.walk(s) if isinstance(n, ast.NamedExpr)}
            found |= bound_names([s]).keys() - perhaps
    return found


def _is_of(code: types.CodeType, original: types.CodeType) -> bool:
    """Return whether code is a function's own, or its rewritten form."""
    return (code.co_filename, code.co_firstlineno, code.co_qualname) == (
        original.co_filename,
        original.co_firstlineno,
        original.co_qualname,
    )


def _function(like: types.FunctionType, code: types.CodeType, defaults: Any, more: Any) -> Any:
    """Make a function of code that stands in the place of another's."""
    cells = dict(zip(like.__code__.co_freevars, like.__closure__ or (), strict=True))
    closure = tuple(cells[name] for name in code.co_freevars)
    made = types.FunctionType(code, like.__globals__, like.__name__, defaults, closure)
    made.__kwdefaults__, made.__module__, made.__qualname__ = (
        more,
        like.__module__,
        like.__qualname__,
    )
    return made
