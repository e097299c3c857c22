"""Finds the training step in a script's loops, and makes a function of it.

The innermost loop whose body has a backward pass and an update, in itself or in functions that it
calls (`reach`), is rewritten in the script's syntax tree, so every line keeps its number::

    for x, y in loader:              for x, y in loader:
        loss = ...                       def training_step(x, y):
        loss.backward()                      loss = ...
        optimizer.step()                     loss.backward()
        print(loss.item())                   optimizer.step()
                                         __torchlike_plan__(training_step, x, y)

What follows the last update is no part of a step, nor is an ``if`` that prints, nor what reads
values only to keep or show them (`logging_lines`). What fetches a
batch, ``next(...)`` or a function called ``get_batch`` or the like, runs before it. Where an update
stands under a condition, as with accumulated gradients, ``__torchlike_follow__`` is called instead,
and what counts steps (``step += 1``) runs behind it, so that the loop goes on.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any

from torchlike.porting.plan.logging_lines import TELLS, left_out
from torchlike.porting.plan.reach import STEP, Reach, last_name, parsed

_PLANNED = "__torchlike_plan__"
_FOLLOWED = "__torchlike_follow__"
_FETCHING = "__torchlike_fetching__"
_STEP = "training_step"
#: Functions that give a batch, by their names.
_FETCHES = re.compile(r"(get|next|sample|load|fetch|make|random)_?\w*batch\w*", re.IGNORECASE)


def planning_loops(
    told: Callable[..., None],
    fetching: Callable[[Any], Any] = lambda function: function,
    followed: Callable[..., None] | None = None,
) -> Callable[[CodeType, ModuleType], CodeType]:
    """Prepare a script for ``script.run``, and a module of its own: ``told(step, *batch)`` is
    called where a training loop begins a step, or ``followed`` where not each step updates. Code
    without such a loop stays as it is. Functions that fetch batches are decorated by
    ``fetching``."""

    def prepare(code: CodeType, module: ModuleType) -> CodeType:
        if not os.path.isfile(code.co_filename):
            return code
        setattr(module, _PLANNED, told)
        setattr(module, _FOLLOWED, followed or told)
        setattr(module, _FETCHING, fetching)
        tree = parsed(code.co_filename)
        _Rewriter(Reach(tree, code.co_filename)).visit(tree)
        ast.fix_missing_locations(tree)
        return compile(tree, code.co_filename, "exec", dont_inherit=True)

    return prepare


class _Rewriter(ast.NodeTransformer):
    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._functions: list[ast.AST] = []
        self._module: ast.AST | None = None

    def visit_Module(self, node: ast.Module) -> ast.AST:
        self._module = node
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self._functions.append(node)
        self.generic_visit(node)
        self._functions.pop()
        if _FETCHES.fullmatch(node.name) and not self._reach.of(*node.body):
            # Innermost: around it may stand staticmethod and its like.
            name = ast.Name(_FETCHING, ast.Load())
            node.decorator_list.append(ast.copy_location(name, node))
        return node

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.AST]:
        return self._loop(node)

    def visit_While(self, node: ast.While) -> ast.AST | list[ast.AST]:
        return self._loop(node)

    def _loop(self, node: ast.For | ast.While) -> ast.AST | list[ast.AST]:
        is_step = self._reach.of(*node.body) >= STEP and not self._reach.steps_within(*node.body)
        if not is_step or any(isinstance(x, (ast.Yield, ast.Await)) for x in ast.walk(node)):
            self.generic_visit(node)
            return node
        function = self._functions[-1] if self._functions else None
        before, own = self._parts(node.body)
        whole, own = own, left_out(own)
        target = _names(node.target) if isinstance(node, ast.For) else []
        fed = _fed_names(function or self._module, own)
        given = list(dict.fromkeys([*target, *fed]))
        changed = _outer_names(own, given, function)
        outer = _declared(function, ast.Global)
        body = [_Leaving().visit(x) for x in own]
        for kind, names in (
            (ast.Nonlocal, [n for n in changed if n not in outer] if function else []),
            (ast.Global, [n for n in changed if n in outer or not function]),
        ):
            if names:
                body.insert(0, kind(names))
        arguments = ast.arguments([], [ast.arg(n) for n in given], None, [], [], None, [])
        step = ast.FunctionDef(_STEP, arguments, body, [], None)
        call = ast.Expr(
            ast.Call(
                ast.Name(_PLANNED if self._reach.always_updates(*own) else _FOLLOWED, ast.Load()),
                [ast.Name(_STEP, ast.Load()), *(ast.Name(n, ast.Load()) for n in given)],
                [],
            )
        )
        counting = [x for x in node.body[node.body.index(whole[-1]) + 1 :] if _counts(x)]
        node.body = [*before, *(ast.copy_location(x, own[0]) for x in (step, call)), *counting]
        if function and (inner := [n for n in changed if n not in outer]):
            value: list[ast.stmt] = [  # names of this function, for the one within
                ast.Assign([ast.Name(n, ast.Store())], ast.Constant(None)) for n in inner
            ]
            never = ast.If(ast.Constant(False), value, [])
            return [ast.copy_location(never, node), node]
        return node

    def _parts(self, body: list[ast.stmt]) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """Divide a loop's body into what runs before the step, and the step."""
        does = [self._reach.of(x) for x in body]
        last = max(i for i, done in enumerate(does) if done)
        kept = [x for i, x in enumerate(body[: last + 1]) if does[i] or not _only_tells(x, body)]
        first = next(i for i, x in enumerate(kept) if self._reach.of(x) & STEP)
        fetching = [i for i, x in enumerate(kept[:first]) if _fetches(x)]
        cut = fetching[-1] + 1 if fetching else 0
        return kept[:cut], kept[cut:]


def _only_tells(statement: ast.stmt, body: list[ast.stmt]) -> bool:
    """Return whether a statement is an ``if`` that prints, and binds no name that other statements
    read."""
    if not isinstance(statement, ast.If):
        return False
    calls = (x for x in ast.walk(statement) if isinstance(x, ast.Call))
    if not any(last_name(x.func) in TELLS for x in calls):
        return False
    read = {n for x in body if x is not statement for n in _ids(x, ast.Load)}
    return not read & _ids(statement, ast.Store)


def _counts(statement: ast.stmt) -> bool:
    """Return whether a statement counts: ``step += 1``, ``part = (part + 1) % parts``."""
    if not isinstance(statement, (ast.AugAssign, ast.Assign)):
        return False
    numbers = (ast.BinOp, ast.Name, ast.Constant, ast.operator, ast.expr_context)
    return all(isinstance(x, numbers) for x in ast.walk(statement.value))


def _fetches(node: ast.AST) -> bool:
    """Return whether a batch is fetched somewhere in a statement."""
    for x in ast.walk(node):
        if isinstance(x, ast.Call):
            name = last_name(x.func)
            if name == "next" or _FETCHES.fullmatch(name):
                return True
    return False


def _fed_names(scope: ast.AST | None, body: list[ast.stmt]) -> list[str]:
    """Return the names that hold what was fetched, of those that a step reads."""
    read = {n for x in body for n in _ids(x, ast.Load)}
    found = [
        name
        for x in ast.walk(scope or ast.Module([], []))
        if isinstance(x, ast.Assign) and isinstance(x.value, ast.Call) and _fetches(x.value)
        for target in x.targets
        for name in sorted(_ids(target, ast.Store))
    ]
    return [name for name in dict.fromkeys(found) if name in read]


class _Leaving(ast.NodeTransformer):
    """``continue`` and ``break`` of the loop itself end the step."""

    def visit_Continue(self, node: ast.Continue) -> ast.AST:
        return ast.copy_location(ast.Return(None), node)

    def visit_Break(self, node: ast.Break) -> ast.AST:
        return ast.copy_location(ast.Return(None), node)

    def visit_For(self, node: Any) -> ast.AST:
        return node

    visit_While = visit_FunctionDef = visit_For


def _names(target: ast.expr) -> list[str]:
    return [x.id for x in ast.walk(target) if isinstance(x, ast.Name)]


def _ids(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    return {x.id for x in ast.walk(node) if isinstance(x, ast.Name) and isinstance(x.ctx, context)}


def _declared(function: ast.AST | None, kind: type[ast.Global | ast.Nonlocal]) -> set[str]:
    found = ast.walk(function) if function else ()
    return {name for x in found if isinstance(x, kind) for name in x.names}


def _outer_names(body: list[ast.stmt], given: list[str], function: ast.AST | None) -> list[str]:
    """Return the names that a step binds and that count beyond it: those it adds to, and those that
    other lines of the function read or bind."""
    nodes = [x for part in body for x in ast.walk(part)]
    stored = {x.id for x in nodes if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
    added = {
        x.target.id
        for x in nodes
        if isinstance(x, ast.AugAssign) and isinstance(x.target, ast.Name)
    }
    if function is None:
        return sorted((stored | added) - set(given))
    inside = set(map(id, nodes))
    around = [x for x in ast.walk(function) if id(x) not in inside]
    known = {x.id for x in around if isinstance(x, ast.Name)}
    known |= {x.arg for x in around if isinstance(x, ast.arg)}
    known |= _declared(function, ast.Global) | _declared(function, ast.Nonlocal)
    return sorted(((stored & known) | added) - set(given))
