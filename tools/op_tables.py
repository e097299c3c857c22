"""python -m tools.op_tables: the tables outside of ``torchlike/_ops`` that know ops by name.

A table is a literal dict, set, list or tuple, or a string of words or lines, in which at least six
entries are names of public functions or registered ops; a module's ``__all__`` is none. What is a
property of one op belongs into its definition; `tests/test_op_tables.py` has the tables that may
stay, each with its reason.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1] / "torchlike"
#: How many names make a table.
LEAST = 6
#: A name that begins a line of a string: ``relu: input | inplace=False``, ``abs(self) -> Tensor``.
_HEAD = re.compile(r"^\s*([A-Za-z_]\w*)(?=[.(:])", re.MULTILINE)

DOCSTRING = re.compile(r'^[ \t]*""".*?"""', re.MULTILINE | re.DOTALL)
_STRING = re.compile(r'"""(.*?)"""|"([^"\n]*)"', re.DOTALL)
_WORD = re.compile(r"\w+")


class Table(NamedTuple):
    """A literal that names ops."""

    #: Its file, relative to the package, and what it is bound to there: ``fx/node.py:_RANDOM``.
    place: str
    line: int
    names: frozenset[str]


def names_of_ops() -> frozenset[str]:
    """Return the names of all ops and public functions of tensors."""
    import torchlike
    from torchlike._core.dispatch.registry import NAMESPACES, OPS

    assert torchlike.Tensor  # importing it fills the registry
    own = {spec.name for spec in OPS.values()}
    return frozenset(own.union(OPS, *NAMESPACES.values()))


def find(known: frozenset[str]) -> list[Table]:
    """Return the tables of the package outside of ``_ops``, in order of their places."""
    found: list[Table] = []
    for path in sorted(ROOT.rglob("*.py")):
        relative = path.relative_to(ROOT)
        if relative.parts[0] != "_ops":
            source = path.read_text()
            if _may_have_one(source, known):
                found += in_source(source, relative.as_posix(), known)
    return found


def _may_have_one(source: str, known: frozenset[str]) -> bool:
    """Return False for a text whose strings, docstrings apart, name too few ops: parsing all files
    takes ten times as long as asking this."""
    strings = _STRING.findall(DOCSTRING.sub("", source))
    words = {word for pair in strings for word in _WORD.findall("".join(pair))}
    return len(words & known) >= LEAST


def in_source(source: str, path: str, known: frozenset[str]) -> list[Table]:
    """Return the tables in a file's text."""
    tree = ast.parse(source)
    no_tables = {id(node) for node in _texts(tree)}
    found: list[Table] = []

    def look(node: ast.AST, owner: str) -> None:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            owner = ast.unparse(target)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            owner = node.name
        if id(node) not in no_tables and owner != "__all__":
            names = known.intersection(_entries(node))
            if len(names) >= LEAST:
                found.append(Table(f"{path}:{owner}", getattr(node, "lineno", 0), names))
        for child in ast.iter_child_nodes(node):
            look(child, owner)

    look(tree, "")
    return found


def _texts(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the strings that are docstrings or parts of formatted ones."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield from node.values


def _entries(node: ast.AST) -> Iterator[str]:
    """Yield what a literal's entries are called: keys, elements, first parts of tuples, words."""
    if isinstance(node, ast.Dict):
        for key in node.keys:
            yield from _word(key)
    elif isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        for element in node.elts:
            first = element.elts[:1] if isinstance(element, ast.Tuple) else [element]
            for part in first:
                yield from _word(part)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
        words = node.value.split()
        heads = _HEAD.findall(node.value)
        yield from (word.partition(":")[0] for word in words)  # of pairs the keys, as of a dict
        if len(heads) > len(words) / 12:
            yield from heads


def _word(node: ast.AST | None) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def main() -> None:
    """Print each table with the number of ops that it names, and the sums."""
    found = find(names_of_ops())
    for table in found:
        print(f"{len(table.names):5}  torchlike/{table.place} (line {table.line})")
    print(f"{sum(len(t.names) for t in found):5}  names in {len(found)} tables")


if __name__ == "__main__":
    main()
