"""The AST transform: a function's syntax tree with control flow as calls of ``operators``.

    if c:                      def yes(x):
        x = x * 2                  x = x * 2
    else:              →           return (x,)
        y = x                  ...
                               (x, y) = H.choose(c, yes, no, (x, y), ("x", "y"), line)

The names that a branch or a loop's body binds become parameters and results of a function; all
else reaches it through the closure. Jumps are taken out first: what follows an ``if`` that returns
moves into the branch that does not, ``break`` and ``return`` in a loop set flags that its test asks
for. A statement is left as it is where that would change its meaning (a nested function that keeps
a rebound name, a jump out of ``with`` or ``try``, ``yield``).
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Sequence
from typing import Any

from torchlike._jit.trace import liveness

#: Stands for the module ``operators`` until the code object is made; see conversion.
HELPER = "\0torchlike.jit.branching"
#: A loop's ``return`` value: carried although it has none at first.
VALUE = "__torchlike_value"

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def expression(source: str, **nodes: ast.expr) -> Any:
    """Parse an expression, with names in it replaced by nodes."""
    tree = ast.parse(source, mode="eval").body
    for node in ast.walk(tree):
        for place in ("lineno", "end_lineno", "col_offset", "end_col_offset"):
            vars(node).pop(place, None)  # they are the user's line's, filled in by _at
    return _FillTemplate(nodes).visit(tree)


class _FillTemplate(ast.NodeTransformer):
    def __init__(self, nodes: dict[str, ast.expr]) -> None:
        self._nodes = nodes

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == "H":
            return ast.Constant(HELPER)
        return self._nodes.get(node.id, node)


def _inside(nodes: Iterable[ast.AST], kinds: Any, stop: Any = _FUNCTIONS) -> bool:
    """Return whether a node of these kinds is among them, nested ``stop`` nodes left out."""
    for node in nodes:
        if isinstance(node, kinds):
            return True
        if not isinstance(node, stop) and _inside(ast.iter_child_nodes(node), kinds, stop):
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


def _among(names: Iterable[str], live: frozenset[str]) -> list[str]:
    return [name for name in names if name in live]


def kept_by_functions(nodes: Iterable[ast.AST], names: Iterable[str]) -> bool:
    """Return whether a function defined in these statements refers to one of the names."""
    wanted = set(names)

    def refers(node: ast.AST) -> bool:
        return any(isinstance(n, ast.Name) and n.id in wanted for n in ast.walk(node))

    return any(
        refers(n)
        for node in nodes
        for n in ast.walk(node)
        if isinstance(n, (*_FUNCTIONS, ast.GeneratorExp))
    )


def _always_leaves(stmts: Sequence[ast.stmt], jumps: Any) -> bool:
    """Return whether every way through the statements ends in a jump (or an exception)."""
    if not stmts:
        return False
    last = stmts[-1]
    if isinstance(last, (*jumps, ast.Raise)):
        return True
    if isinstance(last, ast.If):
        return _always_leaves(last.body, jumps) and _always_leaves(last.orelse, jumps)
    if isinstance(last, ast.With):
        return _always_leaves(last.body, jumps)
    return False


class Unconvertible(Exception):
    """A function that has to stay as it is."""


# -- jumps -----------------------------------------------------------------------------------------


class Jumps:
    """Takes ``return`` out of the middle of a function, and jumps out of loops."""

    def __init__(self) -> None:
        self._n = 0

    def function(self, body: list[ast.stmt]) -> list[ast.stmt]:
        body = [*body, ast.Return(ast.Constant(None))]
        body = self._returning(self.block(body))
        liveness.annotate(body)
        return body

    def block(self, stmts: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Rewrite statements so that their loops jump no more."""
        out: list[ast.stmt] = []
        for s in stmts:
            for field in ("body", "orelse", "finalbody"):
                inner = getattr(s, field, None)
                if isinstance(inner, list) and not isinstance(s, _FUNCTIONS):
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
            if isinstance(s, ast.With) and _always_leaves(s.body, jumps):
                s.body = self._pushed(s.body, jumps)
                return stmts[: i + 1]
            if isinstance(s, ast.If) and _inside([s], jumps, (*_FUNCTIONS, *_own(jumps))):
                rest = stmts[i + 1 :]
                goes_on = [not _always_leaves(b, jumps) for b in (s.body, s.orelse)]
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
        stop = (*_FUNCTIONS, *_LOOPS)
        jumping = _inside(s.body, jumps, stop)
        if not jumping:
            return [s]
        if _jumps_from_block(s.body):
            return [s]  # out of a with or try: left to Python
        self._n += 1
        n = self._n
        leaves = _inside(s.body, (ast.Break, ast.Return), stop)
        returns = _inside(s.body, ast.Return, stop)
        # ``while True`` without break is left by a return alone.
        endless = (
            isinstance(s, ast.While)
            and isinstance(s.test, ast.Constant)
            and (bool(s.test.value) and not _inside(s.body, ast.Break, stop))
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
        return [_at(x, s) for x in (*before, s, *after)]


def _own(jumps: Any) -> tuple[Any, ...]:
    """Return the nodes at which a look for jumps stops: inside a loop's body, jumps of loops nested
    in it are theirs (they are gone by then)."""
    return () if jumps == (ast.Return,) else _LOOPS


def _weight(stmts: list[ast.stmt]) -> int:
    return sum(1 for s in stmts for _ in ast.walk(s))


def _jumps_from_block(stmts: Iterable[ast.stmt]) -> bool:
    jumps = (ast.Break, ast.Continue, ast.Return)
    stop = (*_FUNCTIONS, *_LOOPS)
    blocks = (ast.With, ast.Try, ast.Match)
    for s in stmts:
        if isinstance(s, blocks) and _inside([s], jumps, stop):
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
                    out.append(_at(_assign(self._value, s.value or ast.Constant(None)), s))
                    out.append(_at(_assign(self._returned, ast.Constant(True)), s))
                out.append(_at(_assign(self._done, ast.Constant(True)), s))
                continue
            if isinstance(s, ast.If):
                s.body = self.run(s.body) or [_at(ast.Pass(), s)]
                s.orelse = self.run(s.orelse)
            out.append(s)
        return out


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _not(name: str) -> ast.expr:
    return ast.UnaryOp(ast.Not(), ast.Name(name, ast.Load()))


def _at(node: Any, where: Any) -> Any:
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


# -- calls of the helper ---------------------------------------------------------------------------


class Rewriter(ast.NodeTransformer):
    """``if``, loops, and boolean expressions of one function as calls of the helper."""

    def __init__(self, first_argument: str | None, file: str) -> None:
        self._first = first_argument
        self._file = file
        self._n = 0

    # -- statements --------------------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST | list[ast.stmt]:
        """Rewrite a nested function too, its own jumps taken out."""
        if _inside(node.body, (ast.Yield, ast.YieldFrom)):
            return node
        node.body = Jumps().function(node.body)
        node.body = self._guarded(self._statements(node.body), node)
        return node

    def visit_Try(self, node: Any) -> ast.AST | list[ast.stmt]:
        """Rewrite a ``try``, whose body refuses names without value: what handlers catch may be
        one, which is no error of the user's."""
        node.body = self._guarded(self._statements(node.body), node.body[0])
        for handler in node.handlers:
            handler.body = self._statements(handler.body)
        node.orelse = self._statements(node.orelse)
        node.finalbody = self._statements(node.finalbody)
        return node

    visit_TryStar = visit_Try

    def visit_With(self, node: ast.With) -> ast.AST | list[ast.stmt]:
        """Rewrite a ``with`` as a ``try``: the manager may catch an error."""
        node.items = [self.visit(item) for item in node.items]
        node.body = self._guarded(self._statements(node.body), node.body[0])
        return node

    def _guarded(self, body: list[ast.stmt], where: Any) -> list[ast.stmt]:
        """Put statements into a ``try`` that refuses to go on with a name that only one branch on a
        value bound."""
        if all(isinstance(s, ast.Pass) for s in body):
            return body
        error = self._name("error")
        refused = ast.Raise(expression("H.unbound(E)", E=ast.Name(error, ast.Load())))
        handler = ast.ExceptHandler(expression("H.Unbound"), error, [refused])
        return [_at(ast.Try(body, [handler], [], []), where)]

    def visit_AsyncFunctionDef(self, node: Any) -> ast.AST | list[ast.stmt]:
        return node

    def visit_ClassDef(self, node: Any) -> ast.AST | list[ast.stmt]:
        return node

    def body(self, stmts: list[ast.stmt]) -> list[ast.stmt]:
        return self._guarded(self._statements(stmts), stmts[0])

    def _statements(self, stmts: Iterable[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for s in stmts:
            found = self.visit(s)
            out += found if isinstance(found, list) else [found]
        return out

    def _name(self, what: str) -> str:
        self._n += 1
        return f"__torchlike_{what}_{self._n}"

    def _function(
        self,
        name: str,
        parameters: Sequence[str],
        body: list[ast.stmt],
        results: Sequence[str] | None,
    ) -> ast.stmt:
        """Make a branch or body a function of the names it binds, which it gives back."""
        undefined = [_forget(p) for p in parameters]
        if results is not None:
            body = [*body, ast.Return(_values(results))]
        arguments = ast.arguments(
            posonlyargs=[],
            args=[ast.arg(p) for p in parameters],
            kwonlyargs=[],
            kw_defaults=[],
            defaults=[],
        )
        return ast.FunctionDef(name, arguments, [*undefined, *body], [])

    def _bind(self, names: Sequence[str], call: ast.expr) -> list[ast.stmt]:
        if not names:
            return [ast.Expr(call)]
        targets = ast.Tuple([ast.Name(n, ast.Store()) for n in names], ast.Store())
        return [ast.Assign([targets], call), *(_forget(n) for n in names)]

    def _where(self, node: ast.AST) -> ast.expr:
        return ast.Constant(f"{self._file}:{node.lineno}")  # type: ignore[attr-defined]

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        returning = _inside([node], ast.Return)
        whole = [*node.body, *node.orelse]
        bound = list(bound_names(whole))
        stays = (
            _inside(whole, (ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal))
            or _inside(whole, (ast.Break, ast.Continue), (*_FUNCTIONS, *_LOOPS))
            or kept_by_functions(whole, bound)
            or (
                returning
                and not (
                    _always_leaves(node.body, (ast.Return,))
                    and _always_leaves(node.orelse, (ast.Return,))
                )
            )
        )
        test = self._test(node.test)
        if stays:
            node.test = test
            node.body, node.orelse = self._statements(node.body), self._statements(node.orelse)
            return node
        yes, no = self._name("yes"), self._name("no")
        taken = _among(bound, liveness.before(node))
        names = _among(bound, liveness.after(node))
        results = None if returning else names
        functions = [
            self._function(yes, taken, self._statements(node.body), results),
            self._function(no, taken, self._statements(node.orelse) or [ast.Pass()], results),
        ]
        call = expression(
            f"H.{'choose_return' if returning else 'choose'}(TEST, {yes}, {no}, VALUES, NAMES, "
            "WHERE)",
            TEST=test,
            VALUES=_values(taken),
            NAMES=_strings(names),
            WHERE=self._where(node),
        )
        last = [ast.Return(call)] if returning else self._bind(names, call)
        return [_at(s, node) for s in (*functions, *last)]

    def visit_While(self, node: ast.While) -> ast.AST | list[ast.stmt]:
        bound = list(bound_names([*node.body, ast.Expr(node.test)]))
        names = _among(bound, liveness.after(node))
        done = getattr(node, "done", None)
        stays = (
            bool(node.orelse)
            or _inside(node.body, (ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal))
            or _inside(node.body, (ast.Break, ast.Continue), (*_FUNCTIONS, *_LOOPS))
            or _inside(node.body, ast.Return)
            or _inside([node.test], ast.NamedExpr)
            or kept_by_functions([*node.body, node.test], bound)
        )
        test = self._test(node.test)
        if done is not None:
            test = expression(
                f"H.and_(H.not_({done}), lambda: TEST, True, W)", TEST=test, W=self._where(node)
            )
        if stays:
            node.test, node.body = test, self._statements(node.body)
            node.orelse = self._statements(node.orelse)
            return node
        holds, turn = self._name("test"), self._name("turn")
        functions = [
            self._function(holds, names, [ast.Return(test)], None),
            self._function(turn, names, self._statements(node.body), names),
        ]
        call = expression(
            f"H.loop({holds}, {turn}, VALUES, NAMES, WHERE)",
            VALUES=_values(names),
            NAMES=_strings(names),
            WHERE=self._where(node),
        )
        return [_at(s, node) for s in (*functions, *self._bind(names, call))]

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        done = getattr(node, "done", None)
        ranged = (
            isinstance(node.iter, ast.Call)
            and isinstance(node.iter.func, ast.Name)
            and node.iter.func.id == "range"
            and not node.iter.keywords
            and not all(isinstance(a, ast.Constant) for a in node.iter.args)
        )
        item = self._name("item")
        taken = ast.Assign([node.target], ast.Name(item, ast.Load()))
        body = [_at(taken, node), *node.body]
        bound = list(bound_names(body))
        names = _among(bound, liveness.after(node))
        stays = (
            not (done or ranged)
            or bool(node.orelse)
            or _inside(node.body, (ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal))
            or _inside(node.body, (ast.Break, ast.Continue), (*_FUNCTIONS, *_LOOPS))
            or _inside(node.body, ast.Return)
            or kept_by_functions(body, bound)
        )
        if stays:
            if done is not None:
                stop = ast.If(ast.Name(done, ast.Load()), [ast.Break()], [])
                node.body = [*node.body, _at(stop, node)]
            node.iter = self.visit(node.iter)
            node.body, node.orelse = self._statements(node.body), self._statements(node.orelse)
            return node
        rows = self.visit(node.iter)
        if ranged:
            rows.args.insert(0, rows.func)
            rows.func = expression("H.range_")
        turn = self._name("turn")
        parameters = [item, *names]
        function = self._function(turn, parameters, self._statements(body), names)
        call = expression(
            f"H.for_each(ROWS, {turn}, VALUES, NAMES, {done!r}, WHERE)",
            ROWS=rows,
            VALUES=_values(names),
            NAMES=_strings(names),
            WHERE=self._where(node),
        )
        return [_at(s, node) for s in (function, *self._bind(names, call))]

    # -- expressions -------------------------------------------------------------------------------

    def _plain(self, *nodes: ast.AST) -> bool:
        """Return whether expressions may be put off into a lambda."""
        return not _inside(nodes, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom), ())

    def _test(self, node: Any) -> ast.expr:
        """Rewrite an expression of which only the truth matters."""
        if isinstance(node, ast.BoolOp) and self._plain(node):
            return self._joined(node, True)
        if isinstance(node, ast.Compare) and len(node.ops) > 1 and self._plain(node):
            return self._compared(node, True)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return _at(expression("H.not_(X)", X=self._test(node.operand)), node)
        if isinstance(node, ast.Call) and _asks_bool(node):
            call = expression("H.truth(F, X)", F=node.func, X=self.visit(node.args[0]))
            return _at(call, node)
        return self.visit(node)

    def _joined(self, node: ast.BoolOp, as_test: bool) -> ast.expr:
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        visit = self._test if as_test else self.visit
        *others, result = [visit(v) for v in node.values]
        for value in reversed(others):
            result = expression(
                f"H.{name}(A, lambda: B, {as_test}, W)", A=value, B=result, W=self._where(node)
            )
        return _at(result, node)

    def _compared(self, node: ast.Compare, as_test: bool) -> ast.expr:
        rest = [
            expression("(O, lambda: X)", O=ast.Constant(type(op).__name__), X=self.visit(x))
            for op, x in zip(node.ops, node.comparators, strict=True)
        ]
        call = expression(
            f"H.compare(A, REST, {as_test}, W)",
            A=self.visit(node.left),
            REST=ast.Tuple(rest, ast.Load()),
            W=self._where(node),
        )
        return _at(call, node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        return self._joined(node, False) if self._plain(node) else self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if len(node.ops) > 1 and self._plain(node):
            return self._compared(node, False)
        return self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if isinstance(node.op, ast.Not):
            return _at(expression("H.not_(X)", X=self._test(node.operand)), node)
        return self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        if not self._plain(node.body, node.orelse):
            return self.generic_visit(node)
        call = expression(
            "H.pick(TEST, lambda: A, lambda: B, WHERE)",
            TEST=self._test(node.test),
            A=self.visit(node.body),
            B=self.visit(node.orelse),
            WHERE=self._where(node),
        )
        return _at(call, node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or isinstance(node.slice, (ast.Constant, ast.Slice)):
            return node
        call = expression("H.item_of(X, I)", X=node.value, I=node.slice)
        if _inside([node.slice], ast.Slice, ()):
            return node
        return _at(call, node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Rewrite a call, ``super()`` too, which would look at the arguments of the function it is
        moved into."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            if self._first is None:
                raise Unconvertible("super() without a first argument")
            node.args = [ast.Name("__class__", ast.Load()), ast.Name(self._first, ast.Load())]
        return node


def _asks_bool(call: ast.Call) -> bool:
    """Return whether a call is ``bool(x)``, by its name."""
    return (
        isinstance(call.func, ast.Name)
        and call.func.id == "bool"
        and len(call.args) == 1
        and not isinstance(call.args[0], ast.Starred)
        and not call.keywords
    )


def _values(names: Sequence[str]) -> ast.expr:
    """Return an expression for the values of names, or the mark of a name that has none."""
    return ast.Tuple(
        [expression("H.get(lambda: NAME)", NAME=ast.Name(n, ast.Load())) for n in names], ast.Load()
    )


def _strings(names: Sequence[str]) -> ast.expr:
    return ast.Tuple([ast.Constant(n) for n in names], ast.Load())


def _forget(name: str) -> ast.stmt:
    """Return the statement ``if name is the mark of no value: del name``."""
    test = expression("NAME is H.UNDEFINED", NAME=ast.Name(name, ast.Load()))
    return ast.If(test, [ast.Delete([ast.Name(name, ast.Del())])], [])
