"""Traces modules whose ``assert`` statements and annotated names are to stand in the graph."""

from __future__ import annotations

import ast
import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

import torchlike
from torchlike.fx._symbolic_trace import Tracer
from torchlike.fx.annotate import annotate
from torchlike.fx.graph import Graph
from torchlike.nn.modules.module import Module

__all__ = ["AST_Rewriter", "RewritingTracer"]

_ASSERT, _ANNOTATE = "__fx_assert", "__fx_annotate"


class AST_Rewriter(ast.NodeTransformer):
    """Rewrites a function: ``assert x, m`` is ``torch._assert(x, m)``, and ``y: T = x`` gives the
    node of ``x`` the type T."""

    def rewrite(self, fn: types.FunctionType) -> Callable[..., Any]:
        """Return the function with its body rewritten. Raises OSError where its source cannot be
        had."""
        lines, first = inspect.getsourcelines(fn)
        if lines[0][:1].isspace():  # Not dedented, since a string may go over several lines.
            lines, first = ["if True:\n", *lines], first - 1
        parsed: Any = ast.parse("".join(lines)).body[0]
        definition: Any = parsed.body[0] if isinstance(parsed, ast.If) else parsed
        definition.decorator_list = []
        # The names that are new to it, and those of functions around it, are parameters of one
        # around it here. Its global names stay those of its module, which tracing changes.
        cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
        cells[_ASSERT] = types.CellType(torchlike._assert)
        cells[_ANNOTATE] = types.CellType(annotate)
        around = ast.parse(f"def around({', '.join(cells)}):\n    pass")
        holder: Any = around.body[0]
        holder.body = [ast.increment_lineno(self.visit(definition), first - 1)]
        ast.fix_missing_locations(around)
        outer = _code_in(compile(around, inspect.getsourcefile(fn) or "<rewritten>", "exec"))
        code = _code_in(outer)
        closure = tuple(cells[name] for name in code.co_freevars)
        made = types.FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, closure)
        made.__kwdefaults__ = fn.__kwdefaults__
        functools.update_wrapper(made, fn)
        del made.__wrapped__  # type: ignore[attr-defined] # it does not stand for the original
        return made

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """Rewrite an assertion as a call."""
        args = [node.test, node.msg if node.msg is not None else ast.Constant("")]
        called = ast.Call(ast.Name(_ASSERT, ast.Load()), args, [])
        return ast.copy_location(ast.Expr(called), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Rewrite an annotated assignment as a plain one of an annotated value."""
        if node.value is None:
            return node
        args = [node.value, node.annotation]
        called = ast.Call(ast.Name(_ANNOTATE, ast.Load()), args, [])
        return ast.copy_location(ast.Assign([node.target], called), node)


def _code_in(code: types.CodeType) -> types.CodeType:
    """Return the code of the one function that is defined in a code."""
    return next(c for c in code.co_consts if isinstance(c, types.CodeType))


class RewritingTracer(Tracer):
    """A Tracer that rewrites what it traces first: its ``root`` is a copy of the module, with the
    same parameters."""

    def trace(self, root: Any, concrete_args: Any = None) -> Graph:
        """Record the graph, with assertions and types."""
        return super().trace(_rewrite(root), concrete_args)


def _rewrite(fn: Any) -> Any:
    if not isinstance(fn, Module):
        return AST_Rewriter().rewrite(fn)
    made = Module.__new__(_rewritten_class(fn))
    vars(made).update(vars(fn))
    vars(made)["_modules"] = {
        name: child if child is None else _rewrite(child) for name, child in fn._modules.items()
    }
    return made


def _rewritten_class(module: Module) -> type[Any]:
    kind = type(module)
    if Tracer.is_leaf_module(Tracer(), module, ""):
        return kind
    forward: Any = inspect.unwrap(kind.forward)
    return type(
        kind.__name__,
        (kind,),
        {
            "forward": AST_Rewriter().rewrite(forward),
            "__module__": kind.__module__,
            "__qualname__": kind.__qualname__,
        },
    )
