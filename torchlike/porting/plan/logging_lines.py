"""Leaves out of a step the lines that read values only to keep or to show them.

norm = clip_grad_norm_(model.parameters(), 1.0)      stays
last = norm.item()                                   left out: nothing of the step reads `last`
losses.append(loss.item())                           left out
scale = norm.item(); loss = loss / scale             stays: the step goes by the value
"""

from __future__ import annotations

import ast
from typing import Any

from torchlike.porting.plan.reach import last_name

#: Functions that tell the user something, or keep it.
TELLS = {"print", "log", "info", "save", "add_scalar", "add_scalars", "master_print", "write"}
_KEEPS = {"append", "update", "set_postfix", "set_description", *TELLS}
#: Methods that read a tensor's value.
_READS = {"item", "tolist"}


def left_out(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a step without those lines; ``pass`` stands in their places."""
    statements = [x for statement in body for x in ast.walk(statement) if isinstance(x, ast.stmt)]
    lines = _Lines()
    while new := {n for x in statements for n in lines.targets(x)} - lines.values:
        lines.values |= new
    while True:  # what something else reads is no value for telling, nor what was made of it
        lines.kept = {n for x in statements if not lines.only_tells(x) for n in _loaded_by(x)}
        if not lines.values & lines.kept:
            return [lines.visit(statement) for statement in body]
        lines.values -= lines.kept


def _loaded_by(statement: ast.stmt) -> set[str]:
    """Return the names that a statement itself reads, but for the statements in it."""
    found: set[str] = set()
    stack: list[ast.AST] = list(ast.iter_child_nodes(statement))
    while stack:
        x = stack.pop()
        if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load):
            found.add(x.id)
        if not isinstance(x, ast.stmt):
            stack += ast.iter_child_nodes(x)
    return found


class _Lines(ast.NodeTransformer):
    """Tells those lines from others, and takes them out.

    Attributes:
      values: names that hold values for telling.
      kept: names that the rest of the step reads.
    """

    def __init__(self) -> None:
        self.values: set[str] = set()
        self.kept: set[str] = set()

    def _reads(self, node: ast.AST) -> bool:
        for x in ast.walk(node):
            if isinstance(x, ast.Call) and isinstance(x.func, ast.Attribute):
                if x.func.attr in _READS:
                    return True
            elif isinstance(x, ast.Name) and x.id in self.values:
                return True
        return False

    def targets(self, x: ast.AST) -> list[str]:
        """Return the names that a statement gives a value read from a tensor, and nothing else."""
        if isinstance(x, ast.Assign):
            targets = x.targets
        elif isinstance(x, ast.AugAssign):
            targets = [x.target]
        else:
            return []
        names = [t.id for t in targets if isinstance(t, ast.Name)]
        return names if len(names) == len(targets) and self._reads(x.value) else []

    def only_tells(self, x: ast.AST) -> bool:
        """Return whether a statement does no more than keep or show a value."""
        if isinstance(x, ast.Expr) and isinstance(x.value, ast.Call):
            name = last_name(x.value.func)
            return name in _KEEPS and (name == "print" or self._reads(x.value))
        return bool(self.targets(x)) and self.kept.isdisjoint(self.targets(x))

    def visit(self, node: Any) -> Any:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            return node
        if isinstance(node, ast.stmt) and self.only_tells(node):
            return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)
