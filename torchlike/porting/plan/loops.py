"""Finds the training step in a script's loops, and makes a function of it.

The innermost loop whose body has a backward pass and an optimizer's step is rewritten in the
script's syntax tree, so every line keeps its number::

    for x, y in loader:              for x, y in loader:
        loss = ...                       def __step__(x, y):
        loss.backward()                      loss = ...
        optimizer.step()                     loss.backward()
                                             optimizer.step()
                                         __torchlike_plan__(__step__, x, y)
"""

from __future__ import annotations

import ast
import os
import tokenize
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any

_PLANNED = "__torchlike_plan__"
_STEP = "training_step"


def planning_loops(
    told: Callable[..., None],
) -> Callable[[CodeType, ModuleType], CodeType]:
    """Prepares a script for ``script.run``: ``told(step, *batch)`` is called where its training
    loop begins a step. A script without such a loop stays as it is."""

    def prepare(code: CodeType, main: ModuleType) -> CodeType:
        if not os.path.isfile(code.co_filename):
            return code
        with tokenize.open(code.co_filename) as file:
            tree = ast.parse(file.read(), code.co_filename)
        _Rewriter().visit(tree)
        setattr(main, _PLANNED, told)
        # Functions of the script's own modules are not rewritten; they see it as a builtin would.
        return compile(ast.fix_missing_locations(tree), code.co_filename, "exec", dont_inherit=True)

    return prepare


def _calls(node: ast.AST, method: str) -> bool:
    """Whether a method of this name is called, outside of functions defined there."""
    stack: list[ast.AST] = [node]
    while stack:
        x = stack.pop()
        if isinstance(x, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        if isinstance(x, ast.Call) and isinstance(x.func, ast.Attribute) and x.func.attr == method:
            return True
        stack += ast.iter_child_nodes(x)
    return False


def _is_step(loop: ast.For | ast.While) -> bool:
    body = ast.Module(loop.body, [])
    trains = _calls(body, "backward") and _calls(body, "step")
    inner = (x for x in ast.walk(body) if isinstance(x, (ast.For, ast.While)))
    return trains and not any(_calls(ast.Module(x.body, []), "backward") for x in inner)


class _Rewriter(ast.NodeTransformer):
    def __init__(self) -> None:
        self._functions: list[ast.AST] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self._functions.append(node)
        self.generic_visit(node)
        self._functions.pop()
        return node

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.AST]:
        return self._loop(node)

    def visit_While(self, node: ast.While) -> ast.AST | list[ast.AST]:
        return self._loop(node)

    def _loop(self, node: ast.For | ast.While) -> ast.AST | list[ast.AST]:
        if not _is_step(node) or any(isinstance(x, (ast.Yield, ast.Await)) for x in ast.walk(node)):
            self.generic_visit(node)
            return node
        given = _names(node.target) if isinstance(node, ast.For) else []
        changed = _outer_names(node, given, self._functions[-1] if self._functions else None)
        body = [_Leaving().visit(x) for x in node.body]
        if changed:
            kind = ast.Nonlocal if self._functions else ast.Global
            body.insert(0, kind(changed))
        arguments = ast.arguments([], [ast.arg(n) for n in given], None, [], [], None, [])
        step = ast.FunctionDef(_STEP, arguments, body, [], None)
        call = ast.Expr(ast.Call(
            ast.Name(_PLANNED, ast.Load()),
            [ast.Name(_STEP, ast.Load()), *(ast.Name(n, ast.Load()) for n in given)], [],
        ))  # fmt: skip
        node.body = [ast.copy_location(x, node.body[0]) for x in (step, call)]
        if changed and self._functions:  # names of this function, for the one within
            value: list[ast.stmt] = [
                ast.Assign([ast.Name(n, ast.Store())], ast.Constant(None)) for n in changed
            ]
            never = ast.If(ast.Constant(False), value, [])
            return [ast.copy_location(never, node), node]
        return node


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


def _outer_names(loop: ast.AST, given: list[str], function: ast.AST | None) -> list[str]:
    """Names that the body binds and that count beyond it: those it adds to, and those that other
    lines of the function read."""
    body = [x for part in getattr(loop, "body", ()) for x in ast.walk(part)]
    stored = {x.id for x in body if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
    added = {x.target.id for x in body
             if isinstance(x, ast.AugAssign) and isinstance(x.target, ast.Name)}  # fmt: skip
    inside = set(map(id, body))
    around = [] if function is None else [x for x in ast.walk(function) if id(x) not in inside]
    read = {x.id for x in around if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load)}
    parameters = {x.arg for x in around if isinstance(x, ast.arg)}
    if function is None:
        return sorted((stored | added) - set(given))
    return sorted(((stored & (read | parameters)) | added) - set(given))
