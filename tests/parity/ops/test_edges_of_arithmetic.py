"""Integers without an absolute value, divisors whose reciprocal is no normal number, infinities:
values and gradients against PyTorch, eager and jitted."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from oracle import compare, with_gradients

import torchlike

torch = pytest.importorskip("torch")


LIBRARIES = (torch, torchlike)
INF, NAN = math.inf, math.nan


def alike(function, *values, dtype: Any = "float32", gradients=True, rtol=1e-5, atol=2e-38):
    """``function`` of both libraries, ours also jitted. (Denormal numbers are 0 to XLA.)"""
    for jitted in (False, True):
        run = with_gradients(function, *values, dtype=dtype, grad=gradients, jitted=jitted)
        compare(run, rtol=rtol, atol=atol)


# -- greatest common divisors ----------------------------------------------------------------------


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8"])
@pytest.mark.parametrize("name", ["gcd", "lcm"])
def test_divisors_of_the_smallest_integer(name, dtype):
    info = np.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    own = {low, low + 1, -2, -3, -6, -64, -100} if low else set()
    values = sorted({high, high // 2 + 1, 0, 1, 2, 3, 6, 12, 60, 100} | own)
    # An integer divided by -1 may end PyTorch's process: no place for minus the smallest.
    pairs = [
        (a, b)
        for a, b in itertools.product(values, values)
        if math.gcd(a, b) > 1 or not low or low not in (a, b)
    ]
    pairs += [(low, 3), (3, low)] if low else []
    first, second = ([pair[i] for pair in pairs] for i in (0, 1))
    alike(lambda t, a, b: getattr(t, name)(a, b), first, second, dtype=dtype)
    alike(lambda t, a, b: getattr(a.clone(), f"{name}_")(b), first, second, dtype=dtype)


# -- spread ----------------------------------------------------------------------------------------


SPREADS = {
    "std": lambda t, x, **how: t.std(x, **how),
    "var": lambda t, x, **how: t.var(x, **how),
    "std_mean": lambda t, x, **how: tuple(t.std_mean(x, **how)),
    "var_mean": lambda t, x, **how: tuple(t.var_mean(x, **how)),
}


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("values", [[1e20, 2e20, 4e20], [1e-25, 2e-25, 4e-25], [5.0, 5.0, 5.0]])
@pytest.mark.parametrize("name", SPREADS)
def test_spread_of_large_and_of_small_numbers(name, values):
    spread = SPREADS[name]
    alike(spread, values)
    alike(lambda t, x: spread(t, x[None].expand(2, -1), dim=1, correction=0), values)


def test_spread_around_a_large_mean():
    values = [16777216.0, 16777218.0, 16777222.0]
    x = torchlike.tensor(values)
    assert x.mean().item() != np.mean(values)  # no float32
    np.testing.assert_allclose(x.std().item(), np.std(values, ddof=1), rtol=1e-6)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
def test_second_derivative_of_the_spread():
    for library in LIBRARIES:
        x = library.tensor([1.0, 2.0, 4.0, 9.0], dtype=library.float64)
        hessian = library.func.hessian(lambda x: x.std())(x)
        if library is torch:
            expected = hessian
    np.testing.assert_allclose(hessian.numpy(), expected.numpy(), rtol=1e-12, atol=1e-15)


# -- quotients -------------------------------------------------------------------------------------

BIG = {
    "float32": [1.0, 5.0, 1e38, 2e38, 8.5e37, 8.6e37, 3e38, -1e38, INF],
    "float64": [1.0, 5.0, 1e308, 4.6e307, 4.4e307, -1e308, INF],
}


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("dtype", BIG)
@pytest.mark.parametrize("divisor", range(7))
def test_rounded_quotients_by_large_divisors(divisor, dtype):
    big = BIG[dtype]
    by = big[divisor]

    def each(t, x, y):
        wide = x[:, None].expand(-1, 2)
        return tuple(
            found
            for given, other in ((x, y), (x, by), (x, y.expand(len(big))), (wide, y.expand(2)))
            for found in (
                t.div(given, other, rounding_mode="floor"),
                t.floor_divide(given, other),
                t.div(given, other, rounding_mode="trunc"),
                given / other,
                t.addcdiv(given * 0, given, t.as_tensor(other, dtype=given.dtype)),
            )
        )

    alike(each, big, [by], dtype=dtype, gradients=False)


@pytest.mark.parametrize("number", [1.0, 1e38, 3e38])
def test_a_number_divided_by_large_tensors(number):
    values = [1e30, 1e38, 2e38, -3e38, 8.5e37, 2.0]
    alike(lambda t, x: number / x, values, gradients=False)


def test_gradients_of_quotients_hold_no_square():
    x, y = [1e20, -2e20, 3e-20, 1.0, 0.0], [3e20, 1e20, 2e-20, 1e-20, 1e-30]
    alike(lambda t, x, y: x / y, x, y)
    alike(lambda t, x: x / x.sum(), [1e20, -2e20, 3e20], atol=1e-26)
    alike(lambda t, x: x / x.abs().max(), [1e-19, 2e-21, 3e-22])


EDGES = [0.0, -0.0, 1.0, -2.0, 0.5, INF, -INF, NAN]
COMPLEX = [complex(a, b) for a in EDGES for b in EDGES]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["quotient", "power"])
def test_complex_edges_by_pairs(name, dtype):
    pairs = list(itertools.product(COMPLEX, COMPLEX))
    x, y = ([pair[i] for pair in pairs] for i in (0, 1))
    function = {"quotient": lambda t, x, y: x / y, "power": lambda t, x, y: x**y}[name]
    # PyTorch's vectorised quotients, too, have other last bits.
    alike(function, x, y, dtype=dtype, gradients=False, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("number", [0.0, -0.0, 2.0, INF, -INF, 1j])
def test_complex_tensors_divided_by_numbers(number):
    alike(lambda t, x: x / number, COMPLEX, dtype="complex64", gradients=False)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("number", [-1, -2, 0.5, -0.5, 2, 3, 1.5, INF, -INF, NAN, 1j, 1 + 1j])
def test_complex_tensors_to_a_number(number):
    alike(lambda t, x: x**number, COMPLEX, dtype="complex64", gradients=False, atol=1e-6)


@pytest.mark.parametrize("number", [0.0, 1.0, 2.0, -1.0, INF, -INF, 1j])
def test_a_number_to_complex_tensors(number):
    alike(lambda t, x: number**x, COMPLEX, dtype="complex64", gradients=False, atol=1e-6)


def test_gradients_of_complex_quotients():
    x, y = [1 + 2j, -3 + 0.5j, 2 + 0j, 1j], [2 - 1j, 0.5 + 0j, -1j, 1e10 + 1e-3j]
    alike(lambda t, x, y: x / y, x, y, dtype="complex128", rtol=1e-12)
    alike(lambda t, x: x.reciprocal(), y, dtype="complex128", rtol=1e-12)
    alike(lambda t, x: (1 / x) / x, x, dtype="complex64")


# -- gradients at the edge -------------------------------------------------------------------------


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("power", [0.5, -0.5, 1.5, -1.5, 2, 3, -1, 0.25])
def test_real_powers_at_zero_and_infinity(power, dtype):
    values = [0.0, -0.0, 1.0, -1.0, 2.5, INF, -INF, NAN, 1e-20, 1e10]
    alike(lambda t, x: x**power, values, dtype=dtype)
    for library in LIBRARIES:
        zeros = library.tensor([-0.0, 0.0], dtype=getattr(library, dtype)) ** power
        if library is torch:
            expected = np.signbit(zeros.numpy())
    assert (np.signbit(zeros.numpy()) == expected).all()


@pytest.mark.parametrize("power", [0.5, -0.5, 1.5, 2, 3, -1])
def test_second_derivatives_of_real_powers(power):
    def slope(t, x):
        return t.autograd.grad((x**power).sum(), x, create_graph=True)[0]

    alike(slope, [0.3, 1.7, 3.0], dtype="float64", rtol=1e-12)


def test_the_slope_of_ndtri_at_its_ends():
    alike(lambda t, x: t.special.ndtri(x), [0.0, -0.0, 1.0, 0.5, 0.1, 0.999], rtol=2e-5)


def test_the_slope_of_logit_at_minus_zero():
    alike(lambda t, x: t.logit(x), [-0.0, 0.0, 1.0, 0.5])


def test_slopes_of_angles_far_from_one():
    for dtype, size in (("float32", 1e18), ("float32", 1e-18), ("float64", 1e150)):
        alike(
            lambda t, y, x: t.atan2(y, x),
            [size, -size, 2 * size],
            [size, 3 * size, -size],
            dtype=dtype,
        )
    # PyTorch's are 0 and inf here: its sums of squares are.
    for size in (1e25, 1e-25):
        y, x = (torchlike.tensor([size], requires_grad=True) for _ in range(2))
        slopes: Any = torchlike.autograd.grad(torchlike.atan2(y, x).sum(), (y, x))
        np.testing.assert_allclose([s.item() * size for s in slopes], [0.5, -0.5], rtol=1e-6)


def test_prelu_of_an_infinity_has_a_slope():
    alike(lambda t, x, w: t.nn.functional.prelu(x, w), [INF, 1.0, -2.0, 3.0], [0.25])


@pytest.mark.parametrize("number", [NAN, INF, -INF])
def test_a_number_without_end_has_no_part_where_it_is_not_used(number):
    values = [0.5, -1.0, 2.0, 0.0, -0.0, NAN, INF]
    alike(lambda t, x: t.nn.functional.leaky_relu(x, number), values)
    if math.isnan(number):
        alike(lambda t, x: t.nn.functional.hardtanh(x, -1.0, number), values)
        alike(lambda t, x: t.nn.functional.hardtanh(x, number, INF), values)
    if number == INF:
        alike(lambda t, x: t.nn.functional.huber_loss(x, x * 0, delta=number), [0.5, -1.0, 2.0])


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_angles_of_integers(dtype):
    """The slope is that of the same numbers as floats; PyTorch negates them as bytes."""
    integers = [2, 1, 0, 3]

    def slopes(of):
        x = torchlike.tensor([0.5, 0.25, -3.0, 1.0], requires_grad=True)
        y = torchlike.tensor(integers, dtype=of)
        grads: Any = torchlike.autograd.grad(torchlike.atan2(y, x).sum(), x)
        return grads[0].tolist()

    assert slopes(getattr(torchlike, dtype)) == slopes(torchlike.float32)
    np.testing.assert_allclose(slopes(torchlike.float32)[:2], [-2 / 4.25, -1 / 1.0625], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "float64"])
def test_running_products_out_of_range_on_the_way(dtype):
    large = [1e200, 1e200, 1e-200, -0.0] if dtype == "float64" else [1e30, 1e30, 1e-30, -0.0]
    for values in (large, [1 / v for v in large[:3]], [3.0, -0.0, INF], [INF, 2.0, 0.0]):
        kind: Any = complex if dtype == "complex64" else float
        if dtype == "complex64" and INF in values:
            continue  # one library or the other has NaN in the imaginary part first
        row = [kind(v) for v in values]
        alike(lambda t, x: t.cumprod(x, 0), row, dtype=dtype, gradients=False)


def test_running_logsumexp_beside_an_infinity():
    alike(lambda t, x: t.logcumsumexp(x, 0)[1:], [-2.0, 1.0, 2.0, 0.5])
    x = torchlike.tensor([1.0, INF, 2.0, 3.0], requires_grad=True)
    slopes: Any = torchlike.autograd.grad(torchlike.logcumsumexp(x, 0).sum(), x)[0]
    assert slopes[[0, 2, 3]].tolist() == [1.0, 0.0, 0.0]  # it was e ** 2 and e ** 3 times as much


@pytest.mark.parametrize("order", [INF, -INF])
def test_the_largest_of_what_is_no_number_has_no_slope(order):
    for values in ([NAN, 1.0, 2.0], [1.0, -1.0, 0.5], [INF, 1.0, INF]):
        alike(lambda t, x: t.linalg.vector_norm(x, order), values)
        alike(lambda t, x: t.linalg.vector_norm(x, order, 0, True), values)
        alike(lambda t, x: t.dist(x, t.zeros_like(x), order), values)


def test_trigamma_of_large_numbers():
    alike(lambda t, x: t.polygamma(1, x), [1e9, 1e15, 1e20, 1e30], gradients=False)
    alike(lambda t, x: t.digamma(x), [1e9, 1e15, 1e20, 1e30])


# -- 16 bits ---------------------------------------------------------------------------------------

HALVES = ["float16", "bfloat16"]


@pytest.mark.parametrize("dtype", HALVES)
def test_halves_are_rounded_to_decimal_places_in_float32(dtype):
    values = (np.random.default_rng(0).standard_normal(256) * 30).tolist()
    for places in (1, 2, -1):
        alike(lambda t, x: t.round(x, decimals=places), values, dtype=dtype, rtol=0)  # noqa: B023
    alike(lambda t, x: t.round(x, decimals=-3), [123456.0, -1500.0, 2500.0], rtol=0)


@pytest.mark.parametrize("dtype", HALVES)
def test_hypotenuses_of_halves_are_computed_in_float32(dtype):
    rng = np.random.default_rng(1)
    x, y = (rng.standard_normal(256) * 300 for _ in range(2))
    alike(
        lambda t, x, y: t.hypot(x, y), x.tolist(), y.tolist(), dtype=dtype, gradients=False, rtol=0
    )


@pytest.mark.parametrize("alpha", [3, 0.1, 1 / 3])
@pytest.mark.parametrize("dtype", HALVES)
def test_multiples_of_halves_are_rounded_once(dtype, alpha):
    """By the factor rounded to 16 bits. PyTorch's loop over what its vectors leave over rounds the
    product as well; of 256 numbers nothing is left over."""
    rng = np.random.default_rng(2)
    x, y = (rng.standard_normal(256) * 3 for _ in range(2))
    for name in ("add", "sub", "rsub"):
        alike(
            lambda t, x, y, name=name: getattr(t, name)(x, y, alpha=alpha),
            x.tolist(),
            y.tolist(),
            dtype=dtype,
            gradients=False,
            rtol=0,
        )


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("own", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("exponent", ["bfloat16", "float16", "float32", "float64"])
def test_ldexp_of_mixed_dtypes(exponent, own):
    for x, n in (([1.0], [2.7]), ([1.0], 2.7), (1.0, [2.7]), (1.0, 2.7)):
        alike(lambda t, x, n: t.ldexp(x, n), x, n, dtype=[own, exponent], gradients=False, rtol=0)


def test_no_complex_numbers_of_16_bits():
    x = torchlike.tensor([1.0, 2.0], dtype=torchlike.float16)
    for function in (
        lambda x: x * 1j,
        lambda x: 1j / x,
        lambda x: x + torchlike.tensor(1j),
        lambda x: x**1j,
        lambda x: torchlike.where(x > 0, x, 1j),
        lambda x: torchlike.result_type(x, 1j),
        lambda x: torchlike.view_as_complex(x),
        torchlike.jit(lambda x: x * 1j),
    ):
        with pytest.raises(NotImplementedError, match="complex32"):
            function(x)
    assert (x == 1j).tolist() == [False, False]
    assert (x != 1 + 0j).tolist() == [False, True]
    assert (x * torchlike.tensor([1j, 2j])).dtype is torchlike.complex64
    assert torchlike.float_power(x, 1j).dtype is torchlike.complex128
    with pytest.raises(RuntimeError, match="only supported for half, float and double"):
        torchlike.view_as_complex(x.bfloat16())


# -- sparse ----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
@pytest.mark.parametrize("count", [0, 1, 2])
def test_whether_indices_are_sorted_can_be_said(count):
    for library in LIBRARIES:
        at = library.arange(count)[None]
        x = library.sparse_coo_tensor(at, library.ones(count), (3,)).coalesce()
        assert x.is_coalesced()
        assert x._coalesced_(False) is x
        assert not x.is_coalesced()
        with pytest.raises(RuntimeError, match="on an uncoalesced tensor"):
            x.values()
        assert x._coalesced_(True).is_coalesced()


# -- attention without keys ------------------------------------------------------------------------


@pytest.mark.sampled(every=7, rest="full")
@pytest.mark.parametrize("weights", [True, False])
@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("mask", ["padding", "mask", "masks of heads", "both", "floats"])
def test_queries_all_of_whose_keys_are_masked(mask, heads, weights):
    padding = [[True] * 3, [False, True, False]]
    hidden = [[True] * 3, [False] * 3, [False, True, False]]
    for training, gradients in itertools.product((False, True), repeat=2):
        runs = []
        for library, how in ((torch, ""), (torchlike, ""), (torchlike, "jit")):
            module = library.nn.MultiheadAttention(4, heads, batch_first=True)
            rng = np.random.default_rng(0)
            with library.no_grad():
                for p in module.parameters():
                    p.copy_(library.tensor(rng.standard_normal(tuple(p.shape))))
            module.train(training)
            x = library.tensor(rng.standard_normal((2, 3, 4)), dtype=library.float32)
            kind = library.float32 if mask == "floats" else library.bool
            given = {}
            if mask != "mask" and mask != "masks of heads":
                padded = library.tensor(padding)
                given["key_padding_mask"] = (
                    library.zeros(2, 3).masked_fill(padded, -INF) if mask == "floats" else padded
                )
            if mask in ("mask", "both"):
                given["attn_mask"] = library.tensor(hidden, dtype=kind)
            elif mask == "masks of heads":
                given["attn_mask"] = library.tensor([hidden] * 2 * heads, dtype=kind)
            run = library.jit(module) if how else module
            with library.set_grad_enabled(gradients):
                runs.append(run(x, x, x, need_weights=weights, **given)[0].detach().numpy())
        for mine in runs[1:]:
            np.testing.assert_allclose(mine, runs[0], rtol=1e-5, atol=1e-6)
