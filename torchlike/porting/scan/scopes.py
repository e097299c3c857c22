"""Which names a scope binds, and to what: imports, values, or what cannot be told."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SCOPES = (*FUNCTIONS, *_COMPREHENSIONS, ast.ClassDef)
#: Packages whose names are PyTorch's.
ROOTS = ("torch", "torchlike")
_OF_ROOTS = re.compile(rf"({'|'.join(ROOTS)})(\.\w+)*")


@dataclass(frozen=True)
class Imported:
    """A name that an import gives: the dotted name of what it means."""

    name: str


@dataclass(frozen=True)
class Annotated:
    """A name that is declared."""

    annotation: ast.expr


#: A binding that says nothing of the value: a loop's variable, a parameter, a function.
UNKNOWN = "unknown"


@dataclass(eq=False)
class LexicalScope:
    """One function, class, comprehension or module."""

    node: ast.AST
    parent: LexicalScope | None
    bindings: dict[str, list[Any]] = field(default_factory=dict)
    children: dict[int, LexicalScope] = field(default_factory=dict)
    outer: set[str] = field(default_factory=set)

    def bind(self, name: str, to: Any) -> None:
        scope: LexicalScope = self
        if name in self.outer:  # declared global or nonlocal: as far out as there is one
            while scope.parent is not None:
                scope = scope.parent
        scope.bindings.setdefault(name, []).append(to)

    def find(self, name: str) -> tuple[LexicalScope, list[Any]] | None:
        """Return the scope that binds ``name``, seen from here, and its bindings there."""
        scope: LexicalScope | None = self
        while scope is not None:
            seen = scope is self or not isinstance(scope.node, ast.ClassDef)
            if seen and name in scope.bindings:
                return scope, scope.bindings[name]
            scope = scope.parent
        return None

    @property
    def class_(self) -> LexicalScope | None:
        """The class that a method, or a function within one, is in."""
        scope: LexicalScope | None = self
        while scope is not None and not isinstance(scope.node, ast.ClassDef):
            scope = scope.parent
        return scope


def build(tree: ast.Module) -> LexicalScope:
    """Build the scopes of a module."""
    root = LexicalScope(tree, None)
    for node in tree.body:
        _read(node, root)
    return root


def _read(node: ast.AST, scope: LexicalScope) -> None:
    if isinstance(node, SCOPES):
        _open(node, scope)
        return
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        scope.outer.update(node.names)
    elif isinstance(node, ast.Import):
        for alias in node.names:
            name = alias.name if alias.asname else alias.name.partition(".")[0]
            scope.bind(alias.asname or name, Imported(name))
    elif isinstance(node, ast.ImportFrom):
        prefix = "." * node.level + (node.module or "")
        for alias in node.names:
            scope.bind(alias.asname or alias.name, Imported(f"{prefix}.{alias.name}"))
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            _assign(target, node.value, scope)
    elif isinstance(node, ast.AnnAssign):
        _assign(node.target, Annotated(node.annotation), scope)
    elif isinstance(node, ast.NamedExpr):
        _assign(node.target, node.value, scope)
    elif isinstance(node, (ast.AugAssign, ast.For, ast.AsyncFor, ast.comprehension)):
        _assign(node.target, UNKNOWN, scope)
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        _assign(node.optional_vars, UNKNOWN, scope)
    elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
        scope.bind(node.name, UNKNOWN)
    elif isinstance(node, ast.Delete):
        for target in node.targets:
            _assign(target, UNKNOWN, scope)
    for child in ast.iter_child_nodes(node):
        _read(child, scope)


def _open(node: Any, scope: LexicalScope) -> None:
    if not isinstance(node, (ast.Lambda, *_COMPREHENSIONS)):
        scope.bind(node.name, node if isinstance(node, ast.ClassDef) else UNKNOWN)
    made = scope.children[id(node)] = LexicalScope(node, scope)
    inside: list[ast.AST] = []
    for name, value in ast.iter_fields(node):
        nodes = value if isinstance(value, list) else [value]
        nodes = [n for n in nodes if isinstance(n, ast.AST)]
        if name in ("body", "generators", "elt", "key", "value"):
            inside += nodes
        elif isinstance(value, ast.arguments):
            a = value
            for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs):
                made.bind(arg.arg, Annotated(arg.annotation) if arg.annotation else UNKNOWN)
            for arg in (a.vararg, a.kwarg):
                if arg is not None:
                    made.bind(arg.arg, UNKNOWN)
            for child in nodes:
                _read(child, scope)
        else:
            for child in nodes:
                _read(child, scope)
    for child in inside:
        _read(child, made)


def _assign(target: ast.expr, value: Any, scope: LexicalScope) -> None:
    if isinstance(target, ast.Name):
        scope.bind(target.id, imported_by_call(value) or value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for i, element in enumerate(target.elts):  # torch, has_torch = optional_import("torch")
            _assign(element, (imported_by_call(value) if i == 0 else None) or UNKNOWN, scope)
    elif isinstance(target, ast.Starred):
        _assign(target.value, UNKNOWN, scope)


def imported_by_call(value: Any) -> Imported | None:
    """Return the module that a call imports by name: ``pytest.importorskip("torch")``."""
    if not isinstance(value, ast.Call) or not value.args:
        return None
    name = getattr(value.args[0], "value", None)
    if not isinstance(name, str) or not _OF_ROOTS.fullmatch(name):
        return None
    function = ast.unparse(value.func).rpartition(".")[2]
    return Imported(name) if "import" in function.lower() else None
