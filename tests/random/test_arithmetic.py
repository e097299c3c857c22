"""Fused multiply-add, casts and sure rounding, against exact rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from torchlike.random import arithmetic

F32, F64 = np.dtype("float32"), np.dtype("float64")
F16, BF16 = np.dtype("float16"), np.dtype(ml_dtypes.bfloat16)


def to_float32(exact: Fraction) -> float:
    """The float32 nearest to a rational, ties to even, from first principles."""
    if exact == 0:
        return 0.0
    magnitude = abs(exact)
    # The exponent of the leading bit, then that of the last place.
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > magnitude
    place = Fraction(2) ** (max(exponent, -126) - 23)
    rounded = float(round(magnitude / place) * place)  # round() of a Fraction is half to even
    return math.copysign(math.inf if rounded >= 2.0**128 else rounded, exact)


floats32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
moderate = st.floats(min_value=-1e30, max_value=1e30, allow_nan=False)


@given(floats32, floats32, floats32)
# The double sum is a float32 tie only because it was rounded itself.
@example(1.0 + 2.0**-23, 1.0 + 2.0**-23, 2.0**-60)
@example(2.0**24 + 2.0, 1.0 + 2.0**-23, -(2.0**-40))
@example(2.0**-75, 2.0**-75, 2.0**-149)
@example(1.5, 2.0**-149, 2.0**-149)
def test_fma32(a, b, c):
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    with np.errstate(over="ignore"):
        got = arithmetic.fma32(*(np.array([x], np.float32) for x in (a, b, c)))
    assert got.dtype == np.float32
    assert got[0] == to_float32(exact)


def test_fma32_on_many_near_ties():
    rng = np.random.default_rng(0)
    # a * b has 48 bits; c shifted by about 30 places puts the double's rounding onto the tie.
    a = (1 + rng.integers(0, 2**23, 20000) * 2.0**-23).astype(np.float32)
    b = (1 + rng.integers(0, 2**23, 20000) * 2.0**-23).astype(np.float32)
    product = a.astype(np.float64) * b
    tie_distance = product.view(np.int64) & 0x1FFFFFFF
    c = ((0x10000000 - tie_distance) * 2.0**-52 + rng.integers(-2, 3, 20000) * 2.0**-60).astype(F32)
    got = arithmetic.fma32(a, b, c)
    naive = (product + c).astype(np.float32)
    exact = [
        to_float32(Fraction(x) * Fraction(y) + Fraction(z))
        for x, y, z in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
    ]
    assert got.tolist() == exact
    assert (naive != got).any()


@given(st.lists(moderate, min_size=1, max_size=5), moderate, moderate)
@example([1.0 + 2.0**-52], 1.0 + 2.0**-52, 2.0**-110)
@example([0.1, 1e-300], 1e-280, 1e-310)
@example([3.0], 1e300, -1e301)
@example([0.3], 0.0, 1.5)
@example([0.3], -4.0, 1e-20)
def test_fma64(values, b, c):
    exact = [float(Fraction(a) * Fraction(b) + Fraction(c)) for a in values]
    assert arithmetic.fma64(np.array(values), b, c).tolist() == exact


def test_fma64_beyond_the_finite():
    values = np.array([2.0, -2.0, math.inf])
    with np.errstate(over="ignore", invalid="ignore"):
        assert arithmetic.fma64(values, 1.7e308, 1.7e308).tolist() == [math.inf, -1.7e308, math.inf]
        assert arithmetic.fma64(values[:2], math.inf, 1.0).tolist() == [math.inf, -math.inf]


def test_casts_to_half_types_round_twice():
    # Above the float16 tie by less than float32 can hold: float32 rounds it onto the tie.
    value = np.array([1 + 2.0**-11 + 2.0**-40])
    assert arithmetic.cast(value, F16)[0] == 1.0
    assert value.astype(np.float16)[0] == 1 + 2.0**-10
    assert float(arithmetic.cast(np.array([1 + 2.0**-8 + 2.0**-40]), BF16)[0]) == 1.0


def test_casts_to_integers_are_those_of_x86():
    values = np.array([3.0, 300.0, 40000.0, 1e12, 1e300, math.nan])
    smallest = -(2**63)
    as_int64 = arithmetic.cast(values, np.dtype("int64")).tolist()
    assert as_int64 == [3, 300, 40000, 10**12, smallest, smallest]
    assert arithmetic.cast(values, np.dtype("int8")).tolist() == [3, 44, 64, 0, 0, 0]
    assert arithmetic.cast(values, np.dtype("uint8")).tolist() == [3, 44, 64, 0, 0, 0]


@pytest.mark.parametrize("dtype", [F32, F64, F16, BF16], ids=str)
@pytest.mark.parametrize("value", [0.1, -0.3, 59999.0, 1e5, 1e300, -math.inf])
def test_round_to_agrees_with_cast(dtype, value):
    expected = float(arithmetic.cast(np.array([value]), dtype)[0])
    assert arithmetic.round_to(value, dtype) == expected


def test_rounded_surely_asks_only_where_it_must():
    exact = np.array([0.3, 1.0 - 1e-17, 1.0 + 1e-9, 2.5])
    approximate = exact + np.array([1e-12, 2e-12, -1e-12, 0.0])
    asked: list[int] = []

    def correct(which):
        asked.extend(which.tolist())
        return exact[which]

    got = arithmetic.rounded_surely(approximate, np.full(4, 1e-11), correct, np.ceil)
    assert got.tolist() == [1.0, 1.0, 2.0, 3.0]
    assert asked == [1]


@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
def test_scalars_added_are_rounded_first_and_factors_are_not(dtype):
    values = np.linspace(-3, 3, 501).astype(dtype)
    number, wide = 0.31234567, values.astype(np.float32)
    narrow = np.float32(dtype.type(np.float32(number)))
    for got, expected in (
        (arithmetic.add_scalar(values, number), wide + narrow),
        (arithmetic.multiply_scalar(values, number), wide * np.float32(number)),
        (arithmetic.divide_scalar(values, number), wide / np.float32(number)),
    ):
        assert got.dtype == dtype
        assert got.tobytes() == expected.astype(dtype).tobytes()


def test_c_edges():
    assert arithmetic.c_log(0.0) == -math.inf
    assert math.isnan(arithmetic.c_log(-1.0))
    assert arithmetic.c_exp(1000.0) == math.inf
    assert math.isnan(arithmetic.c_sqrt(-1.0))
