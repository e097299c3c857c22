"""``infer_schema``: an operator's schema from the annotations of a Python function."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

from torchlike._core import devices, dtypes
from torchlike.ops._aten.schema_language import _REQUIRED, Argument, FunctionSchema, Type
from torchlike.tensor import Tensor

_BASES: dict[Any, str] = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    dtypes.dtype: "ScalarType",
    devices.device: "Device",
}
_NUMBER = frozenset((int, float, bool))
_PLAIN = {(), ("?",)}
_LISTS = _PLAIN | {("[]",), ("[]", "?")}
#: Which marks a base may have, in the order they are written.
_MARKS = {
    "Tensor": _PLAIN | {("[]",), ("?", "[]")},
    "SymInt": _LISTS,
    "float": _LISTS,
    "bool": _LISTS,
    "Scalar": _PLAIN | {("[]",)},
    "str": _PLAIN,
    "ScalarType": _PLAIN,
    "Device": _PLAIN,
}
_RETURNED = {"Tensor", "SymInt", "float", "bool", "Scalar"}


def _type(annotation: Any) -> Type | None:
    """Return the schema's type for an annotation, None where there is none."""
    if annotation in _BASES:
        return Type(_BASES[annotation])
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        rest = frozenset(args) - {type(None)}
        inner = Type("Scalar") if rest == _NUMBER else _type(*rest) if len(rest) == 1 else None
        optional = ("?",) if type(None) in args else ()
        return None if inner is None else Type(inner.base, inner.marks + optional)
    if origin in (list, collections.abc.Sequence) and len(args) == 1:
        inner = _type(args[0])
        return None if inner is None else Type(inner.base, (*inner.marks, "[]"))
    return None


def _valid() -> str:
    return ", ".join(f"{b}{''.join(m)}" for b in _MARKS for m in sorted(_MARKS[b]))


def infer(
    function: Callable[..., Any], mutates_args: str | Iterable[str], name: str = ""
) -> FunctionSchema:
    """Infer the schema of a function. ValueError in PyTorch's words for one that cannot be
    written."""
    signature = inspect.signature(function, eval_str=True)

    def refuse(why: str) -> typing.NoReturn:
        raise ValueError(f"infer_schema(func): {why} Got func with signature {signature})")

    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError(
            "mutates_args must either be a sequence of the names of the arguments that are mutated "
            "or the string 'unknown'. "
        )
    written = "unknown" if mutates_args == "unknown" else frozenset(mutates_args)
    arguments: list[Argument] = []
    for p in signature.parameters.values():
        position = sum(bool(a.alias) for a in arguments)
        arguments.append(_argument(p, written, position, refuse))
    unknown = set() if written == "unknown" else set(written) - set(signature.parameters)
    if unknown:
        refuse(
            f"{unknown} in mutates_args were not found in the custom op's signature. "
            "mutates_args should contain the names of all args that the custom op mutates, or "
            "just the string 'unknown' if you don't know."
        )
    result = signature.return_annotation
    if result is signature.empty:
        refuse("No return type annotation was provided. Please add one.")
    if result is None:
        return FunctionSchema(name, tuple(arguments), (), False)
    single = typing.get_origin(result) is not tuple
    return FunctionSchema(name, tuple(arguments), _returns(result, single, refuse), single)


def _argument(
    p: inspect.Parameter,
    written: Any,
    position: int,
    refuse: Callable[[str], typing.NoReturn],
) -> Argument:
    """Return the schema's argument for a parameter; ``position`` is its number among the written
    ones."""
    if p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
        refuse("We do not support positional-only args, varargs, or varkwargs.")
    if p.annotation is p.empty:
        refuse(f"Parameter {p.name} must have a type annotation.")
    kind = _type(p.annotation)
    if kind is None or kind.marks not in _MARKS[kind.base]:
        tuples = typing.get_origin(p.annotation) is tuple
        refuse(
            f"Parameter {p.name} has unsupported type {p.annotation}. "
            + "We do not support Tuple inputs in schema. As a workaround, please try to use "
            "List instead. " * tuples + f"The valid types are: {_valid()}."
        )
    alias = ""
    if kind.holds_tensors and (written == "unknown" or p.name in written):
        alias = f"(a{position}!)"
    elif written != "unknown" and p.name in written:
        refuse(
            f"Parameter {p.name} is in mutable_args but only Tensors or collections of "
            "Tensors can be mutated"
        )
    default = _REQUIRED if p.default is p.empty else p.default
    known = (int, float, bool, str, dtypes.dtype, devices.device, type(None))
    if default is not _REQUIRED and not isinstance(default, known):
        refuse(
            f"Parameter {p.name} has an unsupported default value type {type(default)}. "
            "Give one of int, float, bool, str, dtype, device or None."
        )
    if isinstance(default, devices.device):
        default = str(default)  # as schemas have it
    return Argument(p.name, kind, default, p.kind is p.KEYWORD_ONLY, alias)


def _returns(
    result: Any, single: bool, refuse: Callable[[str], typing.NoReturn]
) -> tuple[Any, ...]:
    """Return the types of the results that a function is annotated with."""
    returns = [_type(r) for r in ((result,) if single else typing.get_args(result))]
    for r in returns:
        if r is None or r.base not in _RETURNED or r.marks not in ((), ("[]",)):
            refuse(
                f"Return has unsupported type {result}. The valid types are: Tensor, "
                "list[Tensor], int, float, bool and tuples of them."
            )
    return tuple(r for r in returns if r is not None)


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
    tags: Any = (),
) -> str:
    """Infer the schema of a function with annotations, as text: ``(Tensor x, float s=2.) ->
    Tensor``.

    mutates_args: names of the tensors it changes in place, or "unknown" (all of them).

    ValueError for what has no annotation, or one that has no type in a schema.
    """
    return str(infer(prototype_function, mutates_args, op_name or ""))
