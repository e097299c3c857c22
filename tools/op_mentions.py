"""Where a name of an op stands in the package, in tests and in generated files."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tools.op_tables import DOCSTRING

ROOT = Path(__file__).resolve().parents[1]


class Mention(NamedTuple):
    """A line that names an op."""

    path: Path
    line: int
    text: str

    @property
    def place(self) -> str:
        """The file and line, relative to the repository."""
        return f"{self.path.relative_to(ROOT)}:{self.line}"


class Definition(NamedTuple):
    """A call of ``op`` or ``composite``, or of a function that calls one, for a name."""

    path: Path
    line: int
    #: Its keyword arguments, as they are written, and their lines.
    keywords: dict[str, tuple[str, int]]

    @property
    def place(self) -> str:
        """The file and line, relative to the repository."""
        return f"{self.path.relative_to(ROOT)}:{self.line}"


def _sources(folder: Path, pattern: str) -> Iterator[tuple[Path, str]]:
    """Yield the files whose text, docstrings apart, has a pattern: few need to be parsed then."""
    wanted = re.compile(pattern)
    for path in sorted(folder.rglob("*.py")):
        source = path.read_text()
        if wanted.search(DOCSTRING.sub("", source)):
            yield path, source


def definitions(name: str) -> list[Definition]:
    """Return the definitions of a name: decorated functions, and calls with it as first
    argument."""
    found = []
    pattern = rf'def {name}(_op|_)?\(|"{name}"'
    for path, source in _sources(ROOT / "torchlike", pattern):
        for node in ast.walk(ast.parse(source)):
            for call in _registering(node, name, path):
                keywords = {
                    k.arg: (ast.unparse(k.value), k.value.lineno) for k in call.keywords if k.arg
                }
                found.append(Definition(path, call.lineno, keywords))
    return found


def _registering(node: ast.AST, name: str, path: Path) -> Iterator[ast.Call]:
    if isinstance(node, ast.FunctionDef) and node.name in (name, f"{name}_op", f"{name}_"):
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call) and _called(decorator) in ("op", "composite"):
                yield decorator
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call, first = node.value, node.value.args[:1]
        named = first and isinstance(first[0], ast.Constant) and first[0].value == name
        if named and "_ops" in path.parts:
            yield call


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


@functools.cache
def mentions(name: str) -> tuple[Mention, ...]:
    """Return the lines of the package outside of ``_ops`` whose code names an op: in a string, or
    as an operator of aten's that something is registered for."""
    found = []
    one_line, several = rf'"[^"\n]*\b{name}_?\b[^"\n]*"', rf'"""[^"]*\b{name}_?\b'
    pattern = rf"{one_line}|{several}|@[^\n]*\.{name}_?\b"
    for path, source in _sources(ROOT / "torchlike", pattern):
        if path.relative_to(ROOT / "torchlike").parts[0] != "_ops":
            lines = source.splitlines()
            for line in sorted(set(_lines(ast.parse(source), lines, name))):
                found.append(Mention(path, line, lines[line - 1].strip()))
    return tuple(found)


def _lines(tree: ast.Module, lines: list[str], name: str) -> Iterator[int]:
    word = re.compile(rf"(?<![\w.]){name}_?(?![\w=/])")
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                for part in ast.walk(decorator):
                    if isinstance(part, ast.Attribute) and part.attr in (name, f"{name}_"):
                        yield part.lineno
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) in docstrings or not _is_names(node.value):
                continue
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                if word.search(lines[line - 1]):
                    yield line


def _is_names(text: str) -> bool:
    """Return whether a string is a name, words that are names, or lines with one in front; not a
    sentence."""
    return re.fullmatch(r"[\w.|]+(\s+[\w.|]+)*\s*", text.strip()) is not None or "\n" in text


def in_tests(name: str) -> list[Mention]:
    """Return the cases and calls of an op in the tests."""
    patterns = re.compile(rf'case\("(\w+\.)*{name}"|\b(torch|t|functional|F|torchlike)\.{name}_?\(')
    found = []
    for path, source in _sources(ROOT / "tests", patterns.pattern):
        for n, text in enumerate(source.splitlines(), 1):
            if patterns.search(text):
                found.append(Mention(path, n, text.strip()))
    return found


def in_generated(name: str) -> list[Mention]:
    """Return the lines of the stubs and of the page of operators that are about an op."""
    stub, row = re.compile(rf"^ *def {name}_?\("), re.compile(rf"^\| `{name}`")
    found = []
    for path in [*sorted((ROOT / "torchlike").rglob("*.pyi")), ROOT / "docs" / "operators.md"]:
        pattern = stub if path.suffix == ".pyi" else row
        for n, text in enumerate(path.read_text().splitlines(), 1):
            if pattern.search(text):
                found.append(Mention(path, n, text.strip()))
    return found
