"""Reads one file's syntax tree: every use of a name of PyTorch's, and every risk."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from torchlike.porting.scan import package, risks
from torchlike.porting.scan.findings import Finding
from torchlike.porting.scan.inference import TENSOR, Inference, Instance, Name
from torchlike.porting.scan.neighbours import Neighbours
from torchlike.porting.scan.scopes import FUNCTIONS, Imported, LexicalScope, build

_UNTRIED_TEXT = """
pytorch_lightning torchmetrics torchtext torch_geometric diffusers gpytorch pyro kornia fairseq
detectron2 deepspeed apex xformers flash_attn bitsandbytes triton torch_scatter torch_sparse
torchrl tensordict torchdata torchao botorch monai datasets einops
"""
#: Libraries built on PyTorch: known to run through the shim, or not known.
OTHERS = {
    **dict.fromkeys(("torchvision", "torchaudio"), "runs on the shim, with gaps: docs/shim.md"),
    **dict.fromkeys(
        ("timm", "lightning", "accelerate", "peft", "transformers"),
        "installs on the shim: docs/shim.md",
    ),
    **dict.fromkeys(_UNTRIED_TEXT.split(), "not known: try it on the shim"),
}
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPILERS = ("torch.compile", "torch.jit.script", "torch.jit.jit")
_EXCUSED_TEXT = """
ImportError ModuleNotFoundError AttributeError NotImplementedError Exception
"""
_EXCUSED = tuple(_EXCUSED_TEXT.split())


def read(
    tree: ast.Module, path: Path, neighbours: Neighbours, own: Container[str] = ()
) -> list[Finding]:
    """Read the findings of a program, by line. ``neighbours``: the program's other files; ``own``:
    the packages that it is."""
    root = build(tree)
    neighbours.resolve(root, path)
    reader = _SourceReader(Inference(root), own)
    reader.defined = set(_defined(tree, reader.infer))
    for node in tree.body:
        reader.visit(node, reader.infer.root)
    unique = dict.fromkeys(reader.findings)
    return sorted(unique, key=lambda f: f.line)


@dataclass
class _SourceReader:
    infer: Inference
    own: Container[str] = ()
    #: Names of PyTorch's that the program itself puts there.
    defined: set[str] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)
    loops: int = 0
    guards: int = 0
    compiled: int = 0
    #: The outermost function that is read, a method with its class.
    within: str = ""

    def visit(self, node: ast.AST, scope: LexicalScope) -> None:
        inner = scope.children.get(id(node))
        if isinstance(node, ast.Try):
            self._try(node, scope)
            return
        if isinstance(node, (ast.If, ast.IfExp)) and _asks_whether(node.test):
            self._guarded(node, scope)
            return
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self._import(node)
        elif isinstance(node, ast.Attribute):
            if self._attribute(node, scope):
                return
        elif isinstance(node, ast.Name):
            self._name(node, scope)
        elif isinstance(node, ast.Call):
            self._call(node, scope)
        elif isinstance(node, ast.Assign) and self.loops:
            self._risky(node, risks.of_assignment(node, scope, self.infer))
        elif isinstance(node, (ast.If, ast.While)) and self.compiled:
            self._risky(node, risks.of_test(node.test, scope, self.infer))
        self._children(node, scope, inner)

    def _children(self, node: ast.AST, scope: LexicalScope, inner: LexicalScope | None) -> None:
        loop = isinstance(node, _LOOPS)
        function = isinstance(node, FUNCTIONS)
        outside = self.loops, self.compiled, self.within
        for name, value in ast.iter_fields(node):
            body = name in ("body", "generators", "elt", "key", "value")
            if function and body:  # a definition in a loop does not run there
                self.loops = 0
                self.compiled += self._is_compiled(node, scope)
                self.within = self.within or _name_of(node, scope)
            self.loops += loop and body
            place = inner if inner is not None and body else scope
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    self.visit(child, place)
            self.loops, self.compiled, self.within = outside

    def _try(self, node: ast.Try, scope: LexicalScope) -> None:
        excuses = any(
            h.type is None or any(w in ast.unparse(h.type) for w in _EXCUSED) for h in node.handlers
        )
        self.guards += excuses
        for child in node.body:
            self.visit(child, scope)
        self.guards -= excuses
        for child in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(child, scope)

    def _guarded(self, node: ast.If | ast.IfExp, scope: LexicalScope) -> None:
        self.guards += 1
        for child in ast.iter_child_nodes(node):
            self.visit(child, scope)
        self.guards -= 1

    def _is_compiled(self, node: ast.AST, scope: LexicalScope) -> bool:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        for decorator in node.decorator_list:
            made = decorator.func if isinstance(decorator, ast.Call) else decorator
            found = self.infer.of(made, scope)
            if isinstance(found, Name) and found.name in _COMPILERS:
                return True
        class_ = scope.node
        return (
            node.name == "forward"
            and isinstance(class_, ast.ClassDef)
            and scope.parent is not None
            and self.infer.is_module(class_, scope.parent)
        )

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif node.level or node.module is None:
            return
        else:
            names = [
                node.module if a.name == "*" else f"{node.module}.{a.name}" for a in node.names
            ]
        for name in names:
            root = name.partition(".")[0]
            if root in ("torch", "torchlike"):
                self._use("torch" + name[len(root) :], node)
            elif root in OTHERS and root not in self.own:
                self._add(node, "other", root, OTHERS[root])

    def _attribute(self, node: ast.Attribute, scope: LexicalScope) -> bool:
        """Tell of a chain of attributes as a whole, and return whether that was all of the node."""
        found = self.infer.of(node, scope)
        if isinstance(found, Name):
            self._use(found.name, node)
            return True
        value = self.infer.of(node.value, scope)
        if isinstance(value, Instance) and isinstance(node.ctx, ast.Load) and value.of == TENSOR:
            name = f"{TENSOR}.{node.attr}"
            fact = package.look_up(name)
            # What a tensor has not, and no refusal speaks of, the program put there itself.
            if fact is not None and (fact.kind != "missing" or fact.found is not None):
                self._use(name, node)
        return False

    def _name(self, node: ast.Name, scope: LexicalScope) -> None:
        place = scope.find(node.id)
        if place is None or not isinstance(node.ctx, ast.Load):
            return
        found = self.infer.of(node, scope)
        bound = any(isinstance(b, Imported) and b.name.count(".") for b in place[1])
        if isinstance(found, Name) and bound:
            self._use(found.name, node)

    def _call(self, node: ast.Call, scope: LexicalScope) -> None:
        self._risky(node, self._risks_of_call(node, scope))
        named = self.infer.named_attribute(node, scope)
        if named is not None:
            with_default = len(node.args) > 2
            self.guards += with_default
            self._use(named.name, node)
            self.guards -= with_default
        called = self.infer.of(node.func, scope)
        name = called.name if isinstance(called, Name) else None
        function = node.func
        of = function.value if isinstance(function, ast.Attribute) else None
        if name is None and of is not None and self.infer.is_tensor(of, scope):
            name = f"{TENSOR}.{ast.unparse(function).rpartition('.')[2]}"
        taken = package.keywords(name) if name is not None else None
        if taken is None:
            return
        for keyword in node.keywords:
            if keyword.arg is not None and keyword.arg not in taken:
                says = f"the argument {keyword.arg} is not taken here: leave it out or see help()"
                self._add(keyword.value, "missing", f"{name}({keyword.arg}=)", says)

    def _risks_of_call(self, node: ast.Call, scope: LexicalScope) -> Iterator[tuple[str, str]]:
        return risks.of_call(node, scope, self.infer, bool(self.loops), bool(self.compiled))

    def _risky(self, node: ast.AST, found: object) -> None:
        for what, words in found:  # type: ignore[attr-defined]
            says, link = risks.SAYS[what]
            self._add(node, "risky", f"{words} {what}", says, link)

    def _use(self, name: str, node: ast.AST) -> None:
        parts = name.split(".")
        if any(".".join(parts[:i]) in self.defined for i in range(2, len(parts) + 1)):
            return
        fact = package.look_up(name)
        if fact is None:
            return
        link = f"help({name})" if fact.kind == "differs" else ""
        self._add(node, fact.kind, name, fact.says, link)

    def _add(self, node: ast.AST, kind: str, name: str, says: str, link: str = "") -> None:
        elsewhere = name.split(".")[1:2]
        guarded = kind == "missing" and (
            self.guards > 0 or not package.DEVICES.isdisjoint(elsewhere)
        )
        line = getattr(node, "lineno", 1)
        self.findings.append(Finding(kind, line, name, says, link, guarded, within=self.within))


def _name_of(function: ast.AST, scope: LexicalScope) -> str:
    name = getattr(function, "name", "")
    return f"{scope.node.name}.{name}" if name and isinstance(scope.node, ast.ClassDef) else name


def _defined(tree: ast.Module, infer: Inference) -> Iterator[str]:
    """Yield the names of PyTorch's that a program assigns: ``torch.mine = …``, and by
    ``setattr(torch.Tensor, "mine", …)``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            of, name = node.value, node.attr
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "setattr"
            and len(node.args) == 3
            and isinstance(node.args[1], ast.Constant)
        ):
            of, name = node.args[0], str(node.args[1].value)
        else:
            continue
        found = infer.of(of, infer.root)
        if isinstance(found, Name):
            yield f"{found.name}.{name}"


#: Names of values that say whether a library is there.
_AVAILABLE = re.compile(r"\b_?HAS_\w+|\w_AVAILABLE\b|\bis_\w+_available\(", re.IGNORECASE)


def _asks_whether(test: ast.expr) -> bool:
    """Return whether a test asks for a name, a library or a version."""
    text = ast.unparse(test)
    return "hasattr(" in text or "version" in text.lower() or bool(_AVAILABLE.search(text))
