"""What statements of a script do towards training, the functions that they call included.

Functions are found by their names, in the script and in the modules beside it that it imports: what
a name means is known only when the script runs, and a loop that is taken for a step wrongly costs
less than one that is missed.
"""

from __future__ import annotations

import ast
import sysconfig
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator
from importlib.machinery import PathFinder
from pathlib import Path

#: What is looked for. A step is a backward pass and an update.
BACKWARD, UPDATE, CLEARING = "backward", "update", "clearing"
STEP = frozenset((BACKWARD, UPDATE))
Functions = ast.FunctionDef | ast.AsyncFunctionDef
Loops = ast.For | ast.While | ast.AsyncFor

_OF_METHODS = {
    "backward": BACKWARD,
    "step": UPDATE,
    "optimizer_step": UPDATE,
    "zero_grad": CLEARING,
}


class Reach:
    """The functions of a script, and what is done where they are called."""

    def __init__(self, tree: ast.AST, file: str) -> None:
        self._named: defaultdict[str, list[ast.AST]] = defaultdict(list)
        self._others: defaultdict[str, set[str]] = defaultdict(set)
        self._known: dict[int, frozenset[str]] = {}
        for part in (tree, *_imported(tree, file)):
            self._add(part)

    def _add(self, tree: ast.AST) -> None:
        for x in ast.walk(tree):
            if isinstance(x, Functions):
                self._named[x.name].append(x)
            elif isinstance(x, ast.Assign) and isinstance(x.value, ast.Call):
                # compiled = torch.compile(step)
                given = {name for a in x.value.args if (name := last_name(a))}
                for name in filter(None, map(last_name, x.targets)):
                    self._others[name] |= given

    def of(self, *nodes: ast.AST) -> frozenset[str]:
        """Return the names of what these statements and expressions do."""
        found: set[str] = set()
        for node in nodes:
            for x in _here(node):
                found |= _own(x)
                if isinstance(x, ast.Call):
                    for function in self._called(x):
                        found |= self._of_function(function)
        return frozenset(found)

    def always_updates(self, *nodes: ast.AST) -> bool:
        """Return whether these statements update whatever holds: not under an ``if``, or in each
        branch of one."""
        return any(self._always_updates(node, frozenset()) for node in nodes)

    def _always_updates(self, node: ast.AST, within: frozenset[int]) -> bool:
        if isinstance(node, (*Functions.__args__, ast.Lambda, ast.ClassDef)):
            return False
        if isinstance(node, (ast.If, ast.IfExp)):
            branches = [x if isinstance(x, list) else [x] for x in (node.body, node.orelse)]
            return all(any(self._always_updates(x, within) for x in b) for b in branches)
        if UPDATE in _own(node):
            return True
        if isinstance(node, ast.Call):
            for function in self._called(node):
                if id(function) not in within:
                    known = within | {id(function)}
                    if any(self._always_updates(x, known) for x in function.body):
                        return True
        return any(self._always_updates(x, within) for x in ast.iter_child_nodes(node))

    def steps_within(self, *nodes: ast.AST) -> bool:
        """Return whether a loop of these statements, or of functions that they call, makes
        steps."""
        seen: set[int] = set()
        left = list(nodes)
        while left:
            for x in _here(left.pop()):
                if isinstance(x, Loops) and self.of(*x.body) >= STEP:
                    return True
                if isinstance(x, ast.Call):
                    new = [f for f in self._called(x) if id(f) not in seen]
                    seen.update(map(id, new))
                    left += [statement for f in new for statement in f.body]
        return False

    def _called(self, call: ast.Call) -> list[Functions]:
        name = last_name(call.func)
        names = {name} | self._others.get(name, set())
        return [f for n in names for f in self._named.get(n, ()) if isinstance(f, Functions)]

    def _of_function(self, function: Functions) -> frozenset[str]:
        if id(function) not in self._known:
            self._known[id(function)] = frozenset()  # of one that calls itself
            self._known[id(function)] = self.of(*function.body)
        return self._known[id(function)]


def _here(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and those in it, but for the bodies of functions and classes defined there."""
    stack = [node]
    while stack:
        x = stack.pop()
        if not isinstance(x, (*Functions.__args__, ast.Lambda, ast.ClassDef)):
            yield x
            stack += ast.iter_child_nodes(x)


def _own(x: ast.AST) -> set[str]:
    if isinstance(x, ast.Call) and isinstance(x.func, ast.Attribute):
        name = x.func.attr
        if name in _OF_METHODS and "sched" not in last_name(x.func.value).lower():
            return {_OF_METHODS[name]}
        if name.endswith("_") and any(map(_reads_gradient, x.args)):
            return {UPDATE}  # p.data.add_(p.grad, alpha=-lr)
    if isinstance(x, ast.AugAssign) and isinstance(x.op, ast.Sub) and _reads_gradient(x.value):
        return {UPDATE}  # p -= lr * p.grad
    return set()


def _reads_gradient(node: ast.AST) -> bool:
    return any(isinstance(x, ast.Attribute) and x.attr == "grad" for x in ast.walk(node))


def last_name(node: ast.AST) -> str:
    """Return ``c`` of ``a.b.c``, of ``c`` and of a call of either; "" of anything else."""
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


# -- modules beside the script ---------------------------------------------------------------------

#: Where Python's modules lie, installed ones, and this package.
_NOT_THEIRS = tuple(
    Path(sysconfig.get_path(key)).resolve()
    for key in ("stdlib", "platstdlib", "purelib", "platlib")
) + (Path(__file__).resolve().parents[2],)


def is_users(file: str | None) -> bool:
    """Return whether a file of Python source is neither Python's nor installed."""
    if not file or not file.endswith(".py"):
        return False
    path = Path(file).resolve()
    if any(path.is_relative_to(folder) for folder in _NOT_THEIRS):
        return False
    return {"site-packages", "dist-packages"}.isdisjoint(path.parts) and path.is_file()


def parsed(file: str) -> ast.Module:
    """Parse a file to its syntax tree. SyntaxError where it is none."""
    with tokenize.open(file) as source:
        return ast.parse(source.read(), file)


def _imported(tree: ast.AST, file: str) -> Iterable[ast.AST]:
    """Yield the trees of the user's modules that a script imports, and those that they import."""
    seen, left = {file}, [(tree, file)]
    while left:
        importing, place = left.pop()
        for name in _modules_named(importing):
            found = _file_of(name, str(Path(place).parent))
            if found is None or found in seen:
                continue
            seen.add(found)
            try:
                part = parsed(found)
            except (SyntaxError, UnicodeDecodeError):
                continue  # it says so itself if the script comes to import it
            left.append((part, found))
            yield part


def _modules_named(tree: ast.AST) -> Iterator[str]:
    for x in ast.walk(tree):
        if isinstance(x, ast.Import):
            yield from (alias.name for alias in x.names)
        elif isinstance(x, ast.ImportFrom):
            if x.module:
                yield x.module
            yield from (f"{x.module}.{a.name}" if x.module else a.name for a in x.names)


def _file_of(name: str, beside: str) -> str | None:
    """Find the user's file of a module, without importing anything."""
    places: list[str] | None = None
    spec = None
    for i, part in enumerate(name.split(".")):
        if i and places is None:
            return None
        spec = PathFinder.find_spec(part, places)
        if spec is None and not i:
            spec = PathFinder.find_spec(part, [beside])
        if spec is None:
            return None
        places = list(spec.submodule_search_locations or ()) or None
    origin = spec.origin if spec is not None else None
    return origin if is_users(origin) else None
