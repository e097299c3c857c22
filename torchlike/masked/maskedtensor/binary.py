"""``torch.masked.maskedtensor.binary``: which functions of two operands take masked tensors."""

from __future__ import annotations

from typing import Any

from torchlike._core.dispatch.registry import NAMESPACES
from torchlike.masked.maskedtensor.core import _masks_match as _masks_match
from torchlike.ops._aten.packets import aten
from torchlike.tensor import Tensor

_BINARY_NAMES = """
    add atan2 arctan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift div
    divide floor_divide fmod logaddexp logaddexp2 mul multiply nextafter remainder sub subtract
    true_divide eq ne le ge greater greater_equal gt less_equal lt less maximum minimum fmax fmin
    not_equal"""
BINARY_NAMES = _BINARY_NAMES.split()
_NOT_IN_PLACE = ("logaddexp", "logaddexp2", "equal", "fmin", "minimum", "maximum", "fmax")
INPLACE_BINARY_NAMES = [f"{n}_" for n in BINARY_NAMES if n not in _NOT_IN_PLACE]

#: Operator -> the public function, which has the rule.
NATIVE_BINARY_MAP: dict[Any, Any] = {getattr(aten, n): NAMESPACES[""][n] for n in BINARY_NAMES}
NATIVE_INPLACE_BINARY_MAP: dict[Any, Any] = {
    getattr(aten, n): getattr(Tensor, n) for n in INPLACE_BINARY_NAMES
}
NATIVE_BINARY_FNS = list(NATIVE_BINARY_MAP)
NATIVE_INPLACE_BINARY_FNS = list(NATIVE_INPLACE_BINARY_MAP)


def _is_native_binary(fn: Any) -> bool:
    """Return whether an operator of aten's is one of them."""
    return fn in NATIVE_BINARY_MAP or fn in NATIVE_INPLACE_BINARY_MAP


def _apply_native_binary(fn: Any, *args: Any, **kwargs: Any) -> Any:
    """Call the function of an operator; NotImplemented for one that is none of them."""
    known = NATIVE_BINARY_MAP.get(fn) or NATIVE_INPLACE_BINARY_MAP.get(fn)
    return NotImplemented if known is None else known(*args, **kwargs)
