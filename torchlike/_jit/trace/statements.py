"""Statements of the user's functions: what they bind, what is read afterwards, how they jump.

What a branch or a loop's body binds for itself alone (the layer in ``for layer in self.layers``)
need not be alike in both branches, nor carried from turn to turn. A backward pass over the syntax
tree finds the others: a name is *live* where some way on reads it before binding it anew. Where a
way on is hard to tell (exceptions, names that nested functions keep) it counts as live.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Sequence
from typing import Any

#: A loop's ``return`` value: carried although it has none at first.
VALUE = "__torchlike_value"

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def has_inside(nodes: Iterable[ast.AST], kinds: Any, stop: Any = FUNCTIONS) -> bool:
    """Return whether a node of these kinds is among them, nested ``stop`` nodes left out."""
    for node in nodes:
        if isinstance(node, kinds):
            return True
        if not isinstance(node, stop) and has_inside(ast.iter_child_nodes(node), kinds, stop):
            return True
    return False


def bound_names(nodes: Iterable[ast.AST]) -> dict[str, None]:
    """Return the names that statements bind or delete in their own scope, in order."""
    found: dict[str, None] = {}

    def walk(node: ast.AST, comprehension: bool) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found[node.name] = None
            for d in node.decorator_list:
                walk(d, comprehension)
            return
        if isinstance(node, ast.Lambda):
            return
        if isinstance(node, ast.NamedExpr):
            found[node.target.id] = None
            walk(node.value, comprehension)
            return
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            if not comprehension:
                found[node.id] = None
        elif isinstance(node, ast.alias):
            name = node.asname or node.name.partition(".")[0]
            found[name] = None
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            found[node.name] = None
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found[node.rest] = None
        inner = comprehension or isinstance(node, _COMPREHENSIONS)
        for child in ast.iter_child_nodes(node):
            walk(child, inner)

    for node in nodes:
        walk(node, False)
    return found


def kept_by_functions(nodes: Iterable[ast.AST], names: Iterable[str]) -> bool:
    """Return whether a function defined in these statements refers to one of the names."""
    wanted = set(names)

    def refers(node: ast.AST) -> bool:
        return any(isinstance(n, ast.Name) and n.id in wanted for n in ast.walk(node))

    return any(
        refers(n)
        for node in nodes
        for n in ast.walk(node)
        if isinstance(n, (*FUNCTIONS, ast.GeneratorExp))
    )


def always_leaves(stmts: Sequence[ast.stmt], jumps: Any) -> bool:
    """Return whether every way through the statements ends in a jump (or an exception)."""
    if not stmts:
        return False
    last = stmts[-1]
    if isinstance(last, (*jumps, ast.Raise)):
        return True
    if isinstance(last, ast.If):
        return always_leaves(last.body, jumps) and always_leaves(last.orelse, jumps)
    if isinstance(last, ast.With):
        return always_leaves(last.body, jumps)
    return False


class Unconvertible(Exception):
    """A function that has to stay as it is."""


# -- which names are live --------------------------------------------------------------------------

#: A function that calls one of these reads whatever it has.
_READ_ALL = frozenset(("locals", "vars", "dir", "eval", "exec"))


class _All(frozenset[str]):
    """Every name."""

    def __contains__(self, name: object) -> bool:
        return True


#: What is live where nothing was found out.
ALL: frozenset[str] = _All()


def read_by(body: Sequence[ast.stmt], rest: Sequence[ast.stmt]) -> frozenset[str]:
    """Return the names of which the last statements ``rest`` of a function's body read what they
    find."""
    names = (n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name))
    if not _READ_ALL.isdisjoint(names):
        return ALL
    return _Liveness(_kept(rest)).block(rest, frozenset())


def annotate(body: Sequence[ast.stmt]) -> None:
    """Note at each ``if`` and loop of a function's body which names are live (see `after`)."""
    names = (n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name))
    if _READ_ALL.isdisjoint(names):
        _Liveness(_kept(body)).block(body, frozenset())


def after(node: ast.AST) -> frozenset[str]:
    """Return the names that are read after an ``if``; after a loop or in its next turn."""
    return getattr(node, "live_after", ALL)


def before(node: ast.AST) -> frozenset[str]:
    """Return the names that are read in or after an ``if`` before they are bound anew."""
    return getattr(node, "live_before", ALL)


def _kept(body: Iterable[ast.stmt]) -> frozenset[str]:
    """Return the names that nested functions read whenever they are called, and those of outer
    scopes."""
    kept: set[str] = set()
    for s in body:
        for node in ast.walk(s):
            if isinstance(node, (*FUNCTIONS, ast.GeneratorExp)):
                kept |= _read([node])
            elif isinstance(node, (ast.Global, ast.Nonlocal)):
                kept.update(node.names)
    return frozenset(kept)


def _read(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that are read, or deleted, anywhere in these nodes."""
    found: set[str] = set()
    for node in (n for top in nodes for n in ast.walk(top)):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found


def _bound(target: ast.expr) -> set[str]:
    """Return the names that an assignment to this target binds whatever happens."""
    if isinstance(target, ast.Name):
        return {target.id}
    if isinstance(target, (ast.Tuple, ast.List)):
        return set().union(*map(_bound, target.elts))
    return _bound(target.value) if isinstance(target, ast.Starred) else set()


class _Liveness:
    def __init__(self, kept: frozenset[str]) -> None:
        self._always = kept
        #: What is live at the ``break`` and the ``continue`` of the loop around.
        self._jumps: list[tuple[frozenset[str], frozenset[str]]] = []

    def block(self, stmts: Sequence[ast.stmt], after: frozenset[str]) -> frozenset[str]:
        """Return the names that are live before these statements, given those that are after
        them."""
        for s in reversed(stmts):
            after = self._statement(s, after) | self._always
        return after

    def _statement(self, s: Any, after: frozenset[str]) -> frozenset[str]:
        if isinstance(s, ast.If):
            within = self.block(s.body, after) | self.block(s.orelse, after)
            vars(s).update(live_after=after | self._always, live_before=within | self._always)
            return within | _read([s.test])
        if isinstance(s, (ast.For, ast.AsyncFor, ast.While)):
            return self._loop(s, after)
        if isinstance(s, (ast.With, ast.AsyncWith)):
            return self._guarded(s.body, after | _read(s.items))
        if isinstance(s, (ast.Try, ast.TryStar)):
            ways = [s.orelse, s.finalbody, *(h.body for h in s.handlers)]
            on = after.union(*(self._guarded(way, after) for way in ways), _read(s.handlers))
            return self._guarded(s.body, on)
        if isinstance(s, ast.Match):
            whole = frozenset(_read([s]))
            return whole.union(*(self._guarded(c.body, after | whole) for c in s.cases))
        if isinstance(s, ast.Break):
            return self._jumps[-1][0]
        if isinstance(s, ast.Continue):
            return self._jumps[-1][1]
        if isinstance(s, (ast.Return, ast.Raise)):
            return frozenset(_read([s]))
        return (after - self._binds(s)) | _read([s])

    def _binds(self, s: ast.stmt) -> set[str]:
        if isinstance(s, ast.Assign):
            return set().union(*map(_bound, s.targets))
        if isinstance(s, ast.AnnAssign) and s.value is not None:
            return _bound(s.target)
        if isinstance(s, ast.FunctionDef):
            return {s.name}
        return set()

    def _loop(self, s: Any, after: frozenset[str]) -> frozenset[str]:
        """Find the names that are live before a loop, until the head's set grows no more; a body
        reads at most what it did the turn before."""
        done = getattr(s, "done", None)
        target = set() if isinstance(s, ast.While) else _bound(s.target)
        asked = _read([s.test] if isinstance(s, ast.While) else [s.target])
        head = self.block(s.orelse, after) | after | asked | ({done} if done else set())
        while True:
            self._jumps.append((after, head))
            grown = head | (self.block(s.body, head) - target)
            self._jumps.pop()
            if grown == head:
                break
            head = grown
        vars(s)["live_after"] = head | self._always
        return head if isinstance(s, ast.While) else head | _read([s.iter])

    def _guarded(self, stmts: Sequence[ast.stmt], on: frozenset[str]) -> frozenset[str]:
        """Find the names that are live before a body that may be left at any place, for where
        ``on`` is live."""
        before, self._always = self._always, self._always | on
        found = self.block(stmts, on)
        self._always = before
        return found


# -- jumps -----------------------------------------------------------------------------------------


class Jumps:
    """Takes ``return`` out of the middle of a function, and jumps out of loops."""

    def __init__(self) -> None:
        self._n = 0

    def function(self, body: list[ast.stmt]) -> list[ast.stmt]:
        body = [*body, ast.Return(ast.Constant(None))]
        body = self._returning(self.block(body))
        annotate(body)
        return body

    def block(self, stmts: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Rewrite statements so that their loops jump no more."""
        out: list[ast.stmt] = []
        for s in stmts:
            for field in ("body", "orelse", "finalbody"):
                inner = getattr(s, field, None)
                if isinstance(inner, list) and not isinstance(s, FUNCTIONS):
                    setattr(s, field, self.block(inner))
            for handler in getattr(s, "handlers", ()):
                handler.body = self.block(handler.body)
            for case in getattr(s, "cases", ()):
                case.body = self.block(case.body)
            out += self._loop(s) if isinstance(s, (ast.For, ast.While)) else [s]
        return out

    def _returning(self, stmts: list[ast.stmt]) -> list[ast.stmt]:
        """Move what follows an ``if`` with a return into its branches."""
        return self._pushed(stmts, (ast.Return,))

    def _pushed(self, stmts: list[ast.stmt], jumps: Any) -> list[ast.stmt]:
        for i, s in enumerate(stmts):
            if isinstance(s, (*jumps, ast.Raise)):
                return stmts[: i + 1]
            if isinstance(s, ast.With) and always_leaves(s.body, jumps):
                s.body = self._pushed(s.body, jumps)
                return stmts[: i + 1]
            if isinstance(s, ast.If) and has_inside([s], jumps, (*FUNCTIONS, *_own(jumps))):
                rest = stmts[i + 1 :]
                goes_on = [not always_leaves(b, jumps) for b in (s.body, s.orelse)]
                if all(goes_on) and _weight(rest) > 4000:
                    raise Unconvertible("too many ways through it")
                body = s.body + (rest if goes_on[0] else [])
                orelse = s.orelse
                if goes_on[1]:
                    orelse = orelse + (copy.deepcopy(rest) if goes_on[0] else rest)
                s.body = self._pushed(body, jumps)
                s.orelse = self._pushed(orelse, jumps)
                return stmts[: i + 1]
        return stmts

    def _loop(self, s: Any) -> list[ast.stmt]:
        """Rewrite a loop to have no break, continue and return."""
        jumps = (ast.Break, ast.Continue, ast.Return)
        stop = (*FUNCTIONS, *LOOPS)
        jumping = has_inside(s.body, jumps, stop)
        if not jumping:
            return [s]
        if _jumps_from_block(s.body):
            return [s]  # out of a with or try: left to Python
        self._n += 1
        n = self._n
        leaves = has_inside(s.body, (ast.Break, ast.Return), stop)
        returns = has_inside(s.body, ast.Return, stop)
        # ``while True`` without break is left by a return alone.
        endless = (
            isinstance(s, ast.While)
            and isinstance(s.test, ast.Constant)
            and (bool(s.test.value) and not has_inside(s.body, ast.Break, stop))
        )
        body = self._pushed(s.body, jumps)
        done, value, returned = (
            f"__torchlike_done_{n}",
            f"{VALUE}_{n}",
            f"__torchlike_returned_{n}",
        )
        s.body = _Flags(done, value, returned).run(body) or [ast.Pass()]
        vars(s)["done"] = done if leaves else None
        before: list[ast.stmt] = []
        after: list[ast.stmt] = []
        if leaves:
            before.append(_assign(done, ast.Constant(False)))
        if returns:
            before.append(_assign(returned, ast.Constant(False)))
        if s.orelse and leaves:
            after.append(ast.If(_not(done), s.orelse, []))
            s.orelse = []
        if returns:
            result: ast.stmt = ast.Return(ast.Name(value, ast.Load()))
            if not endless:
                result = ast.If(ast.Name(returned, ast.Load()), [result], [])
            after.append(result)
        return [placed_at(x, s) for x in (*before, s, *after)]


def _own(jumps: Any) -> tuple[Any, ...]:
    """Return the nodes at which a look for jumps stops: inside a loop's body, jumps of loops nested
    in it are theirs (they are gone by then)."""
    return () if jumps == (ast.Return,) else LOOPS


def _weight(stmts: list[ast.stmt]) -> int:
    return sum(1 for s in stmts for _ in ast.walk(s))


def _jumps_from_block(stmts: Iterable[ast.stmt]) -> bool:
    jumps = (ast.Break, ast.Continue, ast.Return)
    stop = (*FUNCTIONS, *LOOPS)
    blocks = (ast.With, ast.Try, ast.Match)
    for s in stmts:
        if isinstance(s, blocks) and has_inside([s], jumps, stop):
            return True
        if isinstance(s, ast.If) and _jumps_from_block([*s.body, *s.orelse]):
            return True
    return False


class _Flags:
    """Jumps as assignments; they are the last statements of their blocks by now."""

    def __init__(self, done: str, value: str, returned: str) -> None:
        self._done, self._value, self._returned = done, value, returned

    def run(self, stmts: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for s in stmts:
            if isinstance(s, ast.Continue):
                continue
            if isinstance(s, (ast.Break, ast.Return)):
                if isinstance(s, ast.Return):
                    out.append(placed_at(_assign(self._value, s.value or ast.Constant(None)), s))
                    out.append(placed_at(_assign(self._returned, ast.Constant(True)), s))
                out.append(placed_at(_assign(self._done, ast.Constant(True)), s))
                continue
            if isinstance(s, ast.If):
                s.body = self.run(s.body) or [placed_at(ast.Pass(), s)]
                s.orelse = self.run(s.orelse)
            out.append(s)
        return out


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _not(name: str) -> ast.expr:
    return ast.UnaryOp(ast.Not(), ast.Name(name, ast.Load()))


def placed_at(node: Any, where: Any) -> Any:
    """Give a node that was made the place of the user's, of a statement its head, on one line, and
    return it.

    Where a function is named by an attribute of several lines Python shows the last one, which
    would be the end of an ``if`` whose test is meant.
    """
    head = ast.copy_location(ast.Pass(), where)
    end = getattr(where, "test", None) or getattr(where, "iter", None) or where
    one_line = end.end_lineno == where.lineno
    head.end_lineno = where.lineno
    head.end_col_offset = end.end_col_offset if one_line else where.col_offset + 1
    return ast.fix_missing_locations(ast.copy_location(node, head))
