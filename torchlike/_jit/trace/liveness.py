"""Liveness: finds which variables a function may still read after a statement.

What a branch or a loop's body binds for itself alone (the layer in ``for layer in self.layers``)
need not be alike in both branches, nor carried from turn to turn. A backward pass over the syntax
tree finds the others: a name is live where some way on reads it before binding it anew. Where a way
on is hard to tell (exceptions, names that nested functions keep) it counts as live.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
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
            if isinstance(node, (*_FUNCTIONS, ast.ClassDef, ast.GeneratorExp)):
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
