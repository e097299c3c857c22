"""Signatures of the functions that graphs call, and calls rewritten to name all their arguments."""

from __future__ import annotations

import builtins
import functools
import inspect
import numbers
import typing
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from torchlike._core import devices, dtypes
from torchlike._extensions.overrides import python_signatures
from torchlike._ops.aten.custom import OpOverload, OpOverloadPacket
from torchlike._runtime.homes import home
from torchlike.fx import _names
from torchlike.nn.modules.module import Module
from torchlike.ops._aten import schemas
from torchlike.ops._aten.schema_language import FunctionSchema, Type
from torchlike.random import Generator
from torchlike.tensor import Tensor

__all__ = [
    "ArgsKwargsPair",
    "check_for_mutable_operation",
    "create_type_hint",
    "get_signature_for_torch_op",
    "normalize_function",
    "normalize_module",
    "type_matches",
]

#: What annotations have for the schema language's types; dtypes and layouts are integers there.
_PYTHON_TYPES: dict[str, Any] = {
    "Tensor": Tensor,
    "int": int,
    "SymInt": int,
    "float": float,
    "bool": bool,
    "str": str,
    "Scalar": numbers.Number,
    "complex": complex,
    "ScalarType": int,
    "Layout": int,
    "MemoryFormat": int,
    "Device": devices.device,
    "Generator": Generator,
    "QScheme": int,
}


class ArgsKwargsPair(NamedTuple):
    """The arguments of a call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


# -- signatures ------------------------------------------------------------------------------------


def _python_type(kind: Type) -> Any:
    """Return a type of the schema language as an annotation: ``List[int]``,
    ``Optional[Tensor]``."""
    made = _PYTHON_TYPES.get(kind.base, Any)
    for mark in kind.marks:
        made = typing.Optional[made] if mark == "?" else typing.List[made]  # noqa: UP006, UP045
    return made


def _signature_of(schema: FunctionSchema) -> inspect.Signature:
    parameters: list[inspect.Parameter] = []
    for argument in schema.arguments:
        name = "input" if argument.name == "self" else argument.name
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        if argument.keyword_only:
            kind = inspect.Parameter.KEYWORD_ONLY
        if name == "from":  # a keyword of Python's: it and what stands before it has no name
            kind = inspect.Parameter.POSITIONAL_ONLY
            parameters = [p.replace(kind=kind) for p in parameters]
        default = inspect.Parameter.empty if argument.required else argument.default_value
        parameters.append(
            inspect.Parameter(name, kind, default=default, annotation=_python_type(argument.type))
        )
    results = [_python_type(kind) for kind in schema.returns]
    result = results[0] if len(results) == 1 else tuple(results) or None
    return inspect.Signature(parameters, return_annotation=result)


@functools.cache
def _known_forms() -> dict[str, dict[str, python_signatures.Form]]:
    rooms = {"torch.nn.functional": "nn.functional", "torch.functional": ""}
    return {place: python_signatures.table(room) for place, room in rooms.items()}


def _python_signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function that PyTorch writes in Python."""
    room, _, name = _qualified_name(function).rpartition(".")
    form = _known_forms().get(room, {}).get(name)
    if form is None or form.names[0].startswith("*"):
        return inspect.signature(inspect.unwrap(function))
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    empty = inspect.Parameter.empty
    return inspect.Signature(
        [inspect.Parameter(n, kind, default=form.defaults.get(n, empty)) for n in form.names]
    )


def _qualified_name(target: Any) -> str:
    try:
        return _names.qualified_name(target)
    except RuntimeError:  # a function without a name
        return ""


def _is_of_the_core(target: Any) -> bool:
    """Return whether a function of PyTorch is compiled, with schemas in the place of a
    signature."""
    if isinstance(target, (OpOverload, OpOverloadPacket)):
        return True
    home = getattr(target, "__module__", None)
    if home in ("_operator", "math") or getattr(builtins, _last_name(target), None) is target:
        return True
    room, _, name = _qualified_name(target).rpartition(".")
    return room.startswith("torch._C.") or (room == "torch" and bool(schemas.overloads_of(name)))


def _last_name(target: Any) -> str:
    return getattr(target, "__name__", "")


def _schemas_of(op: Any) -> list[FunctionSchema] | None:
    if isinstance(op, OpOverload):
        return [op._schema]
    if isinstance(op, OpOverloadPacket):
        return [getattr(op, name)._schema for name in op.overloads()]
    room, _, name = _qualified_name(op).rpartition(".")
    if room != "torch" and not room.startswith("torch._C."):
        return None
    return [schemas.schema(name, overload) for overload in schemas.overloads_of(name)] or None


def get_signature_for_torch_op(op: Callable[..., Any], return_schemas: bool = False) -> Any:
    """Return the signatures of the overloads of a function of ``torch`` or of ``torch.ops``, or
    None for another function. With ``return_schemas``: both them and the schemas."""
    found = _schemas_of(op)
    signatures = None if found is None else [_signature_of(schema) for schema in found]
    return (signatures, found) if return_schemas else signatures


def check_for_mutable_operation(
    target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Raise RuntimeError for a call that fits one overload alone, which writes into its
    arguments."""
    signatures, found = get_signature_for_torch_op(target, return_schemas=True)
    fitting = [
        schema
        for signature, schema in zip(signatures or (), found or (), strict=True)
        if _fits(signature, args, kwargs)
    ]
    if len(fitting) == 1 and fitting[0].is_mutable:
        raise RuntimeError(
            f"Tried to trace mutable operation {fitting[0]}. FX only supports functional code, so "
            "operations that mutate operands in-place (e.g. via `out` arguments) are not supported"
        )


def _fits(signature: inspect.Signature, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


# -- types of arguments ----------------------------------------------------------------------------


def create_type_hint(x: Any) -> Any:
    """Return the annotation for a value's types: for a list or tuple of types one of their common
    base, or of ``Any`` where none of them is that; all else is given back."""
    if not isinstance(x, (list, tuple)):
        return x
    base: Any = x[0] if x else Any
    try:
        for kind in x:
            if not issubclass(kind, base):
                base = kind if issubclass(base, kind) else Any
            if base is Any:
                break
    except TypeError:  # something in it is no type
        warnings.warn(
            f"We were not able to successfully create type hint from the type {x}", stacklevel=2
        )
        return x
    return list[base] if isinstance(x, list) else tuple[base, ...]


def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Return whether an argument of a type is accepted where a signature has another."""
    if signature_type is argument_type:
        return True
    origin = typing.get_origin(signature_type)
    if origin is typing.Union and signature_type != argument_type:
        return any(type_matches(kind, argument_type) for kind in typing.get_args(signature_type))
    if origin is list:
        return _list_matches(signature_type, argument_type)
    if signature_type is int and argument_type is dtypes.dtype:
        return True
    if signature_type is numbers.Number and argument_type in (int, float):
        return True
    if inspect.isclass(argument_type) and inspect.isclass(signature_type):
        return issubclass(argument_type, signature_type)
    return False


def _list_matches(signature_type: Any, argument_type: Any) -> bool:
    element = typing.get_args(signature_type)[0]
    if argument_type is int and element is int:
        return True  # one number stands for all
    if not inspect.isclass(element):
        warnings.warn(
            f"Does not support nested parametric types, got {signature_type}. Please file a bug.",
            stacklevel=3,
        )
        return False
    if typing.get_origin(argument_type) not in (list, tuple):
        return False
    given = [kind for kind in typing.get_args(argument_type) if kind is not Ellipsis]
    return all(inspect.isclass(kind) and issubclass(kind, element) for kind in given)


# -- calls -----------------------------------------------------------------------------------------


def normalize_function(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None,
    kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """Return the arguments of a call by the names of the function's parameters, with the defaults.

    Args:
      target: the function.
      args, kwargs: its arguments.
      arg_types, kwarg_types: their types, which choose one of several overloads that fit.
      normalize_to_only_use_kwargs: also name those that were given by position.

    None where no overload fits, and for functions of ``*args``. RuntimeError where several
    overloads fit and no types are given.

    Differs from PyTorch: overloads that only TorchScript has are not known, so fewer calls need
    types.
    """
    kwargs = {} if kwargs is None else kwargs
    if not isinstance(target, (OpOverload, OpOverloadPacket)):
        target = getattr(target, "_op", target)
    if not _is_of_the_core(target):
        return _named(_python_signature(target), args, kwargs, normalize_to_only_use_kwargs)
    signatures = get_signature_for_torch_op(target) or []
    fitting = [s for s in signatures if _fits(s, args, kwargs)]
    if len(fitting) > 1:
        if arg_types is None and kwarg_types is None:
            shown = "\n".join(map(str, fitting))
            raise RuntimeError(
                f"Tried to normalize arguments to {_qualified_name(target)} but the schema match "
                "was ambiguous! Please provide argument types to the normalize_arguments() call. "
                f"Available schemas:\n{shown}"
            )
        fitting = [s for s in signatures if _types_fit(s, arg_types or (), kwarg_types or {})]
    if not fitting:
        return None
    return _named(fitting[0], args, kwargs, normalize_to_only_use_kwargs)


def _types_fit(
    signature: inspect.Signature, arg_types: tuple[Any, ...], kwarg_types: dict[str, Any]
) -> bool:
    try:
        bound = signature.bind(*arg_types, **kwarg_types).arguments
    except TypeError:
        return False
    return all(type_matches(signature.parameters[n].annotation, kind) for n, kind in bound.items())


def _normalize_function_or_error(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None,
    kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair:
    """Call `normalize_function`, and raise a RuntimeError where it gives None."""
    found = normalize_function(
        target, args, kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs
    )
    if found is None:
        raise RuntimeError(
            f"Failed to normalize function {target} with args {args} and kwargs {kwargs}"
        )
    return found


def normalize_module(
    root: Module,
    target: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """Return the arguments of a call of ``root``'s submodule ``target`` by the names of its
    parameters, with the defaults; None for a module that is not one of ``torch.nn``. Raises
    RuntimeError where there is no such submodule."""
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(
            f"Tried to normalize node with target {target} but root did not have that target!"
        ) from error
    if not _is_of_nn(type(module)):
        return None
    signature = inspect.signature(inspect.unwrap(module.forward))
    return _named(signature, args, kwargs or {}, normalize_to_only_use_kwargs)


def _is_of_nn(cls: type) -> bool:
    return home(cls).startswith("torchlike.nn.modules.")


def _named(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any], by_name: bool
) -> ArgsKwargsPair | None:
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = signature.parameters
    if any(p.kind not in named for p in parameters.values()) and (
        list(parameters) != ["input", "from", "to", "generator"]
    ):
        return None
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    count = 0 if by_name else len(args)
    values = list(bound.arguments.items())
    return ArgsKwargsPair(tuple(v for _, v in values[:count]), dict(values[count:]))
