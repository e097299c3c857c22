"""Which names of PyTorch's libraries use, private ones too, and what becomes of each here.

    python -m tools.library_names count FOLDER > names.csv
    python -m tools.library_names states < names.csv

FOLDER holds wheels, or folders of source, one for each library. ``count`` needs PyTorch, which says
what a name is: of ``torch.nn.Linear.forward.__doc__`` the name is ``torch.nn.Linear.forward``, and
what PyTorch has not got is left out. Its table has a row for each name with the number of libraries
that use it. ``states`` prints the rows with what torchlike has: "there", "raises" where it is used,
or "missing".
"""

from __future__ import annotations

import ast
import csv
import importlib
import sys
import warnings
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from tools.api_usage import resolve

_NO_PART = ("test", "tests", "testing", "docs", "examples", "benchmarks")


def sources(library: Path) -> Iterator[str]:
    """Return the text of each module of a wheel or folder, but for its tests."""
    if library.is_dir():
        for file in sorted(library.rglob("*.py")):
            if not _is_test(file.relative_to(library).parts):
                yield file.read_text(errors="replace")
        return
    with zipfile.ZipFile(library) as wheel:
        for name in wheel.namelist():
            if name.endswith(".py") and not _is_test(name.split("/")):
                yield wheel.read(name).decode(errors="replace")


def _is_test(parts: Any) -> bool:
    return any(p in _NO_PART or p.startswith("test_") or p.endswith("_test.py") for p in parts)


class _Uses(ast.NodeVisitor):
    """Collects the dotted names of a module that begin with torch, aliases resolved."""

    def __init__(self, tree: ast.Module) -> None:
        self.aliases: dict[str, str] = {}
        self.names: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for a in node.names:
                    if _is_torch(a.name):
                        self.names.add(a.name)
                        self.aliases[a.asname or "torch"] = a.name if a.asname else "torch"
            elif isinstance(node, ast.ImportFrom) and not node.level and _is_torch(node.module):
                for a in node.names:
                    if a.name != "*":
                        full = self.aliases[a.asname or a.name] = f"{node.module}.{a.name}"
                        self.names.add(full)
        self.visit(tree)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        parts, at = [node.attr], node.value
        while isinstance(at, ast.Attribute):
            parts.append(at.attr)
            at = at.value
        if isinstance(at, ast.Name) and at.id in self.aliases:
            self.names.add(".".join([self.aliases[at.id], *reversed(parts)]))
        else:
            self.generic_visit(node)


def _is_torch(name: str | None) -> bool:
    return name is not None and (name == "torch" or name.startswith("torch."))


def names_in(text: str) -> set[str]:
    """Return the dotted names of torch in a module's text; none where it is no Python of today."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _Uses(ast.parse(text)).names
    except (SyntaxError, ValueError, RecursionError):
        return set()


def known(name: str) -> str | None:
    """Return the part of a name that PyTorch defines, to the first object that is neither a module
    nor a class; None where it has no such name."""
    found: Any = importlib.import_module("torch")
    parts = name.split(".")
    for i, part in enumerate(parts[1:], 1):
        if not isinstance(found, (ModuleType, type)):
            return ".".join(parts[:i])
        try:
            following = getattr(found, part)
        except AttributeError:
            try:
                following = importlib.import_module(".".join(parts[: i + 1]))
            except Exception:  # whatever a module says that wants a GPU or another package
                return None
        except RuntimeError:  # of torch.classes, where nobody has registered the class
            return None
        found = following
    return name


def count(folder: Path) -> dict[str, int]:
    """Return how many of the libraries in a folder use each name that PyTorch has."""
    users: defaultdict[str, set[str]] = defaultdict(set)
    for library in sorted(folder.iterdir()):
        used = {n for text in sources(library) if "torch" in text for n in names_in(text)}
        for name in used:
            users[name].add(library.name)
    counted: defaultdict[str, set[str]] = defaultdict(set)
    for name, libraries in users.items():
        if (kept := known(name)) is not None:
            counted[kept] |= libraries
    return {name: len(counted[name]) for name in sorted(counted)}


def state(name: str) -> str:
    """Return what torchlike has of a name: "there", "raises" where it is used, or "missing"."""
    try:
        found = resolve(name)
    except (AttributeError, ImportError):
        return "missing"
    except NotImplementedError:
        return "raises"
    return "raises" if (getattr(found, "__doc__", None) or "").startswith("Not supp") else "there"


def main() -> None:
    out = csv.writer(sys.stdout, lineterminator="\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if sys.argv[1] == "count":
            out.writerow(("name", "libraries"))
            out.writerows(count(Path(sys.argv[2])).items())
        else:
            rows = csv.DictReader(sys.stdin)
            out.writerow(("name", "libraries", "state"))
            out.writerows((r["name"], r["libraries"], state(r["name"])) for r in rows)


if __name__ == "__main__":
    main()
