"""Signatures and docstrings of the public operations, made when somebody asks for them.

`inspect.signature(torch.sum)`, IPython's ``?``, Shift-Tab in a notebook and `help` show what the
op's definition says. Each function carries two small objects that know how to make it; at the start
that takes 2 ms for all of them, where the texts would take 900.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any

from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._runtime.lazy import LazyModule

#: What makes the texts: imported with the first of them.
docstrings: Any = LazyModule("torchlike._compat.help.docstrings")
signatures: Any = LazyModule("torchlike._compat.help.signatures")

_KINDS = {"": inspect.Parameter.POSITIONAL_OR_KEYWORD}
_KINDS["*"], _KINDS["**"] = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD


class TypeText(str):
    """An annotation as text, which signatures show without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class _OfOverload:
    """The default of a parameter that an overload requires and another has not."""

    def __repr__(self) -> str:
        return "..."


class OperationSignature(inspect.Signature):
    """The signature of a public operation, made at the first question."""

    __slots__ = ("_function", "_made", "written")

    def __init__(self, function: Callable[..., Any]) -> None:
        """Remember whose signature it is, and what the definition has set as such."""
        self._function = function
        self.written: inspect.Signature | None = vars(function).get("__signature__")
        self._made: inspect.Signature | None = None

    def _whole(self) -> inspect.Signature:
        if self._made is None:
            self._made = _signature(self._function)
        return self._made

    @property
    def parameters(self) -> MappingProxyType[str, inspect.Parameter]:
        return self._whole().parameters

    @property
    def return_annotation(self) -> Any:
        return self._whole().return_annotation

    def replace(self, **changes: Any) -> inspect.Signature:
        """Return a plain signature with changes."""
        return self._whole().replace(**changes)

    __replace__ = replace

    def __reduce__(self) -> Any:
        return self._whole().__reduce__()


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    known = signatures.of(function)
    parameters = []
    method = docstrings.is_method(function)
    for i, p in enumerate(known.parameters):
        if method and p.name == "out":
            continue
        name = "self" if method and not i and not p.prefix else p.name
        kind = inspect.Parameter.KEYWORD_ONLY if p.keyword_only else _KINDS[p.prefix]
        default = p.value
        if default is inspect.Parameter.empty and p.default is not None:
            default = _OfOverload()
        parameters.append(
            inspect.Parameter(name, kind, default=default, annotation=TypeText(p.type))
        )
    return inspect.Signature(parameters, return_annotation=TypeText(known.returns))


class OperationDocstring(str):
    """The docstring of a public operation: of itself the description that stands at its definition;
    whoever prints, splits or searches it meets the whole text."""

    __slots__ = ("_function", "_made")
    _function: Callable[..., Any]
    _made: str | None

    def __new__(cls, function: Callable[..., Any]) -> OperationDocstring:
        made = str.__new__(cls, function.__doc__)
        made._function, made._made = function, None
        return made

    @property
    def description(self) -> str:
        """What stands at the definition."""
        return str.__str__(self)

    def __str__(self) -> str:
        made = self._made
        if made is None:
            made = self._made = docstrings.text(self._function, str.expandtabs(self))
        return made

    def __repr__(self) -> str:
        return repr(str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)


class ClassDocstring(OperationDocstring):
    """The docstring of a public class, with its arguments."""

    __slots__ = ()

    def __str__(self) -> str:
        made = self._made
        if made is None:
            made = self._made = docstrings.of_class(self._function, str.expandtabs(self))
        return made


def _answering(method: str) -> Callable[..., Any]:
    def answer(self: OperationDocstring, *args: Any, **kwargs: Any) -> Any:
        return getattr(str(self), method)(*args, **kwargs)

    answer.__name__ = method
    return answer


for _method in (
    *("__add__", "__contains__", "__format__", "__getitem__", "__iter__", "__len__", "__mod__"),
    *("count", "encode", "expandtabs", "find", "format", "index", "join", "lower", "lstrip"),
    *("partition", "replace", "rpartition", "rstrip", "split", "splitlines", "strip", "upper"),
):
    setattr(OperationDocstring, _method, _answering(_method))


def operations() -> Iterator[tuple[str, str, FunctionType]]:
    """Yield namespace, name and function of each public operation that can carry attributes."""
    for space, table in NAMESPACES.items():
        for name, function in table.items():
            if isinstance(function, FunctionType):
                yield space, name, function


def install(methods: type) -> None:
    """Give each public function, and each method that the registry has put into a class, its
    signature and its docstring."""
    found = [function for _, _, function in operations()]
    found += [f for f in vars(methods).values() if "first_of" in getattr(f, "__dict__", ())]
    for function in found:
        if type(vars(function).get("__signature__")) is OperationSignature:
            continue  # one object in several namespaces
        vars(function)["__signature__"] = OperationSignature(function)
        if type(function.__doc__) is str:
            function.__doc__ = OperationDocstring(function)


def install_classes(*modules: ModuleType) -> None:
    """Give the public classes of modules docstrings that say what their arguments mean."""
    for module in modules:
        for name, cls in list(vars(module).items()):
            if name[0] == "_" or not isinstance(cls, type):
                continue
            if type(cls.__dict__.get("__doc__")) is str and cls.__module__.startswith("torchlike."):
                cls.__doc__ = ClassDocstring(cls)
