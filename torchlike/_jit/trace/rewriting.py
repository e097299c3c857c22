"""Rewrites user functions whose control flow asks for a tensor's value, while a capture runs.

A capture runs Python as it is. Only when ``bool()`` of a tensor was refused are the user's
functions on the stack rewritten (see ``ast_transform``) and the capture tried again. The rewritten
code takes the place of the function's code object while the capture runs, so it is found wherever
the function is called from: methods, hooks, the forward of modules.
"""

from __future__ import annotations
import __future__ as future

import ast
import contextlib
import functools
import linecache
import types
from collections.abc import Iterator
from typing import Any

from torchlike._core.errors import JitCaptureError
from torchlike._jit.guards.objects import FunctionGuard
from torchlike._jit.trace import operators
from torchlike._jit.trace.ast_transform import HELPER, Jumps, Rewriter, Unconvertible
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
    body = [_at(ast.Return(node.body), node)] if isinstance(node, ast.Lambda) else node.body
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


def _at(node: Any, where: ast.AST) -> Any:
    return ast.fix_missing_locations(ast.copy_location(node, where))


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
