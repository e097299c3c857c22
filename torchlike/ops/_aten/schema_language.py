"""What an operator takes and gives: PyTorch's schema language, read, written and inferred.

namespace::name.overload(Tensor(a0!) x, Tensor[] ys, *, float? scale=None) -> (Tensor, int)
"""

from __future__ import annotations

import ast
import dataclasses
import operator
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from torchlike._core import devices, dtypes, layouts
from torchlike._core.layouts import layout, memory_format
from torchlike.tensor import Tensor

_ARGUMENT = re.compile(
    r"(?P<base>\w+)(?P<alias>\([^)]*\))?(?P<marks>(?:\[\d*\]|\?)*)\s*(?P<name>\w+)?"
    r"(?:\s*=\s*(?P<default>.+))?$"
)
_NAME = re.compile(r"\s*(?:(?P<ns>\w+)::)?(?P<name>\w+)?(?:\.(?P<overload>\w+))?\s*$")
_SHOWN = {"SymInt": "int", "Scalar": "number"}


class AliasInfo(NamedTuple):
    """What memory an argument or result shares, and whether the operator writes there."""

    before_set: frozenset[str]
    after_set: frozenset[str]
    is_write: bool

    @classmethod
    def read(cls, alias: str) -> AliasInfo | None:
        """Read the alias set from ``(a)``, ``(a!)``, ``(a -> *)``; return None for what shares
        nothing."""
        if not alias:
            return None
        before, _, after = alias[1:-1].partition("->")
        sets = frozenset(before.strip(" !").split("|"))
        return cls(sets, frozenset(after.strip(" !").split("|")) if after else sets, "!" in alias)


@dataclasses.dataclass(frozen=True)
class Type:
    """A type: its base, and the marks ``?`` and ``[]`` after it, in order."""

    base: str
    marks: tuple[str, ...] = ()
    #: Of a result: the memory that it shares, "(a)" or "(a!)".
    alias: str = dataclasses.field(default="", compare=False)

    @property
    def type(self) -> Type:
        """The type of a result: itself."""
        return self

    @property
    def alias_info(self) -> AliasInfo | None:
        """The memory that a result shares with arguments; None for new memory."""
        return AliasInfo.read(self.alias)

    def __str__(self) -> str:
        return self.base + self.alias + "".join(self.marks)

    def shown(self) -> str:
        """Return the type as error messages write it: ``Optional[List[Tensor]]``."""
        text = _SHOWN.get(self.base, self.base)
        for mark in self.marks:
            text = f"Optional[{text}]" if mark == "?" else f"List[{text}]"
        return text

    @property
    def holds_tensors(self) -> bool:
        return self.base == "Tensor"

    def convert(self, value: object) -> object:
        """Convert a value to what the operator gets; raise TypeError for one of another type."""
        if self.marks:
            *rest, last = self.marks
            inner = Type(self.base, tuple(rest))
            if last == "?":
                return None if value is None else inner.convert(value)
            if isinstance(value, (list, tuple)):
                return [inner.convert(v) for v in value]
            if last != "[]":  # int[2]: one number stands for all
                return [inner.convert(value)] * int(last[1:-1])
            raise TypeError(value)
        return _CONVERT[self.base](value)


def _instance(*kinds: type) -> Callable[[object], object]:
    def convert(value: object) -> object:
        if not isinstance(value, kinds):
            raise TypeError(value)
        return value

    return convert


def _float(value: Any) -> float:
    if isinstance(value, (str, bytes, Tensor)) or not hasattr(value, "__float__"):
        raise TypeError(value)
    return float(value)


def _device(value: object) -> devices.device:
    return devices.device(_instance(str, devices.device)(value))


_CONVERT = {
    "Tensor": _instance(Tensor),
    "int": operator.index,
    "SymInt": operator.index,
    "float": _float,
    "bool": _instance(bool),
    "str": _instance(str),
    "Scalar": _instance(int, float, complex),
    "ScalarType": _instance(dtypes.dtype),
    "Device": _device,
    "complex": complex,
    "Layout": _instance(layout),
    "MemoryFormat": _instance(memory_format),
    "Generator": lambda g: g,
    "QScheme": str,
}
_REQUIRED: Any = object()
#: Types of C++ that schemas name otherwise.
_SPELLED_OTHERWISE = {
    "int64_t": "Use `SymInt` or `int` instead of `int64_t` in an operator's schema string. ",
    "double": "Use `float` instead of `double` in an operator's schema string. ",
}


@dataclasses.dataclass(frozen=True)
class Argument:
    """One argument."""

    name: str
    type: Type
    default: Any = _REQUIRED
    keyword_only: bool = False
    alias: str = ""

    @property
    def is_written(self) -> bool:
        """Whether the operator changes it in place."""
        return "!" in self.alias

    @property
    def alias_info(self) -> AliasInfo | None:
        """What memory it shares with results; None for none."""
        return AliasInfo.read(self.alias)

    @property
    def kwarg_only(self) -> bool:
        """PyTorch's name of `keyword_only`."""
        return self.keyword_only

    @property
    def is_out(self) -> bool:
        """Whether it is where a result is to be written: ``out=``."""
        return self.keyword_only and self.is_written

    @property
    def default_value(self) -> object:
        """The default; None where there is none. Of ``int[2] padding=0`` it is ``[0, 0]``."""
        if self.required:
            return None
        count = self.type.marks[-1].strip("[]?") if self.type.marks else ""
        if count and isinstance(self.default, (int, float)):
            return [self.default] * int(count)
        return self.default

    def has_default_value(self) -> bool:
        """Return whether the argument has a default."""
        return not self.required

    @property
    def required(self) -> bool:
        return self.default is _REQUIRED

    def __str__(self) -> str:
        marks = "".join(self.type.marks)
        text = f"{self.type.base}{self.alias}{marks} {self.name}"
        return text if self.required else f"{text}={_written(self.default)}"


def _written(default: object) -> str:
    if isinstance(default, str):
        return f'"{default}"'
    text = (
        str(default).removeprefix("torch.")
        if isinstance(default, (dtypes.dtype, memory_format, devices.device))
        else repr(default)
    )
    return text[:-1] if isinstance(default, float) and text.endswith(".0") else text


@dataclasses.dataclass(frozen=True, repr=False)
class FunctionSchema:
    """The arguments and results of an operator."""

    qualname: str
    arguments: tuple[Argument, ...]
    returns: tuple[Type, ...]
    #: Whether there is one result, not a tuple of them.
    single: bool

    @property
    def name(self) -> str:
        """``namespace::name``, without the overload."""
        return self.qualname.partition(".")[0]

    @property
    def overload_name(self) -> str:
        """The overload; "" for the default one."""
        return self.qualname.partition(".")[2]

    @property
    def is_mutable(self) -> bool:
        """Whether the operator writes into an argument."""
        return not self.is_functional

    @property
    def is_functional(self) -> bool:
        """Whether the operator writes into none of its arguments."""
        return not any(a.is_written for a in self.arguments)

    def __str__(self) -> str:
        given, starred = [], False
        for a in self.arguments:
            if a.keyword_only and not starred:
                given.append("*")
                starred = True
            given.append(str(a))
        results = ", ".join(map(str, self.returns))
        return (
            f"{self.qualname}({', '.join(given)}) -> {results if self.single else f'({results})'}"
        )

    __repr__ = __str__

    def takes(self, args: tuple[object, ...], kwargs: dict[str, object]) -> bool:
        """Return whether a call with these arguments fits."""
        try:
            self.bind(args, kwargs)
        except RuntimeError:
            return False
        return True

    def bind(self, args: tuple[object, ...], kwargs: dict[str, object]) -> tuple[Any, Any, int]:
        """Return all positional arguments, all keyword-only ones by name, and how many positional
        ones were left to their defaults; raise RuntimeError in PyTorch's words for a call that does
        not fit."""
        positional = [a for a in self.arguments if not a.keyword_only]
        if len(args) > len(positional):
            raise RuntimeError(
                f"{self.qualname}() expected at most {len(positional)} argument(s) but received "
                f"{len(args)} argument(s). Declaration: {self}"
            )
        given = dict(zip((a.name for a in positional), args, strict=False))
        for name, value in kwargs.items():
            if name in given:
                raise RuntimeError(
                    f"Argument '{name}' specified both as positional and keyword argument. "
                    f"Schema: {self}"
                )
            if all(a.name != name for a in self.arguments):
                raise RuntimeError(
                    f"Unknown keyword argument '{name}' for operator '{self.qualname}'. "
                    f"Schema: {self}"
                )
            given[name] = value
        values = {a.name: self._value(i, a, given) for i, a in enumerate(self.arguments)}
        omitted = sum(a.name not in given for a in positional)
        return (
            tuple(values[a.name] for a in positional),
            {a.name: values[a.name] for a in self.arguments if a.keyword_only},
            omitted,
        )

    def _value(self, position: int, argument: Argument, given: dict[str, object]) -> object:
        if argument.name not in given:
            if argument.required:
                raise RuntimeError(
                    f"{self.qualname}() is missing value for argument '{argument.name}'. "
                    f"Declaration: {self}"
                )
            return argument.default
        value = given[argument.name]
        try:
            return argument.type.convert(value)
        except TypeError:
            raise RuntimeError(
                f"{self.qualname}() Expected a value of type '{argument.type.shown()}' for "
                f"argument '{argument.name}' but instead found type '{type(value).__name__}'.\n"
                f"Position: {position}\nValue: {value!r}\nDeclaration: {self}"
            ) from None


def _split(text: str) -> list[str]:
    """Split text at the commas that stand in no brackets and no string."""
    parts, depth, quoted = [""], 0, ""
    for c in text:
        quoted = ("" if c == quoted else quoted) if quoted else (c if c in "\"'" else "")
        depth += 0 if quoted else (c in "([") - (c in ")]")
        if c == "," and not depth and not quoted:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts if p.strip()]


def _default(text: str) -> Any:
    constants = {"True": True, "False": False, "None": None}
    if text in constants:
        return constants[text]
    for room in (dtypes, layouts):
        named = getattr(room, text, None)
        if isinstance(named, (dtypes.dtype, memory_format)):
            return named
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise RuntimeError(f"schema: cannot read the default {text!r}") from None


def _argument(text: str, keyword_only: bool) -> Argument:
    found = _ARGUMENT.match(text)
    if found is None or found["base"] not in _CONVERT:
        instead = _SPELLED_OTHERWISE.get("" if found is None else found["base"], "")
        raise RuntimeError(
            f"schema: cannot read {text!r}. {instead}unknown type specifier. Common valid schema "
            "types include Tensor, SymInt, int, float, bool, Scalar"
        )
    kind = Type(found["base"], tuple(re.findall(r"\[\d*\]|\?", found["marks"])))
    text = found["default"]
    default: Any = _REQUIRED if text is None else None
    if text is not None and kind.base == "Device" and text != "None":
        default = devices.device(text.strip("\"'"))
    elif text is not None:
        default = _default(text)
    if default is not _REQUIRED and default is not None and kind.base == "float":
        default = [float(x) for x in default] if kind.marks[-1:] == ("[]",) else float(default)
    return Argument(found["name"] or "", kind, default, keyword_only, found["alias"] or "")


def split_name(text: str) -> tuple[str, str, str]:
    """Return namespace, name and overload of ``namespace::name.overload``, "" for what is not
    there."""
    found = _NAME.match(text)
    if found is None:
        raise RuntimeError(f"{text!r} is no name of an operator")
    return found["ns"] or "", found["name"] or "", found["overload"] or ""


def parse(text: str) -> FunctionSchema:
    """Read a schema; its name may be missing. RuntimeError for what is none."""
    head, arrow, tail = text.rpartition("->")
    name, bracket, inside = head.strip().partition("(")
    if not arrow or not bracket or not inside.endswith(")"):
        raise RuntimeError(f"schema: expected 'name(arguments) -> results', got {text!r}")
    arguments, keyword_only = [], False
    for part in _split(inside[:-1]):
        if part == "*":
            keyword_only = True
        else:
            arguments.append(_argument(part, keyword_only))
    results = tail.strip()
    single = not results.startswith("(")
    given = [_argument(p, False) for p in _split(results if single else results[1:-1])]
    returns = [dataclasses.replace(a.type, alias=a.alias) for a in given]
    return FunctionSchema(name.strip(), tuple(arguments), tuple(returns), single)
