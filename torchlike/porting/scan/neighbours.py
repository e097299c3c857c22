"""Names of PyTorch's that a file has from others of its program: ``from .imports import *``."""

from __future__ import annotations

import ast
import functools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from torchlike.porting.scan import sources
from torchlike.porting.scan.scopes import ROOTS, Imported, LexicalScope

#: Folders above a file in which the first package of an absolute import is looked for.
_HIGHEST = 12


@dataclass
class _File:
    """What a file says by itself of the names at its top level.

    Attributes:
      own: names that mean something of PyTorch's.
      others: names from other modules: the module, and the name there.
      bound: names that are given another meaning.
      public: the file's ``__all__``, where it has one.
    """

    folder: Path = Path()
    own: dict[str, str] = field(default_factory=dict)
    others: dict[str, tuple[str, str]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    bound: set[str] = field(default_factory=set)
    public: frozenset[str] | None = None

    def gives(self, name: str) -> bool:
        """Return whether ``import *`` gives a name, if there is such a name."""
        return not name.startswith("_") if self.public is None else name in self.public

    def names(self) -> set[str]:
        return self.own.keys() | self.others.keys()


@dataclass
class Neighbours:
    """The other files of a program, each read once."""

    _files: dict[Path, _File] = field(default_factory=dict)
    _meanings: dict[tuple[Path, str], str | None] = field(default_factory=dict)

    def resolve(self, root: LexicalScope, path: Path) -> None:
        """Let names that a file imports from its program's other files mean what they mean there.

        Only names that mean something of PyTorch's are resolved; others stay what they are.
        """
        folder = path.resolve().parent
        for star in root.bindings.pop("*", []):
            for name in self._given(folder, star.name.removesuffix(".*"), set()):
                of = self._meaning(folder, star.name.removesuffix(".*"), name)
                if of is not None and name not in root.bindings:
                    root.bind(name, Imported(of))
        self._resolve_below(root, folder)

    def _resolve_below(self, scope: LexicalScope, folder: Path) -> None:
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
        of = self._meaning(folder, module, name)
        return binding if of is None else Imported(of)

    def _meaning(self, folder: Path, module: str, name: str) -> str | None:
        """Return the name of PyTorch's that a name of a module means, seen from a file in
        ``folder``; None for none."""
        file = _file_of(folder, module)
        if file is None:
            return None
        if (file, name) not in self._meanings:
            self._meanings[file, name] = self._follow(file, name, set())
        return self._meanings[file, name]

    def _follow(self, file: Path, name: str, seen: set[tuple[Path, str]]) -> str | None:
        """Follow a name through the files that it comes from, to what it means of PyTorch's.
        ``seen``: names that are being followed, which files may import from one another."""
        read = self._read(file)
        if (file, name) in seen or name in read.bound:
            return None
        seen.add((file, name))
        if name in read.own:
            return read.own[name]
        if name in read.others:
            module, theirs = read.others[name]
            there = _file_of(read.folder, module)
            return None if there is None else self._follow(there, theirs, seen)
        for module in reversed(read.stars):
            there = _file_of(read.folder, module)
            if there is not None and self._read(there).gives(name):
                found = self._follow(there, name, seen)
                if found is not None:
                    return found
        return None

    def _given(self, folder: Path, module: str, seen: set[Path]) -> set[str]:
        """Return the names that ``import *`` of a module may give."""
        file = _file_of(folder, module)
        if file is None or file in seen:
            return set()
        seen.add(file)
        read = self._read(file)
        found = read.names().union(*(self._given(read.folder, m, seen) for m in read.stars))
        return {name for name in found if read.gives(name)}

    def _read(self, file: Path) -> _File:
        if file not in self._files:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of the scanned program's syntax
                    tree = ast.parse(sources.text(file))
            except (sources.UnreadableError, SyntaxError, ValueError, RecursionError, MemoryError):
                tree = ast.Module([], [])  # why is told where the file itself is scanned
            self._files[file] = _read(tree, file.parent)
        return self._files[file]


def _read(tree: ast.Module, folder: Path) -> _File:
    made = _File(folder)
    for node in _statements(tree.body):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.name if alias.asname else alias.name.partition(".")[0]
                if name.partition(".")[0] in ROOTS:
                    made.own[alias.asname or name] = name
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                name = alias.asname or alias.name
                if module.partition(".")[0] not in ROOTS:
                    if alias.name == "*":
                        made.stars.append(module)
                    else:
                        made.others[name] = module, alias.name
                elif alias.name != "*":
                    made.own[name] = f"{module}.{alias.name}"
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            made.bound.add(node.name)
        elif isinstance(node, ast.Assign):
            targets = {t.id for t in node.targets if isinstance(t, ast.Name)}
            made.bound |= targets
            if "__all__" in targets:
                made.public = _words(node.value)
    return made


@functools.lru_cache(maxsize=8192)
def _file_of(folder: Path, module: str) -> Path | None:
    """Return the file of a module; None where it is none of the program's."""
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
    """Yield the statements of a module that run as it is imported, in order."""
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
    """Return the strings of a list; None for what is computed."""
    try:
        found = ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError):
        return None
    return frozenset(map(str, found)) if isinstance(found, (list, tuple)) else None
