"""Rewrites user functions whose control flow asks for a tensor's value, while a capture runs.

A capture runs Python as it is. Only when ``bool()`` of a tensor was refused are the user's
functions on the stack rewritten and the capture tried again. The rewritten code takes the place of
the function's code object while the capture runs, so it is found wherever the function is called
from: methods, hooks, the forward of modules.

Control flow becomes calls of ``operators``:

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
import __future__ as future

import ast
import contextlib
import functools
import linecache
import types
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from torchlike._core.errors import JitCaptureError
from torchlike._jit.guards.objects import FunctionGuard
from torchlike._jit.trace import operators, statements
from torchlike._jit.trace.statements import (
    FUNCTIONS,
    LOOPS,
    Jumps,
    Unconvertible,
    always_leaves,
    bound_names,
    has_inside,
    kept_by_functions,
    placed_at,
)
from torchlike._runtime.collector import functions_of
from torchlike._runtime.patches import in_use

#: What of the refused questions a conversion may answer.
_ANSWERED = frozenset(
    ("bool(tensor)", "a tensor used as a Python index", "float(tensor)", "int(tensor)")
)
_FUTURE_FLAGS = functools.reduce(
    lambda a, b: a | b, (getattr(future, n).compiler_flag for n in future.all_feature_names)
)
#: How the names begin of functions that rewriting makes.
_MADE = "__torchlike_"
_NOT_PLAIN = 0x20 | 0x80 | 0x100 | 0x200  # generators and coroutines
#: What would mean something else in a function of its own.
_STAYING = (ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal)
#: Stands for the module ``operators`` until the code object is made.
HELPER = "\0torchlike.jit.branching"


class Conversion:
    """The functions that one jitted function has converted so far."""

    def __init__(self) -> None:
        #: Code objects as they were: {rewritten: original}.
        self._originals: dict[types.CodeType, types.CodeType] = {}
        self._functions: list[tuple[types.FunctionType, types.CodeType]] = []
        #: Code nested in the rewritten, which is rewritten with it.
        self._inside: set[types.CodeType] = set()

    @property
    def active(self) -> bool:
        """Whether any function is rewritten."""
        return bool(self._functions)

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """Give the functions their rewritten code."""
        with contextlib.ExitStack() as swapped:
            for fn, rewritten in self._functions:
                if fn.__code__ is self._originals[rewritten]:
                    change = in_use.USERS_CODE.replacing(fn, "__code__", rewritten)
                    swapped.enter_context(change)
            yield

    def extend(self, error: JitCaptureError) -> bool:
        """Convert the functions that ran when the error was raised; whether there were new ones."""
        if getattr(error, "asked", "") not in _ANSWERED:
            return False
        why_not = ""
        fresh: dict[int, tuple[types.CodeType, types.CodeType]] = {}
        for code in vars(error).get("codes", ()):
            if code in self._originals or code in self._inside:
                continue
            try:
                rewritten = rewritten_code(code)
            except Unconvertible as problem:
                why_not = f"  ({code.co_qualname} was not converted: {problem}.)"
                continue
            if rewritten in self._originals:
                continue  # of a function that each capture makes anew: no conversion reaches it
            self._originals[rewritten] = code
            self._inside.update(_nested(rewritten))
            fresh[id(code)] = code, rewritten
        known = {id(fn) for fn, _ in self._functions}
        # Once for all: each time looks at every object that Python's collector knows.
        functions = functions_of([code for code, _ in fresh.values()]) if fresh else []
        found = [(fn, fresh[id(fn.__code__)][1]) for fn in functions if id(fn) not in known]
        self._functions += found
        if why_not and not found:
            error.args = (f"{error.args[0]}\n{why_not}", *error.args[1:])
        return bool(found)

    def forgive(self, observer: Any) -> None:
        """Let guards on functions compare the code that these have at other times, which is not the
        code that a capture saw."""
        for guard in observer.guards.values():
            if isinstance(guard, FunctionGuard):
                guard.code = self._originals.get(guard.code, guard.code)


@functools.lru_cache(maxsize=512)
def rewritten_code(code: types.CodeType) -> types.CodeType:
    """Rewrite the control flow of code and return it. Unconvertible where that cannot be done."""
    node, class_name = source_of(code)
    arguments = node.args
    body: list[ast.stmt] = node.body
    if isinstance(node, ast.Lambda):
        body = [ast.copy_location(ast.Return(node.body), node)]
    first = [*arguments.posonlyargs, *arguments.args]
    body = Jumps().function(body)
    for s in body:
        ast.fix_missing_locations(s)
    rewriter = Rewriter(first[0].arg if first else None, code.co_filename.rpartition("/")[2])
    found = compiled(code, node, class_name, arguments, rewriter.body(body))
    if found.co_freevars != code.co_freevars:
        raise Unconvertible("its closure would change")
    return found


def source_of(code: types.CodeType) -> tuple[Any, str]:
    """Return the syntax tree of a plain function, without its defaults and annotations, and the
    name of the class around it. Unconvertible where there is none."""
    if code.co_flags & _NOT_PLAIN:
        raise Unconvertible("it is a generator or coroutine")
    lines = linecache.getlines(code.co_filename)
    if not lines:
        raise Unconvertible("its source cannot be found")
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError as error:
        raise Unconvertible("its source cannot be parsed") from error
    node, class_name = _find(tree, code)
    arguments = node.args
    arguments.defaults, arguments.kw_defaults = [], [None] * len(arguments.kwonlyargs)
    for a in ast.walk(arguments):
        if isinstance(a, ast.arg):
            a.annotation = None
    return node, class_name


def compiled(
    code: types.CodeType, node: Any, class_name: str, arguments: ast.arguments, body: list[ast.stmt]
) -> types.CodeType:
    """Compile a function with other arguments and statements in the place of a user's, whose
    ``code`` and syntax tree are given: names, lines and the variables around it are the same."""
    name = f"{_MADE}function"
    made = ast.FunctionDef(name, arguments, body, [])
    made.type_params = []  # type: ignore[attr-defined]
    outer = ast.arguments(
        posonlyargs=[],
        args=[ast.arg(v) for v in code.co_freevars],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )
    factory = ast.FunctionDef(f"{_MADE}factory", outer, [made], [])
    factory.type_params = []  # type: ignore[attr-defined]
    module = ast.Module([_Mangled(class_name).visit(factory)], [])
    for n in ast.walk(module):
        if isinstance(n, ast.FunctionDef) and not hasattr(n, "type_params"):
            n.type_params = []  # type: ignore[attr-defined]
    ast.copy_location(made, node)
    ast.copy_location(factory, node)
    ast.fix_missing_locations(module)
    try:
        whole = compile(
            module,
            code.co_filename,
            "exec",
            flags=code.co_flags & _FUTURE_FLAGS,
            dont_inherit=True,
        )
    except (SyntaxError, ValueError) as error:
        raise Unconvertible(f"its rewritten form does not compile ({error})") from error
    found = _finished(_inner(_inner(whole, f"{_MADE}factory"), name), code)
    return found.replace(
        co_name=code.co_name, co_qualname=code.co_qualname, co_firstlineno=code.co_firstlineno
    )


def _inner(code: types.CodeType, name: str) -> types.CodeType:
    return next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == name)


def _finished(code: types.CodeType, original: types.CodeType) -> types.CodeType:
    """Return the code with the helper module in place of its mark, and with the names of the user's
    function, as tracebacks show them: a branch that has become a function is part of it."""
    constants = tuple(
        operators
        if c == HELPER and isinstance(c, str)
        else _finished(c, original)
        if isinstance(c, types.CodeType)
        else c
        for c in code.co_consts
    )
    name = original.co_name if code.co_name.startswith(_MADE) else code.co_name
    outer = f"{_MADE}factory.<locals>.{_MADE}function"
    rest = [
        part
        for part in code.co_qualname.removeprefix(outer).split(".<locals>.")
        if not part.startswith(_MADE)
    ]
    qualname = ".<locals>.".join((original.co_qualname, *filter(None, rest)))
    return code.replace(co_consts=constants, co_name=name, co_qualname=qualname)


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            yield c
            yield from _nested(c)


def _find(tree: ast.AST, code: types.CodeType) -> tuple[Any, str]:
    """Find the function's node in its file, and the name of the class around it."""
    candidates: list[tuple[Any, str]] = []

    def walk(node: ast.AST, class_name: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.Lambda)):
                first = child.lineno
                if isinstance(child, ast.FunctionDef):
                    first = min([first, *(d.lineno for d in child.decorator_list)])
                name = "<lambda>" if isinstance(child, ast.Lambda) else child.name
                if name == code.co_name and first == code.co_firstlineno:
                    candidates.append((child, class_name))
            walk(child, child.name if isinstance(child, ast.ClassDef) else class_name)

    walk(tree, "")
    if len(candidates) > 1:
        candidates = [(n, c) for n, c in candidates if _covers(n, code)]
    if len(candidates) != 1:
        raise Unconvertible("its source cannot be told from that of its neighbours")
    return candidates[0]


def _covers(node: Any, code: types.CodeType) -> bool:
    """Return whether the code's instructions lie exactly within a lambda's body."""
    if not isinstance(node, ast.Lambda):
        return True
    body = node.body
    spans = [p for p in code.co_positions() if None not in p and p[3]]
    begin = min((p[0], p[2]) for p in spans)
    end = max((p[1], p[3]) for p in spans)
    return (begin, end) == ((body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset))


class _Mangled(ast.NodeTransformer):
    """Private names of a class (``self.__x``), which the compiler renames only inside it."""

    def __init__(self, class_name: str) -> None:
        self._prefix = f"_{class_name.lstrip('_')}" if class_name.strip("_") else ""

    def _name(self, name: str) -> str:
        private = name.startswith("__") and not name.endswith("__") and "." not in name
        return self._prefix + name if private and not name.startswith(_MADE) else name

    def visit_Name(self, node: ast.Name) -> ast.expr:
        node.id = self._name(node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        node.attr = self._name(node.attr)
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg = self._name(node.arg)
        return node


# -- the syntax tree -------------------------------------------------------------------------------


def expression(source: str, **nodes: ast.expr) -> Any:
    """Parse an expression, with names in it replaced by nodes."""
    tree = ast.parse(source, mode="eval").body
    for node in ast.walk(tree):
        for place in ("lineno", "end_lineno", "col_offset", "end_col_offset"):
            vars(node).pop(place, None)  # they are the user's line's, filled in by placed_at
    return _FillTemplate(nodes).visit(tree)


class _FillTemplate(ast.NodeTransformer):
    def __init__(self, nodes: dict[str, ast.expr]) -> None:
        self._nodes = nodes

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == "H":
            return ast.Constant(HELPER)
        return self._nodes.get(node.id, node)


def _among(names: Iterable[str], live: frozenset[str]) -> list[str]:
    return [name for name in names if name in live]


class Rewriter(ast.NodeTransformer):
    """``if``, loops, and boolean expressions of one function as calls of the helper."""

    def __init__(self, first_argument: str | None, file: str) -> None:
        self._first = first_argument
        self._file = file
        self._n = 0

    # -- statements --------------------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST | list[ast.stmt]:
        """Rewrite a nested function too, its own jumps taken out."""
        if has_inside(node.body, (ast.Yield, ast.YieldFrom)):
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
        return [placed_at(ast.Try(body, [handler], [], []), where)]

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
        returning = has_inside([node], ast.Return)
        whole = [*node.body, *node.orelse]
        bound = list(bound_names(whole))
        stays = (
            has_inside(whole, _STAYING)
            or has_inside(whole, (ast.Break, ast.Continue), (*FUNCTIONS, *LOOPS))
            or kept_by_functions(whole, bound)
            or (
                returning
                and not (
                    always_leaves(node.body, (ast.Return,))
                    and always_leaves(node.orelse, (ast.Return,))
                )
            )
        )
        test = self._test(node.test)
        if stays:
            node.test = test
            node.body, node.orelse = self._statements(node.body), self._statements(node.orelse)
            return node
        yes, no = self._name("yes"), self._name("no")
        taken = _among(bound, statements.before(node))
        names = _among(bound, statements.after(node))
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
        return [placed_at(s, node) for s in (*functions, *last)]

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        self.generic_visit(node)
        call = expression("H.holds(TEST, WHERE)", TEST=node.test, WHERE=self._where(node))
        node.test = placed_at(call, node)
        return node

    def visit_While(self, node: ast.While) -> ast.AST | list[ast.stmt]:
        bound = list(bound_names([*node.body, ast.Expr(node.test)]))
        names = _among(bound, statements.after(node))
        done = getattr(node, "done", None)
        stays = (
            bool(node.orelse)
            or has_inside(node.body, _STAYING)
            or has_inside(node.body, (ast.Break, ast.Continue), (*FUNCTIONS, *LOOPS))
            or has_inside(node.body, ast.Return)
            or has_inside([node.test], ast.NamedExpr)
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
        return [placed_at(s, node) for s in (*functions, *self._bind(names, call))]

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
        body = [placed_at(taken, node), *node.body]
        bound = list(bound_names(body))
        names = _among(bound, statements.after(node))
        stays = (
            not (done or ranged)
            or bool(node.orelse)
            or has_inside(node.body, _STAYING)
            or has_inside(node.body, (ast.Break, ast.Continue), (*FUNCTIONS, *LOOPS))
            or has_inside(node.body, ast.Return)
            or kept_by_functions(body, bound)
        )
        if stays:
            if done is not None:
                stop = ast.If(ast.Name(done, ast.Load()), [ast.Break()], [])
                node.body = [*node.body, placed_at(stop, node)]
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
        return [placed_at(s, node) for s in (function, *self._bind(names, call))]

    # -- expressions -------------------------------------------------------------------------------

    def _plain(self, *nodes: ast.AST) -> bool:
        """Return whether expressions may be put off into a lambda."""
        return not has_inside(nodes, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom), ())

    def _test(self, node: Any) -> ast.expr:
        """Rewrite an expression of which only the truth matters."""
        if isinstance(node, ast.BoolOp) and self._plain(node):
            return self._joined(node, True)
        if isinstance(node, ast.Compare) and len(node.ops) > 1 and self._plain(node):
            return self._compared(node, True)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return placed_at(expression("H.not_(X)", X=self._test(node.operand)), node)
        if isinstance(node, ast.Call) and _asks_bool(node):
            call = expression("H.truth(F, X)", F=node.func, X=self.visit(node.args[0]))
            return placed_at(call, node)
        return self.visit(node)

    def _joined(self, node: ast.BoolOp, as_test: bool) -> ast.expr:
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        visit = self._test if as_test else self.visit
        *others, result = [visit(v) for v in node.values]
        for value in reversed(others):
            result = expression(
                f"H.{name}(A, lambda: B, {as_test}, W)", A=value, B=result, W=self._where(node)
            )
        return placed_at(result, node)

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
        return placed_at(call, node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        return self._joined(node, False) if self._plain(node) else self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if len(node.ops) > 1 and self._plain(node):
            return self._compared(node, False)
        return self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if isinstance(node.op, ast.Not):
            return placed_at(expression("H.not_(X)", X=self._test(node.operand)), node)
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
        return placed_at(call, node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or isinstance(node.slice, (ast.Constant, ast.Slice)):
            return node
        call = expression("H.item_of(X, I)", X=node.value, I=node.slice)
        if has_inside([node.slice], ast.Slice, ()):
            return node
        return placed_at(call, node)

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
