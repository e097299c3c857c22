"""Which expressions are certainly names, tensors or modules of PyTorch's.

A name has a type where everything that is ever assigned to it in its scope has that type: no order
of statements is followed. What is not certain has none.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from torchlike.porting.scan import package, stubs
from torchlike.porting.scan.scopes import (
    ROOTS,
    Annotated,
    Imported,
    LexicalScope,
    imported_by_call,
)

TENSOR = "torch.Tensor"
#: Methods whose result is the module that they are called on.
_SAME_MODULE = frozenset(
    ("to", "cuda", "cpu", "eval", "train", "half", "float", "double", "requires_grad_", "apply")
)
#: Classes whose attributes are set from outside.
_TENSOR_CLASSES = frozenset((TENSOR, "torch.nn.Parameter", "torch.nn.parameter.Parameter"))
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.MatMult, ast.Pow, ast.FloorDiv, ast.Mod)


@dataclass(frozen=True)
class Name:
    """The very object of a dotted name."""

    name: str


@dataclass(frozen=True)
class Instance:
    """An instance of the class of a dotted name."""

    of: str


@dataclass
class Inference:
    """Answers for the expressions of one file."""

    root: LexicalScope
    _busy: set[tuple[int, str]] = field(default_factory=set)
    _known: dict[tuple[int, str], Name | Instance | None] = field(default_factory=dict)
    _attributes: dict[int, dict[str, list[ast.expr | None]]] = field(default_factory=dict)

    def of(self, node: ast.expr | None, scope: LexicalScope) -> Name | Instance | None:
        """Infer what ``node`` is, seen from ``scope``."""
        match node:
            case ast.Name():
                return self._of_name(node.id, scope)
            case ast.Attribute():
                return self._of_attribute(node, scope)
            case ast.Call():
                return self._of_call(node, scope)
            case ast.BinOp() if isinstance(node.op, _OPERATORS):
                for side in (node.left, node.right):
                    if self.is_tensor(side, scope):
                        other = node.right if side is node.left else node.left
                        plain = isinstance(other, ast.Constant) or self.is_tensor(other, scope)
                        return Instance(TENSOR) if plain else None
            case ast.UnaryOp() if not isinstance(node.op, ast.Not):
                return Instance(TENSOR) if self.is_tensor(node.operand, scope) else None
            case ast.Compare() if len(node.ops) == 1 and not isinstance(
                node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)
            ):
                return Instance(TENSOR) if self.is_tensor(node.left, scope) else None
            case ast.Subscript():
                return Instance(TENSOR) if self.is_tensor(node.value, scope) else None
            case _:
                pass
        return None

    def is_tensor(self, node: ast.expr | None, scope: LexicalScope) -> bool:
        """Return whether it is certainly a tensor."""
        found = self.of(node, scope)
        return isinstance(found, Instance) and found.of in _TENSOR_CLASSES

    def bases(self, class_: ast.ClassDef, scope: LexicalScope) -> list[str]:
        """Return the dotted names that a class comes from, through classes of the same file."""
        made: list[str] = []
        for base in class_.bases:
            found = self.of(base, scope)
            if isinstance(found, Name):
                made.append(found.name)
            elif isinstance(base, ast.Name) and (place := scope.find(base.id)) is not None:
                for binding in place[1]:
                    if isinstance(binding, ast.ClassDef) and binding is not class_:
                        made += self.bases(binding, place[0])
        return made

    def is_module(self, class_: ast.ClassDef, scope: LexicalScope) -> bool:
        """Return whether a class comes from ``nn.Module``."""
        return any(name.endswith("nn.Module") for name in self.bases(class_, scope))

    def named_attribute(self, node: ast.Call, scope: LexicalScope) -> Name | None:
        """Return the name that ``getattr(torch.a, "b")`` stands for."""
        if not isinstance(node.func, ast.Name) or node.func.id != "getattr" or len(node.args) < 2:
            return None
        name = getattr(node.args[1], "value", None)
        of = self.of(node.args[0], scope)
        if not isinstance(name, str) or not name.isidentifier() or not isinstance(of, Name):
            return None
        return Name(f"{of.name}.{name}")

    def _of_name(self, name: str, scope: LexicalScope) -> Name | Instance | None:
        place = scope.find(name)
        if (
            place is None
        ):  # torch: from an import * of another library's, or a cell that is not here
            return Name(name) if name == "torch" else None
        key = (id(place[0]), name)
        if key in self._known:
            return self._known[key]
        if key in self._busy:
            return None
        self._busy.add(key)
        try:
            found = self._joined(place[1], place[0])
        finally:
            self._busy.discard(key)
        if not self._busy:
            self._known[key] = found
        return found

    def _joined(self, bindings: list[Any], scope: LexicalScope) -> Name | Instance | None:
        kinds = set()
        for binding in bindings:
            if isinstance(binding, ast.Constant) and binding.value is None:
                continue  # not there yet, or an import that failed
            kinds.add(self._of_binding(binding, scope))
        if len(kinds) > 1:  # what stands for PyTorch where that is not installed
            kinds = {kind for kind in kinds if _is_package(kind)}
        return kinds.pop() if len(kinds) == 1 else None

    def _of_binding(self, binding: Any, scope: LexicalScope) -> Name | Instance | None:
        if isinstance(binding, Imported):
            root, dot, rest = binding.name.partition(".")
            return Name(f"torch{dot}{rest}") if root in ROOTS else None
        if isinstance(binding, Annotated):
            return self._of_annotation(binding.annotation, scope)
        if isinstance(binding, ast.expr):
            return self.of(binding, scope)
        return None

    def _of_annotation(self, node: ast.expr, scope: LexicalScope) -> Instance | None:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value, mode="eval").body
            except (SyntaxError, ValueError):
                return None
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("Optional"):
            return self._of_annotation(node.slice, scope)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            sides = [s for s in (node.left, node.right) if not _is_none(s)]
            return self._of_annotation(sides[0], scope) if len(sides) == 1 else None
        found = self.of(node, scope)
        if isinstance(found, Name) and found.name in _TENSOR_CLASSES:
            return Instance(TENSOR)
        return None

    def _of_attribute(self, node: ast.Attribute, scope: LexicalScope) -> Name | Instance | None:
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            return self._of_self(node.attr, scope)
        value = self.of(node.value, scope)
        if isinstance(value, Name):
            return Name(f"{value.name}.{node.attr}")
        if not isinstance(value, Instance) or value.of not in _TENSOR_CLASSES:
            return None
        is_tensor = node.attr in ("T", "mT", "H", "mH", "data", "grad", "real", "imag")
        return Instance(TENSOR) if is_tensor else None

    def _of_self(self, attribute: str, scope: LexicalScope) -> Name | Instance | None:
        class_ = scope.class_
        if class_ is None:
            return None
        if id(class_) not in self._attributes:
            self._attributes[id(class_)] = _assigned_to_self(class_.node)
        values = self._attributes[id(class_)].get(attribute)
        key = (id(class_), f"self.{attribute}")
        if not values or attribute in class_.bindings or key in self._busy:
            return None
        self._busy.add(key)
        try:
            # Names in __init__ are looked up from the class: its parameters are in no outer scope.
            kinds = {self.of(v, class_) if _is_closed(v) else None for v in values}
        finally:
            self._busy.discard(key)
        found = kinds.pop() if len(kinds) == 1 else None
        return found if isinstance(found, Instance) else None

    def _of_call(self, node: ast.Call, scope: LexicalScope) -> Name | Instance | None:
        named = self.named_attribute(node, scope) or self._of_binding(imported_by_call(node), scope)
        if isinstance(named, Name):
            return named
        if isinstance(node.func, ast.Attribute):
            on = self.of(node.func.value, scope)
            if isinstance(on, Instance):
                if on.of in _TENSOR_CLASSES:
                    of = stubs.returns().get(f"{TENSOR}.{node.func.attr}")
                    return Instance(TENSOR) if of == TENSOR else None
                return on if node.func.attr in _SAME_MODULE else None
        called = self.of(node.func, scope)
        if not isinstance(called, Name):
            return None
        if stubs.returns().get(called.name) == TENSOR:
            return Instance(TENSOR)
        fact = package.look_up(called.name)
        if fact is not None and isinstance(fact.found, type):
            return Instance(called.name)
        return None


def _is_package(kind: Name | Instance | None) -> bool:
    fact = package.look_up(kind.name) if isinstance(kind, Name) else None
    return fact is not None and isinstance(fact.found, ModuleType)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _assigned_to_self(class_: ast.AST) -> dict[str, list[ast.expr | None]]:
    found: dict[str, list[ast.expr | None]] = {}
    for node in ast.walk(class_):
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, (ast.AnnAssign, ast.AugAssign)):
            targets = [node.target]
        for whole in targets:
            for target in ast.walk(whole):
                if isinstance(target, ast.Attribute) and isinstance(target.ctx, ast.Store):
                    plain = target is whole and isinstance(node, ast.Assign)
                    value = node.value if plain and isinstance(node, ast.Assign) else None
                    found.setdefault(target.attr, []).append(value)
    return found


def _is_closed(node: ast.expr | None) -> bool:
    """Return whether it is a call whose function is a chain of names, so that arguments do not
    decide."""
    if not isinstance(node, ast.Call):
        return False
    function: ast.expr = node.func
    while isinstance(function, ast.Attribute):
        function = function.value
    return isinstance(function, ast.Name) and function.id != "self"
