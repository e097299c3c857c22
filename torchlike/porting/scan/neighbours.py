"""Names of PyTorch's that a file gets from other files of its program: ``from .imports import *``."""

from __future__ import annotations

import ast
import functools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from torchlike.porting.scan import sources
from torchlike.porting.scan.scopes import ROOTS, Imported, Scope

#: Folders above a file in which the first package of an absolute import is looked for.
_HIGHEST = 12


@dataclass
class _Names:
    """What names of a module mean of PyTorch's, and which of them ``import *`` gives."""

    meaning: dict[str, str] = field(default_factory=dict)
    public: frozenset[str] | None = None

    def by_star(self) -> dict[str, str]:
        if self.public is None:
            return {n: of for n, of in self.meaning.items() if not n.startswith("_")}
        return {n: of for n, of in self.meaning.items() if n in self.public}


@dataclass
class Neighbours:
    """The other files of a program, each read once."""

    _read: dict[Path, _Names] = field(default_factory=dict)
    #: Files that are being read; whether one of them was asked for meanwhile: what is read then
    #: lacks what that one gives.
    _reading: dict[Path, None] = field(default_factory=dict)
    _is_cut: bool = False

    def resolve(self, root: Scope, path: Path) -> None:
        """Let names that a file imports from its program's other files mean what they mean there.

        Only names that mean something of PyTorch's are resolved; others stay what they are.
        """
        folder = path.resolve().parent
        for star in root.bindings.pop("*", []):
            for name, of in self._of(folder, star.name.removesuffix(".*")).by_star().items():
                if name not in root.bindings:
                    root.bind(name, Imported(of))
        self._resolve_below(root, folder)

    def _resolve_below(self, scope: Scope, folder: Path) -> None:
        for bindings in scope.bindings.values():
            for i, binding in enumerate(bindings):
                if isinstance(binding, Imported):
                    bindings[i] = self._resolved(binding, folder)
        for child in scope.children.values():
            self._resolve_below(child, folder)

    def _resolved(self, binding: Imported, folder: Path) -> Imported:
        module, _, name = binding.name.rpartition(".")
        if not module or module.partition(".")[0] in ROOTS:
            return binding
        of = self._of(folder, module).meaning.get(name)
        return binding if of is None else Imported(of)

    def _of(self, folder: Path, module: str) -> _Names:
        """A module of the program, seen from a file in ``folder``."""
        file = _file_of(folder, module)
        if file is None:
            return _Names()
        if file in self._read:
            return self._read[file]
        if file in self._reading:
            self._is_cut = True
            return _Names()
        self._reading[file] = None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the scanned program's syntax
                found = self._imported(ast.parse(sources.text(file)), file.parent)
        except (sources.UnreadableError, SyntaxError, ValueError, RecursionError, MemoryError):
            found = _Names()  # why is told where the file itself is scanned
        del self._reading[file]
        if not self._reading:
            self._is_cut = False
        if not self._is_cut:
            self._read[file] = found
        return found

    def _imported(self, tree: ast.Module, folder: Path) -> _Names:
        made = _Names()
        bound: set[str] = set()
        for node in _statements(tree.body):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    name = alias.name if alias.asname else alias.name.partition(".")[0]
                    if name.partition(".")[0] in ROOTS:
                        made.meaning[alias.asname or name] = name
            elif isinstance(node, ast.ImportFrom):
                made.meaning |= self._from(node, folder)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                bound.add(node.name)
            elif isinstance(node, ast.Assign):
                targets = {t.id for t in node.targets if isinstance(t, ast.Name)}
                bound |= targets
                if "__all__" in targets:
                    made.public = _words(node.value)
        made.meaning = {name: of for name, of in made.meaning.items() if name not in bound}
        return made

    def _from(self, node: ast.ImportFrom, folder: Path) -> dict[str, str]:
        module = "." * node.level + (node.module or "")
        if module.partition(".")[0] in ROOTS:
            return {a.asname or a.name: f"{module}.{a.name}" for a in node.names if a.name != "*"}
        theirs = self._of(folder, module)
        found: dict[str, str] = {}
        for alias in node.names:
            if alias.name == "*":
                found |= theirs.by_star()
            elif alias.name in theirs.meaning:
                found[alias.asname or alias.name] = theirs.meaning[alias.name]
        return found


@functools.lru_cache(maxsize=8192)
def _file_of(folder: Path, module: str) -> Path | None:
    """The file of a module; None where it is none of the program's."""
    name = module.lstrip(".")
    level = len(module) - len(name)
    parts = [part for part in name.split(".") if part]
    places = [folder, *folder.parents]
    places = places[level - 1 : level] if level else places[:_HIGHEST]
    for place in places:
        file = place.joinpath(*parts)
        candidates = [file / "__init__.py"]
        if parts:
            candidates.append(file.with_name(f"{parts[-1]}.py"))
        for candidate in candidates:
            if candidate.is_file():
                return candidate
        if not level and (place / parts[0]).is_dir():
            return None
    return None


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module that run as it is imported, in order."""
    for node in body:
        if isinstance(node, (ast.If, ast.Try, ast.With)):
            yield from _statements(node.body)
            for handler in getattr(node, "handlers", ()):
                yield from _statements(handler.body)
            yield from _statements(getattr(node, "orelse", []))
            yield from _statements(getattr(node, "finalbody", []))
        else:
            yield node


def _words(value: ast.expr) -> frozenset[str] | None:
    """The strings of a list; None for what is computed."""
    try:
        found = ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError):
        return None
    return frozenset(map(str, found)) if isinstance(found, (list, tuple)) else None
