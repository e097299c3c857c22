"""Formulas of element-wise operators."""

from __future__ import annotations

import math
from typing import Any

from torchlike._runtime.reference import follows
from torchlike.ops._aten.derivatives.rules import formula, times, times_number
from torchlike.ops._aten.packets import aten
from torchlike.tensor import Tensor


def _mul(a: Any, b: Any) -> Tensor:
    return aten.mul.Tensor(a, b)


def _neg(g: Any) -> Tensor:
    return aten.neg.default(g)


formula("add", saves=False, self=lambda g, a: g, other=lambda g, a: times_number(g, a.alpha))
formula("sub", saves=False, self=lambda g, a: g, other=lambda g, a: times_number(_neg(g), a.alpha))
formula("rsub", saves=False, self=lambda g, a: times_number(_neg(g), a.alpha), other=lambda g, a: g)
formula("mul", self=lambda g, a: _mul(g, a.other), other=lambda g, a: _mul(g, a.self))


def _div_other(g: Any, a: Any) -> Tensor:
    quotient = aten.div.Tensor(aten.div.Tensor(a.self, a.other), a.other)
    return _mul(_neg(g), quotient)


formula("div.Tensor", "div.Scalar", other=_div_other, self=lambda g, a: aten.div.Tensor(g, a.other))
formula("neg", saves=False, self=lambda g, a: _neg(g))
formula("abs", self=lambda g, a: _mul(g, aten.sgn.default(a.self)))
formula("exp", result=True, self=lambda g, a: _mul(g, a.result))
formula("exp2", result=True, self=lambda g, a: _mul(_mul(g, a.result), math.log(2)))
formula("expm1", result=True, self=lambda g, a: _mul(g, aten.add.Tensor(a.result, 1)))
formula("log", self=lambda g, a: aten.div.Tensor(g, a.self))
formula("log1p", self=lambda g, a: aten.div.Tensor(g, aten.add.Tensor(a.self, 1)))
formula("log2", self=lambda g, a: aten.div.Tensor(g, _mul(a.self, 0.6931471805599453)))
formula("log10", self=lambda g, a: aten.div.Tensor(g, _mul(a.self, 2.3025850929940456)))
formula("sqrt", result=True, self=lambda g, a: aten.div.Tensor(g, aten.mul.Scalar(a.result, 2)))


def _of_rsqrt(g: Any, a: Any) -> Tensor:
    cubed = aten.pow.Tensor_Scalar(a.result, 3)
    return _mul(aten.mul.Scalar(g, -0.5), cubed)


formula("rsqrt", result=True, self=_of_rsqrt)
formula("sin", self=lambda g, a: _mul(g, aten.cos.default(a.self)))
formula("cos", self=lambda g, a: _mul(g, _neg(aten.sin.default(a.self))))
formula(
    "tan",
    result=True,
    self=lambda g, a: _mul(g, aten.add.Tensor(aten.pow.Tensor_Scalar(a.result, 2), 1)),
)
formula("sinh", self=lambda g, a: _mul(g, aten.cosh.default(a.self)))
formula("cosh", self=lambda g, a: _mul(g, aten.sinh.default(a.self)))
formula("atan", self=lambda g, a: aten.div.Tensor(g, aten.add.Tensor(_mul(a.self, a.self), 1)))
formula(
    "asin",
    self=lambda g, a: _mul(g, aten.rsqrt.default(aten.add.Tensor(_mul(_neg(a.self), a.self), 1))),
)
formula(
    "acos",
    self=lambda g, a: _mul(
        g, _neg(aten.rsqrt.default(aten.add.Tensor(_mul(_neg(a.self), a.self), 1)))
    ),
)
formula("reciprocal", result=True, self=lambda g, a: _mul(_neg(g), _mul(a.result, a.result)))
formula("tanh", result=True, self=lambda g, a: aten.tanh_backward.default(g, a.result))
formula("sigmoid", result=True, self=lambda g, a: aten.sigmoid_backward.default(g, a.result))
formula(
    "erf",
    self=lambda g, a: _mul(
        _mul(aten.exp.default(_neg(aten.pow.Tensor_Scalar(a.self, 2))), 2 / math.sqrt(math.pi)), g
    ),
)


def _power_of(g: Any, a: Any) -> Tensor | None:
    n = a.exponent
    if n == 0:
        return aten.zeros_like.default(a.self)
    return _mul(g, aten.mul.Scalar(aten.pow.Tensor_Scalar(a.self, n - 1), n))


formula("pow.Tensor_Scalar", "pow_.Scalar", self=_power_of)


def _pow_self(g: Any, a: Any) -> Tensor:
    zero = aten.eq.Scalar(a.exponent, 0.0)
    slope = _mul(a.exponent, aten.pow.Tensor_Tensor(a.self, aten.sub.Tensor(a.exponent, 1)))
    return _mul(
        g,
        aten.where.self(
            zero, aten.zeros.default([], dtype=a.self.dtype, device=a.self.device), slope
        ),
    )


def _pow_exponent(g: Any, a: Any) -> Tensor:
    base = a.self
    empty = aten.logical_and.default(aten.eq.Scalar(base, 0), aten.ge.Scalar(a.exponent, 0))
    slope = _mul(a.result, aten.log.default(base))
    zero = aten.zeros.default([], dtype=base.dtype, device=base.device)
    return _mul(g, aten.where.self(empty, zero, slope))


formula("pow.Tensor_Tensor", result=True, self=_pow_self, exponent=_pow_exponent)


def _zero(g: Tensor) -> Tensor:
    return aten.scalar_tensor.default(0.0, dtype=g.dtype, layout=g.layout, device=g.device)


_ENDS = ("gt", "lt") if follows("clamp shares ties") else ("ge", "le")
_ABOVE, _BELOW = (getattr(aten, name).Scalar for name in _ENDS)


def _within(g: Any, a: Any) -> Tensor:
    zero = _zero(g)
    low = None if a.min is None else _ABOVE(a.self, a.min)
    high = None if a.max is None else _BELOW(a.self, a.max)
    inside = low if high is None else high
    if low is not None and high is not None:
        inside = aten.logical_and_.default(low, high)
    return aten.where.self(inside, g, zero)


formula("clamp.default", self=_within)


def _where(compare: Any, g: Any) -> Tensor:
    zero = _zero(g)
    return aten.where.self(compare(), g, zero)


formula("clamp_min.default", self=lambda g, a: _where(lambda: _ABOVE(a.self, a.min), g))
formula("clamp_max.default", self=lambda g, a: _where(lambda: _BELOW(a.self, a.max), g))


def _of_extreme(compare: str, own: str, other: str) -> Any:
    def gradient(g: Any, a: Any) -> Tensor:
        mine, theirs = getattr(a, own), getattr(a, other)
        equal = aten.eq.Tensor(a.self, a.other)
        half = aten.div.Tensor(aten.masked_fill.Scalar(g, aten.bitwise_not.default(equal), 0), 2)
        lost = getattr(aten, compare).Tensor(mine, theirs)
        lost = aten.logical_or_.default(lost, equal)
        return aten.add.Tensor(aten.masked_fill.Scalar(g, lost, 0), half)

    return gradient


formula(
    "maximum", self=_of_extreme("lt", "self", "other"), other=_of_extreme("lt", "other", "self")
)
formula(
    "minimum", self=_of_extreme("gt", "self", "other"), other=_of_extreme("gt", "other", "self")
)
formula(
    "where.self",
    self=lambda g, a: aten.where.self(a.condition, g, _zero(g)),
    other=lambda g, a: aten.where.self(a.condition, _zero(g), g),
)


formula("masked_fill.Scalar", self=lambda g, a: aten.masked_fill.Scalar(g, a.mask, 0))
formula(
    "addcmul",
    self=lambda g, a: g,
    tensor1=lambda g, a: _mul(g, times(a.tensor2, a.value)),
    tensor2=lambda g, a: _mul(g, times(a.tensor1, a.value)),
)
formula("lerp.Scalar", self=lambda g, a: _mul(g, 1 - a.weight), end=lambda g, a: _mul(g, a.weight))
formula(
    "floor",
    "ceil",
    "round",
    "trunc",
    "sign",
    "sgn",
    "fill.Scalar",
    "zero",
    saves=False,
    self=lambda g, a: aten.zeros_like.default(g),
)
formula("relu", result=True, self=lambda g, a: aten.threshold_backward.default(g, a.result, 0))
formula(
    "clone",
    "_conj",
    "contiguous",
    "alias",
    "lift_fresh",
    "positive",
    saves=False,
    self=lambda g, a: g,
)
formula(
    "_to_copy",
    saves=False,
    self=lambda g, a: (
        aten._to_copy.default(g, dtype=a.self.dtype) if g.dtype is not a.self.dtype else g
    ),
)
formula(
    "copy", "copy_", saves=False, self=lambda g, a: aten.zeros_like.default(g), src=lambda g, a: g
)
