"""``torch.masked.maskedtensor.unary``: which functions of one operand take masked tensors."""

from __future__ import annotations

from typing import Any

from torchlike._core.dispatch.registry import NAMESPACES
from torchlike.ops._aten.packets import aten
from torchlike.tensor import Tensor

_UNARY_NAMES = """
    abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan atanh arctanh
    bitwise_not ceil clamp clip conj_physical cos cosh deg2rad digamma erf erfc erfinv exp exp2
    expm1 fix floor frac lgamma log log10 log1p log2 logit i0 isnan nan_to_num neg negative positive
    pow rad2deg reciprocal round rsqrt sigmoid sign sgn signbit sin sinc sinh sqrt square tan tanh
    trunc"""
UNARY_NAMES = _UNARY_NAMES.split()
_NOT_IN_PLACE = ("angle", "positive", "signbit", "isnan")
INPLACE_UNARY_NAMES = [f"{n}_" for n in UNARY_NAMES if n not in _NOT_IN_PLACE]
_UNARY_NAMES_UNSUPPORTED = """
    atan2 arctan2 bitwise_left_shift bitwise_right_shift copysign float_power fmod frexp gradient
    imag ldexp lerp logical_not hypot igamma igammac mvlgamma nextafter polygamma real remainder
    true_divide xlogy"""
UNARY_NAMES_UNSUPPORTED = _UNARY_NAMES_UNSUPPORTED.split()

#: Operator -> the public function, which has the rule.
NATIVE_UNARY_MAP: dict[Any, Any] = {getattr(aten, n): NAMESPACES[""][n] for n in UNARY_NAMES}
NATIVE_INPLACE_UNARY_MAP: dict[Any, Any] = {
    getattr(aten, n): getattr(Tensor, n) for n in INPLACE_UNARY_NAMES
}
NATIVE_UNARY_FNS = list(NATIVE_UNARY_MAP)
NATIVE_INPLACE_UNARY_FNS = list(NATIVE_INPLACE_UNARY_MAP)


def _is_native_unary(fn: Any) -> bool:
    """Return whether an operator of aten's is one of them."""
    return fn in NATIVE_UNARY_MAP or fn in NATIVE_INPLACE_UNARY_MAP


def _apply_native_unary(fn: Any, *args: Any, **kwargs: Any) -> Any:
    """Call the function of an operator; NotImplemented for one that is none of them."""
    known = NATIVE_UNARY_MAP.get(fn) or NATIVE_INPLACE_UNARY_MAP.get(fn)
    return NotImplemented if known is None else known(*args, **kwargs)
