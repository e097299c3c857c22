"""How a call of a public function is written for an overload: which one it fits, what is passed.

PyTorch's argument parser takes the first signature that fits. The dispatcher then leaves out
positional arguments at their defaults from the right, and keyword-only ones wherever they are.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from torchlike._compat.symbolic import SymFloat, SymInt
from torchlike._core import devices, dtypes
from torchlike._core.dispatch.argument_names import SYNONYMS
from torchlike._core.layouts import layout, memory_format
from torchlike.ops._aten import schemas
from torchlike.ops._aten.schema_language import Argument, FunctionSchema
from torchlike.tensor import Tensor

#: Operators that take a number where the schema has a tensor: it is passed as it is.
_NUMBERS_TEXT = """add sub mul div divide multiply subtract true_divide floor_divide copy"""
_TAKES_NUMBERS = frozenset(_NUMBERS_TEXT.split())
_UNFIT: Any = object()


def _is_int(value: Any) -> bool:
    if isinstance(value, Tensor):
        return False
    return hasattr(value, "__index__") and not isinstance(value, (bool, np.bool_))


def _int(value: Any) -> Any:
    if isinstance(value, SymInt):
        return value
    return operator.index(value) if _is_int(value) else _UNFIT


def _float(value: Any) -> Any:
    if isinstance(value, (SymInt, SymFloat)):
        return value
    return float(value) if isinstance(value, (int, float, np.number)) else _UNFIT


def _scalar(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, (int, float, complex, SymInt, SymFloat)) else _UNFIT


def _tensor(value: Any) -> Any:
    return value if isinstance(value, Tensor) else _UNFIT


def _bool(value: Any) -> Any:
    return bool(value) if isinstance(value, (bool, np.bool_)) else _UNFIT


def _dtype(value: Any) -> Any:
    if value in (float, int, bool, complex) or isinstance(value, dtypes.dtype):
        return dtypes.from_argument(value)
    return _UNFIT


def _device(value: Any) -> Any:
    if isinstance(value, (str, int, devices.device)) and not isinstance(value, bool):
        return devices.device(value)
    return _UNFIT


def _of(kind: type) -> Callable[[Any], Any]:
    return lambda value: value if isinstance(value, kind) else _UNFIT


_READ: dict[str, Callable[[Any], Any]] = {
    "Tensor": _tensor,
    "int": _int,
    "SymInt": _int,
    "float": _float,
    "Scalar": _scalar,
    "bool": _bool,
    "str": _of(str),
    "ScalarType": _dtype,
    "Device": _device,
    "Layout": _of(layout),
    "MemoryFormat": _of(memory_format),
    "Generator": lambda g: g,
    "complex": _scalar,
    "QScheme": lambda q: q,
}


def _read(value: Any, base: str, marks: Sequence[str]) -> Any:
    """Return a value in the form that the overload takes, or _UNFIT."""
    if not marks:
        return _READ[base](value)
    *inner, last = marks
    if last == "?":
        return None if value is None else _read(value, base, inner)
    if isinstance(value, (tuple, list)) or (isinstance(value, np.ndarray) and base != "Tensor"):
        found = [_read(v, base, inner) for v in value]
        return _UNFIT if any(f is _UNFIT for f in found) else found
    if last != "[]":  # int[2]: one number stands for all
        one = _read(value, base, inner)
        if one is not _UNFIT and base != "Tensor":
            return [one] * int(last[1:-1])
    return _UNFIT


class Fitted(NamedTuple):
    """A call as an overload gets it."""

    overload: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class _Signature:
    """One overload's arguments, as calls are matched with them."""

    def __init__(self, name: str, overload: str, schema: FunctionSchema) -> None:
        self.overload = overload
        self.arguments = schema.arguments
        self.positional = [a for a in schema.arguments if not a.keyword_only]
        self.by_name = {a.name: a for a in schema.arguments}
        self.numbers = name.rstrip("_") in _TAKES_NUMBERS
        packed = [
            i
            for i, a in enumerate(self.positional)
            if a.type.marks[:1] and a.type.base in ("int", "SymInt") and a.type.marks[0] != "?"
        ]
        #: Where surplus ints by position belong: ``x.view(2, 3)``.
        self.pack_at = packed[0] if packed else None
        names = {a.name for a in schema.arguments}
        self.makes = {"device", "pin_memory"} <= names and "non_blocking" not in names
        self.is_like = name.endswith("_like") or name.startswith("new_")

    def _named(self, key: str) -> str | None:
        if key in self.by_name:
            return key
        other = SYNONYMS.get(key, key)
        if other == "input":
            other = self.arguments[0].name
        if other not in self.by_name and other == "dtype":
            return None
        return other if other in self.by_name else None

    def fit(self, args: tuple[Any, ...], kwargs: dict[str, Any], loose: bool) -> Fitted | None:
        """Return the call as it is passed on, or None where it does not fit. ``loose``: tensors
        without dimensions are taken for numbers."""
        n = len(self.positional)
        pack = self.pack_at
        if (
            pack is not None
            and len(args) > pack
            and _is_int(args[pack])
            and (len(args) > n or all(map(_is_int, args[pack:])))
            and (self.positional[pack].type.marks[0] == "[]" or len(args) > n)
        ):
            args = (*args[:pack], list(args[pack:]))
        if len(args) > n:
            return None
        given = dict(zip((a.name for a in self.positional), args, strict=False))
        for key, value in kwargs.items():
            name = self._named(key)
            if name is None or name in given:
                if value is None or (key == "inplace" and value is False):
                    continue
                return None
            given[name] = value
        values: dict[str, Any] = {}
        for a in self.arguments:
            if a.name in given:
                value = self._value(a, given[a.name], loose)
                if value is _UNFIT:
                    return None
                values[a.name] = value
            elif a.required:
                return None
        if self.makes:
            values.setdefault("pin_memory", False)
            if values["pin_memory"] is None:
                values["pin_memory"] = False
            if not self.is_like and values.get("device") is None:
                values["device"] = devices.get_default_device()
        return self._written(values)

    def _value(self, a: Argument, value: Any, loose: bool) -> Any:
        if value is None and not a.required and (a.default is None or a.default == []):
            return a.default
        read = _read(value, a.type.base, a.type.marks)
        if read is _UNFIT and value is None and not a.required:
            return a.default
        counts = a.type.base in ("Scalar", "int", "SymInt", "float") and not a.type.marks
        if loose and read is _UNFIT and counts and isinstance(value, Tensor) and not value.dim():
            return value.item()
        if read is _UNFIT and self.numbers and a.type.base == "Tensor" and not a.type.marks:
            read = _scalar(value) if a is not self.arguments[0] else _UNFIT
        return read

    def _written(self, values: dict[str, Any]) -> Fitted:
        positional: list[Any] = []
        last = 0
        for i, a in enumerate(self.positional):
            value = values.get(a.name, _UNFIT if a.required else _default(a))
            positional.append(value)
            if a.required or not _same(value, _default(a)):
                last = i + 1
        keywords = {
            a.name: values[a.name]
            for a in self.arguments
            if a.keyword_only and a.name in values and not _same(values[a.name], _default(a))
        }
        return Fitted(self.overload, tuple(positional[:last]), keywords)


def _default(a: Argument) -> Any:
    """Return the default in the form in which a value is read; of a list with a length, that many
    copies of the number."""
    if a.required:
        return _UNFIT
    marks = a.type.marks
    sized = marks[:1] and marks[0] not in ("[]", "?")
    if sized and isinstance(a.default, int) and not isinstance(a.default, bool):
        return [a.default] * int(marks[0][1:-1])
    return a.default


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, Tensor) or isinstance(default, Tensor):
        return False
    return type(value) is type(default) and value == default


#: Overloads that Python's functions try first, where the table has another order.
_FIRST = {
    "randint": ("", "low"),
    "arange": ("", "start", "start_step"),
    "floor_divide": ("", "Scalar"),
}


@functools.cache
def signatures(name: str, out: bool) -> tuple[_Signature, ...]:
    """Return the overloads that a public function may call, in the order in which they are tried:
    numbers before tensors."""
    found = []
    for overload, (line, _) in schemas.overloads_of(name).items():
        into = overload == line.out and overload != line.overload
        if into is out and "h" not in line.marks:
            found.append(_Signature(name, overload, schemas.schema(name, overload)))
    chosen = _FIRST.get(name)
    if chosen is not None:
        return tuple(
            sorted(
                found,
                key=lambda s: chosen.index(s.overload) if s.overload in chosen else len(chosen),
            )
        )
    return tuple(found)


def fit(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Fitted | None:
    """Return the overload of an operator that a call fits, with its arguments; None for none."""
    for loose in (False, True):
        for signature in signatures(name, kwargs.get("out") is not None):
            found = signature.fit(args, kwargs, loose)
            if found is not None:
                return found
    return None
