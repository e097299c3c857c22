"""From the registry to typed signatures: what `inspect.signature`, docstrings, type stubs and the
page of operators are made of."""

from __future__ import annotations

import ast
import functools
import inspect
import re
import textwrap
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, get_args

from torchlike._core.dispatch import schema
from torchlike._core.dispatch.spec import OpSpec
from torchlike._runtime.function_objects import bare, first_of

#: Names that may stand in a stub's annotation.
KNOWN = {
    "Any",
    "Tensor",
    "int",
    "float",
    "bool",
    "str",
    "bytes",
    "complex",
    "None",
    "tuple",
    "list",
    "dict",
    "set",
    "Sequence",
    "Iterable",
    "Callable",
    "Generator",
    "Size",
    "dtype",
    "device",
    "memory_format",
    "layout",
    "object",
    "type",
    "Number",
    "np",
}


#: The type that a user may pass for a parameter of each annotation.
_TYPES = {
    "Input": "Tensor",
    "OptInput": "Tensor | None",
    "Operand": "Tensor | Number",
    "OptOperand": "Tensor | Number | None",
    "Inputs": "Sequence[Tensor]",
    "Scalar": "Number",
    "Factor": "Number",
    "OwnFactor": "Number",
    "ComputedFactor": "Number",
    "Weight": "Tensor | Number",
    "OptInexact": "Tensor | Number | None",
    "OptScalar": "Number | None",
    "Int": "int",
    "OptInt": "int | None",
    "Bool": "bool",
    "OptBool": "bool | None",
    "Float": "float",
    **dict.fromkeys(("OwnFloat", "FloatBound", "ComputedFloat"), "float"),
    "OptFloat": "float | None",
    "Str": "str",
    "OptStr": "str | None",
    "Dims": "int | Sequence[int] | None",
    "IntOrInts": "int | Sequence[int]",
    "Shape": "int | Sequence[int]",
    "OptShape": "Sequence[int] | None",
    "DType": "dtype | None",
    "Number": "Number",
    **dict.fromkeys(("OwnNumber", "ComputedNumber", "NumberLimit"), "Number"),
    "OptNumber": "Number | None",
    "Static": "Any",
}
#: The same by the identity of the annotation's kind.
_KINDS = {id(get_args(getattr(schema, name))[1]): text for name, text in _TYPES.items()}
#: Kinds that a family defines for itself are typed by what they say they expect.
_EXPECTED = {
    "tuple of ints": "Sequence[int]",
    "int or tuple of ints": "int | Sequence[int]",
    "int, tuple of ints or str": "int | Sequence[int] | str",
}


def _type_of(kind: schema.Kind) -> str:
    found = _KINDS.get(id(kind))
    if found is None:
        found = _EXPECTED.get(kind.expects, "Any")
        if kind.optional and found != "Any":
            found += " | None"
    return found


@dataclass(frozen=True)
class TypedParameter:
    """One parameter; ``prefix`` is "", "*" or "**"."""

    name: str
    type: str
    default: str | None = None
    keyword_only: bool = False
    prefix: str = ""
    #: The default itself.
    value: Any = inspect.Parameter.empty

    def text(self, spelled: Callable[[str], str]) -> str:
        """Write the parameter as it stands in a definition; ``spelled`` writes its type."""
        default = "" if self.default is None else f" = {self.default}"
        return f"{self.prefix}{self.name}: {spelled(self.type)}{default}"


@dataclass(frozen=True)
class TypedSignature:
    """A public function as a user sees it; ``doc`` is what its definition says."""

    parameters: tuple[TypedParameter, ...]
    returns: str
    doc: str

    def text(self, spelled: Callable[[str], str] = str, *, method: bool = False) -> str:
        """Write the parameter list between parentheses; ``spelled`` writes a type."""
        parts: list[str] = []
        own = self.parameters
        if method:
            parts.append("self")
            own = own if own and own[0].prefix else own[1:]
        starred = False
        for p in own:
            if p.keyword_only and not starred:
                parts.append("*")
                starred = True
            starred = starred or p.prefix == "*"
            parts.append(p.text(spelled))
        return ", ".join(parts)


def _default(value: Any) -> str | None:
    if value is inspect.Parameter.empty:
        return None
    return repr(value) if isinstance(value, (int, float, str, bool, type(None))) else "..."


def _doc(fn: Callable[..., Any]) -> str:
    # As it stands at the definition: `str`'s own method, which makes no whole docstring of it.
    doc = fn.__doc__
    return "" if doc is None else inspect.cleandoc(str.expandtabs(doc))


@functools.cache
def returns_tuple(fn: Callable[..., Any]) -> bool:
    """Return whether a pure function returns a tuple: some ``return`` of its own gives one."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(fn)))
    except (OSError, TypeError, SyntaxError):
        return False
    function = tree.body[0]
    inner = {
        id(n)
        for f in ast.walk(function)
        if isinstance(f, (ast.FunctionDef, ast.Lambda)) and f is not function
        for n in ast.walk(f)
    }
    return any(
        isinstance(n, ast.Return) and isinstance(n.value, ast.Tuple) and id(n) not in inner
        for n in ast.walk(function)
    )


def of_op(spec: OpSpec, *, in_place: bool = False) -> TypedSignature:
    """Return the signature of a registered op, or of its in-place twin."""
    s = spec.schema
    parameters = []
    for i, (name, kind, default) in enumerate(zip(s.names, s.kinds, s.defaults, strict=True)):
        shown = _default(default)
        parameters.append(
            TypedParameter(name, _type_of(kind), shown, i >= s.positional, value=default)
        )
    # A parameter without default cannot follow one that has one; operands may come late.
    seen = False
    for i, p in enumerate(parameters):
        seen = seen or p.default is not None
        if seen and p.default is None and not p.keyword_only:
            parameters[i] = TypedParameter(p.name, p.type, "...")
    many = spec.returns is not None or returns_tuple(spec.fn)
    if not in_place:
        out = "Sequence[Tensor] | None" if many else "Tensor | None"
        parameters.append(TypedParameter("out", out, "None", keyword_only=True, value=None))
    returns = (
        "Any"
        if spec.returns is not None
        else ("tuple[Tensor, ...]" if many and not in_place else "Tensor")
    )
    return TypedSignature(tuple(parameters), returns, _doc(spec.fn))


def _annotation(text: Any) -> str:
    """Return an annotation as it may stand in a stub: Any where it names something private."""
    if text is inspect.Parameter.empty or not isinstance(text, str):
        return "Any"
    if text in _TYPES:
        return _TYPES[text]
    names = set(re.findall(r"[A-Za-z_][A-Za-z_0-9]*", text))
    return text if names <= KNOWN else "Any"


def of_composite(fn: Callable[..., Any]) -> TypedSignature:
    """Return the signature of a Python function made of ops."""
    view = vars(fn).get("copy_of_view")
    if view is not None:
        out = TypedParameter("out", "Any", "None", keyword_only=True, value=None)
        return replace(of(view), parameters=(*of(view).parameters, out), doc=_doc(fn))
    marked = vars(fn).get("__signature__")
    signature = getattr(marked, "written", marked)
    if signature is None:
        signature = inspect.signature(bare(inspect.unwrap(fn)))
    parameters = []
    for p in signature.parameters.values():
        prefix = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        parameters.append(
            TypedParameter(
                p.name,
                _annotation(p.annotation),
                _default(p.default),
                p.kind is p.KEYWORD_ONLY,
                prefix,
                p.default,
            )
        )
    return TypedSignature(tuple(parameters), _annotation(signature.return_annotation), _doc(fn))


def of(function: Callable[..., Any]) -> TypedSignature:
    """Return the signature of anything that the registry exports."""
    spec = getattr(function, "spec", None)
    if spec is None:
        return of_composite(function)
    return of_op(spec, in_place=first_of(function) is first_of(spec.in_place))


def public(table: dict[str, Any]) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the functions of a namespace in alphabetical order."""
    for name in sorted(table):
        if isinstance(table[name], types.FunctionType) and name.isidentifier():
            yield name, table[name]
