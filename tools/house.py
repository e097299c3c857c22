"""``python -m tools.house``: how large the house is, and how plain: the figures that must not grow.

tests/test_house.py holds each of them under a limit. A change that brings one down lowers its
limit in the same commit.
"""

from __future__ import annotations

import ast
import collections
import functools
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1] / "torchlike"
#: The files that everything else stands on: what a tensor is, how an op travels.
HEART = ("_core", "tensor.py")
#: At the root and not PyTorch's, beside what Python and its tools ask for.
OURS = (
    *("_compat", "_core", "_extensions", "_jit", "_ops", "_runtime"),
    *("interop", "porting", "tensor.py"),
)

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class File:
    """A file of the package, read and parsed once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.relative_to(ROOT).as_posix()
        self.text = path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)
        self.nodes = list(ast.walk(self.tree))

    @property
    def lines(self) -> int:
        """How many there are, but for those of docstrings: a fuller one is no larger house."""
        documented = (ast.Module, ast.ClassDef, *_FUNCTIONS)
        firsts = [n.body[0] for n in self.nodes if isinstance(n, documented) and n.body]
        return self.text.count("\n") - sum(
            (first.end_lineno or 0) - first.lineno + 1
            for first in firsts
            if isinstance(first, ast.Expr)
            and isinstance(first.value, ast.Constant)
            and isinstance(first.value.value, str)
        )

    def is_in(self, rooms: tuple[str, ...]) -> bool:
        return self.name in rooms or self.name.split("/")[0] in rooms


@functools.cache
def files() -> tuple[File, ...]:
    """Return all files of the package."""
    return tuple(File(path) for path in sorted(ROOT.rglob("*.py")))


def _functions() -> Iterator[tuple[File, ast.FunctionDef]]:
    for file in files():
        for node in file.nodes:
            if isinstance(node, _FUNCTIONS):
                yield file, node  # type: ignore[misc]


def _is_property(function: ast.FunctionDef) -> bool:
    return any("property" in ast.unparse(d) for d in function.decorator_list)


def entries() -> list[str]:
    """Return the files and folders at the root."""
    return sorted(p.name for p in ROOT.iterdir() if p.name != "__pycache__")


def of_ours() -> list[str]:
    """Return those that are no package of PyTorch's."""
    return [name for name in entries() if name in OURS]


def _nouns() -> list[str]:
    """Return the docstrings of functions whose first word is an article or a question: they have
    nobody who does something."""
    opening = re.compile(
        r"(The|A|An|What|Whether|How|Which|Where|One|Nothing|All|Each|Of|As|For|This|Another|"
        r"Those|Its|Every|\w*Error|\w+Warning|\d+|False|True:)\b"
    )
    return [
        f"{file.name}: {function.name}"
        for file, function in _functions()
        if not _is_property(function) and opening.match(ast.get_docstring(function) or "")
    ]


def _long(most: int) -> list[str]:
    found = []
    for file, function in _functions():
        body = function.body[ast.get_docstring(function, clean=False) is not None :]
        if body and (function.end_lineno or 0) - body[0].lineno + 1 > most:
            found.append(f"{file.name}: {function.name}")
    return found


def _names_used_twice() -> list[str]:
    count = collections.Counter(
        node.name for file in files() for node in file.nodes if isinstance(node, ast.ClassDef)
    )
    return sorted(name for name, times in count.items() if times > 1)


def _mentions(pattern: str, rooms: tuple[str, ...] = ()) -> int:
    word = re.compile(pattern)
    return sum(len(word.findall(f.text)) for f in files() if not rooms or f.is_in(rooms))


def _circles() -> list[str]:
    """Return the pairs of rooms that import each other. The class Tensor belongs to the heart,
    which reads it from within and from above."""
    arrows: dict[str, set[str]] = collections.defaultdict(set)
    for file in files():
        room = file.name.split("/")[0].removesuffix(".py")
        if room == "__init__":
            continue
        room = HEART[0] if room == "tensor" else room
        for node in file.nodes:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torchlike"):
                parts = (node.module or "").split(".")
                for name in [parts[1]] if parts[1:] else [alias.name for alias in node.names]:
                    arrows[room].add(HEART[0] if name == "tensor" else name)
    return sorted(
        f"{a} <-> {b}" for a in arrows for b in arrows[a] if a < b and a in arrows.get(b, ())
    )


def _count(rooms: list[File]) -> int:
    """Return the number of files that hold code: an ``__init__`` says what is in its folder."""
    return sum(not file.name.endswith("__init__.py") for file in rooms)


def figures() -> dict[str, int]:
    """Return each figure by its name."""
    heart = [file for file in files() if file.is_in(HEART)]
    compiler = [file for file in files() if file.is_in(("_jit",))]
    return {
        "entries at the root": len(entries()),
        "of them ours": len(of_ours()),
        "files of the heart": _count(heart),
        "lines of the heart": sum(file.lines for file in heart),
        "files of the compiler": _count(compiler),
        "lines of the compiler": sum(file.lines for file in compiler),
        "lines of the package": sum(file.lines for file in files()),
        "rooms that import each other": len(_circles()),
        "mentions of the running capture": _mentions(r"\bcurrent\.capture\b"),
        "questions whether a capture runs": _mentions(r"\bis_capturing\(\)"),
        "docstrings without a verb": len(_nouns()),
        "functions of over 60 lines": len(_long(60)),
        "class names used twice": len(_names_used_twice()),
        "Any in the heart": _mentions(r"\bAny\b", HEART),
        "fmt: skip": _mentions(r"fmt: skip"),
    }


def main() -> None:
    """Print the figures."""
    found = figures()
    width = max(map(len, found))
    for name, figure in found.items():
        print(f"{name:{width}}  {figure:>7,}")


if __name__ == "__main__":
    main()
