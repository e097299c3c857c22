"""Python's operators on tensors: ``a + b``, ``a += b``, ``a < b``, ``-a``, ``a @ b``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from torchlike._core import overrides
from torchlike._core.dispatch.call import NUMBERS
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._core.overrides import TENSOR_TYPES
from torchlike._ops.elementwise.pointwise import number_divided
from torchlike._ops.elementwise.quotients import div_op
from torchlike.tensor import Tensor, add_method

_OTHERS = (Tensor, np.generic, np.ndarray)
_table = NAMESPACES[""]


def _usable(other: Any) -> bool:
    kind = type(other)
    return kind in TENSOR_TYPES or kind in NUMBERS or isinstance(other, (*_OTHERS, int, float))


def _as_operand(other: Any) -> Any:
    return _table["from_numpy"](other) if isinstance(other, np.ndarray) else other


def _forward(fn: Callable[..., Any]) -> Callable[..., Any]:
    def operator(self: Tensor, other: Any) -> Any:
        kind = type(other)
        if kind in TENSOR_TYPES or kind in NUMBERS:
            return fn(self, other)
        if overrides.meets_first(other):
            return operator(self, other)
        return fn(self, _as_operand(other)) if _usable(other) else NotImplemented

    return operator


def _reflected(fn: Callable[..., Any], arrays: bool = False) -> Callable[..., Any]:
    def operator(self: Tensor, other: Any) -> Any:
        if not isinstance(self, Tensor):
            raise TypeError(f"descriptor doesn't apply to a '{type(self).__name__}' object")
        if overrides.meets_first(other):
            return operator(self, other)
        # An array's is refused, as in PyTorch: NumPy leaves `array += tensor` to us as well, which
        # would bind the name to a tensor instead of writing to the array. PyTorch divides.
        if not _usable(other) or (isinstance(other, np.ndarray) and not arrays):
            return NotImplemented
        return fn(_as_operand(other), self)

    return operator


def _number_before(fn: Callable[..., Any], reflection: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a reflected operator to use an op of its own for a number before a tensor."""

    def operator(self: Tensor, other: Any) -> Any:
        if type(other) in NUMBERS and isinstance(self, Tensor):
            return fn(self, other)
        return reflection(self, other)

    return operator


def _install(name: str, method: Callable[..., Any]) -> None:
    method.__name__ = method.__qualname__ = name
    add_method(name, method)


for _symbol, _op, _in_place in (
    ("add", "add", "add_"),
    ("sub", "sub", "sub_"),
    ("mul", "mul", "mul_"),
    ("truediv", "div", "div_"),
    ("floordiv", "floor_divide", "floor_divide_"),
    ("mod", "remainder", "remainder_"),
    ("pow", "pow", "pow_"),
    ("and", "bitwise_and", "bitwise_and_"),
    ("or", "bitwise_or", "bitwise_or_"),
    ("xor", "bitwise_xor", "bitwise_xor_"),
    ("lshift", "bitwise_left_shift", "bitwise_left_shift_"),
    ("rshift", "bitwise_right_shift", "bitwise_right_shift_"),
):
    _function = div_op if _op == "div" else _table[_op]
    _install(f"__{_symbol}__", _forward(_function))
    _before = {"sub": _table["rsub"], "truediv": number_divided}.get(_symbol)
    _reflection = _reflected(_function, arrays=_symbol == "truediv")
    _install(f"__r{_symbol}__", _number_before(_before, _reflection) if _before else _reflection)
    _install(f"__i{_symbol}__", _forward(getattr(Tensor, _in_place)))


def _inverted(self: Tensor) -> Tensor:
    if self.dtype.category > 1:
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        )
    return _table["bitwise_not"](self)


_install("__matmul__", _forward(_table["matmul"]))
_install("__rmatmul__", _reflected(_table["matmul"]))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    add_method(f"__{_name}__", _forward(_table[_name]))

_install("__neg__", lambda self: _table["neg"](self))
_install("__pos__", lambda self: _table["positive"](self))
_install("__abs__", lambda self: _table["abs"](self))
_install("__invert__", _inverted)
