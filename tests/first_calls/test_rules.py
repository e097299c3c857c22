"""Every NumPy rule against XLA, edges included."""

import os
import subprocess
import sys
from typing import Any

import jax
import jax.extend.random
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

from torchlike._runtime.first_calls.interpreter import EvaluationPlan, function_of
from torchlike._runtime.first_calls.rules import RULES, NoNumpyRule

#: Of the largest finite number of the result: rounding in another order, or another polynomial.
TOLERANCE = {
    "float32": 4 * 2**-23,
    "float64": 8 * 2**-52,
    "bfloat16": 2**-7,
    "float16": 2**-10,
    "complex64": 4 * 2**-23,
}
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, 1e-3, 40.0, -40.0, 3e38, np.inf, -np.inf, np.nan]
COVERED: set[str] = set()


def names_in(jaxpr):
    found = set()
    for eqn in jaxpr.eqns:
        found.add(eqn.primitive.name)
        for value in eqn.params.values():
            for item in value if isinstance(value, (tuple, list)) else (value,):
                inner = getattr(item, "jaxpr", item)
                if hasattr(inner, "eqns"):
                    found |= names_in(inner)
    return found


def check(function, *arrays, exact=False):
    """``function`` by NumPy and by XLA: same avals; integers, NaN and inf the same."""
    closed = jax.make_jaxpr(function)(*arrays)
    COVERED.update(names_in(closed.jaxpr))
    with np.errstate(all="ignore"):
        by_numpy = function_of(closed)(*[np.asarray(a) for a in arrays])
    compiled = jax.tree.leaves(jax.jit(function)(*arrays))
    assert len(by_numpy) == len(compiled)
    for found, expected in zip(by_numpy, compiled, strict=True):
        found, expected = np.asarray(found), np.asarray(expected)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        tolerance = 0 if exact else TOLERANCE.get(expected.dtype.name, 0)
        if expected.dtype.kind not in "biu":  # NumPy compares no NaN in ml_dtypes' dtypes
            wide = np.complex128 if expected.dtype.kind == "c" else np.float64
            found, expected = found.astype(wide), expected.astype(wide)
        if not tolerance:
            np.testing.assert_array_equal(found, expected)
            continue
        finite = np.abs(expected[np.isfinite(expected)])
        np.testing.assert_allclose(
            found, expected, rtol=0, atol=tolerance * finite.max(initial=1e-30), equal_nan=True
        )


def floats(*shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def integers(*shape, low=-9, high=9, dtype=np.int32):
    return np.random.default_rng(1).integers(low, high, shape).astype(dtype)


UNARY = [
    lax.neg,
    lax.abs,
    lax.sign,
    lax.floor,
    lax.ceil,
    lax.exp,
    lax.exp2,
    lax.log,
    lax.log1p,
    lax.expm1,
    lax.sqrt,
    lax.rsqrt,
    lax.cbrt,
    lax.tanh,
    lax.logistic,
    lax.is_finite,
    lax.sin,
    lax.cos,
    lax.tan,
    lax.asin,
    lax.acos,
    lax.atan,
    lax.sinh,
    lax.cosh,
    lax.asinh,
    lax.acosh,
    lax.atanh,
    lax.square,
    lax.erf,
    lax.erfc,
    lax.erf_inv,
    lax.lgamma,
    lax.digamma,
    lax.bessel_i0e,
    lax.bessel_i1e,
    lambda x: lax.integer_pow(x, 3),
    lambda x: lax.integer_pow(x, -2),
    lambda x: lax.integer_pow(x, 0),
    lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
    jnp.log2,
]
#: JAX 0.12 has primitives for these.
if hasattr(lax, "polynomial"):
    UNARY += [
        lambda x: lax.polynomial(x, [1.0, -2.0, 0.5, 3.0]),
        lax.one_minus_square,
        lambda x: lax.polynomial(x, [x, 2.0, jnp.sin(x)]),
    ]


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("function", UNARY, ids=lambda f: getattr(f, "__name__", "?"))
def test_unary(function):
    check(function, floats(50))


#: XLA's own are off beyond their range, and digamma(0) is NaN there: NumPy's and SciPy's are right.
NOT_AT_EDGES = (
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "lgamma",
    "digamma",
    "bessel_i0e",
    "bessel_i1e",
)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    "function",
    [f for f in UNARY if getattr(f, "__name__", "") not in NOT_AT_EDGES],
    ids=lambda f: getattr(f, "__name__", "?"),
)
def test_unary_at_the_edges(function):
    for edge in EDGES:
        check(function, np.asarray([edge], np.float32))


BINARY = [
    lax.add,
    lax.sub,
    lax.mul,
    lax.div,
    lax.rem,
    lax.max,
    lax.min,
    lax.pow,
    lax.atan2,
    lax.nextafter,
    lax.eq,
    lax.ne,
    lax.lt,
    lax.le,
    lax.gt,
    lax.ge,
]


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
def test_binary(function):
    check(function, floats(6, 7), floats(6, 7, seed=1))
    x, y = np.meshgrid(np.asarray(EDGES, np.float32), np.asarray(EDGES, np.float32))
    closed = jax.make_jaxpr(function)(x[0], y[0])
    with np.errstate(all="ignore"):
        (found,) = function_of(closed)(x.reshape(-1), y.reshape(-1))
    expected = np.asarray(jax.jit(function)(x.reshape(-1), y.reshape(-1)))
    # One by one: next to 3e38 every difference is small. XLA takes denormal results for 0.
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1.2e-38)


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("function", BINARY[:7] + BINARY[10:], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
def test_binary_of_integers(function, dtype):
    limits = np.iinfo(dtype)
    values = np.asarray([limits.min, limits.max, 0, 1, 2, 3, 7, limits.max - 1], dtype)
    x, y = np.meshgrid(values, values)
    check(function, x, y)


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.int64])
def test_bits(dtype):
    x, y = integers(40, low=0, high=100, dtype=dtype), integers(40, low=0, high=70, dtype=dtype)
    for function in (
        lax.bitwise_and,
        lax.bitwise_or,
        lax.bitwise_xor,
        lax.shift_left,
        lax.shift_right_logical,
        lax.shift_right_arithmetic,
    ):
        check(function, x, y)
    check(lax.bitwise_not, x)
    check(lax.population_count, x)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64])
def test_other_floats(dtype):
    x, y = floats(20, dtype=dtype), floats(20, seed=2, dtype=dtype)
    for function in (lax.add, lax.mul, lax.max, lax.div, lax.pow):
        check(function, abs(x), y)
    for function in (lax.exp, lax.tanh, lax.erf, lax.neg):
        check(function, x)
    check(lambda a: lax.reduce_sum(a, (0,)), x)
    check(lambda a: lax.reduce_max(a, (0,)), x)
    check(lambda a: lax.sort(a), x)
    check(lambda a, b: a.reshape(4, 5) @ b.reshape(5, 4), x, y)


def test_complex():
    x, y = floats(6) + 1j * floats(6, seed=1), floats(6, seed=2) + 1j * floats(6, seed=3)
    x, y = x.astype(np.complex64), y.astype(np.complex64)
    for function in (lax.add, lax.sub, lax.mul, lax.eq):
        check(function, x, y)
    for function in (
        lax.neg,
        lax.abs,
        lax.conj,
        lax.real,
        lax.imag,
        lax.square,
        lambda v: lax.reduce_sum(v, (0,)),
    ):
        check(function, x)
    check(lax.complex, floats(5), floats(5, seed=1))
    with pytest.raises(NoNumpyRule):
        check(lax.exp, x)


CONVERTED = [
    np.bool_,
    np.int8,
    np.uint8,
    np.int32,
    np.int64,
    np.float16,
    ml_dtypes.bfloat16,
    np.float32,
    np.float64,
]


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("source", CONVERTED, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("target", CONVERTED, ids=lambda d: np.dtype(d).name)
def test_conversions(source, target):
    values: Any = np.asarray(
        [0, 1, -1, 2.5, -2.5, 100, 300, -300, 7e4, -7e4, 3e9, 1e19, np.nan, np.inf]
    )
    if not np.issubdtype(source, np.inexact) and source != ml_dtypes.bfloat16:
        values = np.asarray([0, 1, 2, 100])
    with np.errstate(all="ignore"):
        values = values.astype(source)
    check(lambda x: lax.convert_element_type(x, target), values, exact=True)


def test_bits_of_floats():
    check(lambda x: lax.bitcast_convert_type(x, np.int32), floats(3, 4))
    check(lambda x: lax.bitcast_convert_type(x, np.int16), floats(3, 4))
    check(lambda x: lax.reduce_precision(x, 8, 7), floats(20), exact=True)


SHAPES = {
    "broadcast": lambda x: lax.broadcast_in_dim(x, (2, 3, 5, 4), (1, 3)),
    "expand": lambda x: jnp.broadcast_to(x[:, None], (3, 6, 4)),
    "reshape": lambda x: x.reshape(2, 6),
    "squeeze": lambda x: lax.squeeze(x[None], (0,)),
    "transpose": lambda x: x.T,
    "slice": lambda x: lax.slice(x, (0, 1), (3, 4), (2, 1)),
    "rev": lambda x: lax.rev(x, (1,)),
    "pad": lambda x: lax.pad(x, jnp.float32(7), ((1, 2, 0), (-1, 0, 1))),
    "pad cut": lambda x: lax.pad(x, jnp.float32(7), ((-4, 5, 2), (0, -3, 1))),
    "concatenate": lambda x: jnp.concatenate([x, x + 1], 1),
    "split": lambda x: lax.split(x, (1, 3), 1),
    "iota": lambda x: x + lax.broadcasted_iota(np.float32, (3, 4), 1),
    "tile": lambda x: jnp.tile(x, (2, 3)),
    "clamp": lambda x: lax.clamp(jnp.float32(-0.5), x, jnp.float32(0.5)),
    "select": lambda x: jnp.where(x > 0, x, -x),
    "select of three": lambda x: lax.select_n((x > 0).astype(np.int32) + (x > 1), x, -x, x * x),
    "barrier": lambda x: lax.optimization_barrier((x, x + 1)),
    "dynamic slice": lambda x: lax.dynamic_slice(x, (jnp.int32(2), jnp.int32(-1)), (2, 3)),
    "dynamic update": lambda x: lax.dynamic_update_slice(x, x[:2, :2], (2, -1)),
    "place on no device": lambda x: jax.device_put(x) + 1,
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name):
    check(SHAPES[name], floats(3, 4), exact=True)


@pytest.mark.sampled(every=7)
@pytest.mark.parametrize("shape", [(3, 4, 5), (0, 4, 5), (3, 0, 5)])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 2), (0, 1, 2)])
def test_reductions(shape, axes):
    x = floats(*shape)
    for function in (lax.reduce_sum, lax.reduce_prod, lax.reduce_max, lax.reduce_min):
        check(lambda x, f=function: f(x, axes), x)
        check(lambda x, f=function: f(x, axes), integers(*shape, dtype=np.int8))
    for function in (lax.reduce_and, lax.reduce_or, lax.reduce_xor):
        check(lambda x, f=function: f(x, axes), x > 0)
        check(lambda x, f=function: f(x, axes), integers(*shape))


def test_extrema_of_nan():
    x = np.asarray([[1, np.nan, 3], [2, 2, -np.inf]], np.float32)
    for function in (lax.reduce_max, lax.reduce_min):
        check(lambda x, f=function: f(x, (1,)), x)
    for function in (lax.argmax, lax.argmin):
        check(lambda x, f=function: f(x, 1, np.int32), x)
        check(lambda x, f=function: f(x, 0, np.int64), integers(3, 4))


@pytest.mark.parametrize("reverse", [False, True])
def test_cumulative(reverse):
    for function in (lax.cumsum, lax.cumprod, lax.cummax, lax.cummin, lax.cumlogsumexp):
        check(lambda x, f=function: f(x, 1, reverse), floats(3, 6))
    check(lambda x: lax.cumsum(x, 0, reverse), integers(5, 2))


PRODUCTS = {
    "matrices": ("ij,jk->ik", (3, 4), (4, 5)),
    "transposed": ("ji,kj->ik", (4, 3), (5, 4)),
    "vectors": ("i,i->", (7,), (7,)),
    "outer": ("i,j->ij", (3,), (4,)),
    "batches": ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    "batches inside": ("ibj,jbk->bik", (3, 2, 4), (4, 2, 5)),
    "two summed": ("ijk,jkl->il", (3, 2, 4), (2, 4, 5)),
    "nothing summed": ("ij,jk->ik", (3, 0), (0, 5)),
    "nothing": ("ij,jk->ik", (0, 4), (4, 5)),
}


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, ml_dtypes.bfloat16])
def test_products(name, dtype):
    spec, left, right = PRODUCTS[name]
    x, y = floats(*left).astype(dtype), floats(*right, seed=1).astype(dtype)
    check(lambda x, y: jnp.einsum(spec, x, y), x, y)


def test_products_of_bytes_in_wide_integers():
    x, y = integers(3, 4, dtype=np.int8), integers(4, 3, dtype=np.int8)
    check(lambda x, y: lax.dot(x, y, preferred_element_type=np.int32), x, y)


CONVOLUTIONS = {
    "plain": {"window_strides": (1, 1), "padding": "VALID"},
    "same": {"window_strides": (1, 1), "padding": "SAME"},
    "strides": {"window_strides": (2, 3), "padding": [(1, 2), (0, 1)]},
    "dilated kernel": {
        "window_strides": (1, 1),
        "padding": [(2, 2), (2, 2)],
        "rhs_dilation": (2, 1),
    },
    "holes": {"window_strides": (1, 1), "padding": [(2, 1), (0, 3)], "lhs_dilation": (2, 3)},
    "cut off": {"window_strides": (1, 1), "padding": [(-1, 0), (0, -2)]},
    "two groups": {"window_strides": (1, 1), "padding": "SAME", "feature_group_count": 2},
    "depthwise": {"window_strides": (1, 1), "padding": "SAME", "feature_group_count": 4},
    "groups of the batch": {
        "window_strides": (1, 1),
        "padding": "SAME",
        "batch_group_count": 2,
    },
}


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name):
    options = CONVOLUTIONS[name]
    x = floats(2, 4, 7, 8)
    weight = floats(8, 4 // options.get("feature_group_count", 1), 3, 2, seed=1)

    def convolve(x, weight):
        return lax.conv_general_dilated(
            x, weight, dimension_numbers=("NCHW", "OIHW", "NCHW"), **options
        )

    check(convolve, x, weight)
    check(lambda x, w: jax.grad(lambda *a: convolve(*a).sum(), (0, 1))(x, w), x, weight)


def test_convolutions_channels_last_and_in_one_and_three_dimensions():
    for letters, spatial in (("W", (9,)), ("HW", (6, 7)), ("DHW", (4, 5, 6))):
        x, weight = floats(2, *spatial, 3), floats(*(2,) * len(spatial), 3, 4, seed=1)
        layout = f"N{letters}C", f"{letters}IO", f"N{letters}C"
        ones = (1,) * len(spatial)
        check(
            lambda x, w, layout=layout, ones=ones: lax.conv_general_dilated(
                x, w, ones, "SAME", dimension_numbers=layout
            ),
            x,
            weight,
        )


AT = np.asarray([2, 0, -1, 5, 2])
INDEXING = {
    "rows": lambda x, i: x[i],
    "columns": lambda x, i: x[:, i],
    "pairs": lambda x, i: x[i, i % 4],
    "rows or nothing": lambda x, i: x.at[i].get(mode="fill", fill_value=7),
    "rows clipped": lambda x, i: x.at[i].get(mode="clip"),
    "along": lambda x, i: jnp.take_along_axis(x, i[None, :4] % 3, 0),
    "window": lambda x, i: jax.vmap(lambda k: lax.dynamic_slice(x, (k, 0), (2, 3)))(i),
    "set": lambda x, i: x.at[i[:3]].set(9.0),
    "add": lambda x, i: x.at[i].add(2.0),
    "add columns": lambda x, i: x.at[:, i % 4].add(1.5),
    "subtract": lambda x, i: x.at[i].subtract(2.0),
    "multiply": lambda x, i: x.at[i].multiply(2.0),
    "min": lambda x, i: x.at[i].min(0.0),
    "max": lambda x, i: x.at[i].max(0.0),
    "add dropped": lambda x, i: x.at[i + 3].add(1.0, mode="drop"),
    "add clipped": lambda x, i: x.at[i + 3].add(1.0, mode="clip"),
    "add pairs": lambda x, i: x.at[i, i % 4].add(1.0),
    "window set": lambda x, i: lax.dynamic_update_slice(x, x[:1, :2] + 1, (i[0], i[1])),
    "along, written": lambda x, i: jnp.put_along_axis(x, i[None, :4] % 3, 5.0, 0, inplace=False),
    "gradient of rows": lambda x, i: jax.grad(lambda x: (x[i] * x[i]).sum())(x),
}


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("name", INDEXING)
def test_indexing(name):
    check(INDEXING[name], floats(3, 4), AT)


def test_indexing_of_nothing():
    check(lambda x, i: x[i], floats(3, 4), AT[:0])
    check(lambda x, i: x.at[i].add(1.0), floats(3, 4), AT[:0])


def test_sorting():
    x = floats(4, 9)
    x[1, 3] = x[1, 5] = np.nan
    x[2, :3] = 0.0, -0.0, 0.0
    check(lambda x: lax.sort(x, dimension=0), x)
    check(lambda x: lax.sort((x, jnp.arange(36).reshape(4, 9)), num_keys=1), x)
    keys = integers(4, 9, low=0, high=3)
    check(lambda k, x: lax.sort((k, x, x * 2), dimension=1, num_keys=2), keys, floats(4, 9))
    check(lambda x: lax.top_k(x, 4), x)
    check(lambda x: lax.top_k(x, 2), keys)
    check(lambda x: lax.top_k(x, 2), integers(3, 9, low=0, high=200, dtype=np.uint8))
    check(lambda x: lax.sort(x), keys > 1)


@pytest.mark.parametrize("dim", [0, 1])
def test_sorting_of_long_rows(dim):
    """As words of a key and its place: equal keys, zeros of both signs and any NaN keep order."""
    x = np.random.default_rng(3).integers(-3, 4, (70, 70)).astype(np.float32)
    x[:, ::5], x[::7, 1::5] = np.nan, -np.nan
    x[3, 3:9], x[4:9, 4] = (-0.0, 0.0, np.inf, -0.0, -np.inf, 3e38), 1e-30
    places = jnp.arange(70 * 70).reshape(70, 70)
    extremes = np.array([np.iinfo(np.int32).min, np.iinfo(np.int32).max, 0, -1], np.int32)
    for keys in (x, extremes[np.arange(70 * 70).reshape(70, 70) % 4], x.astype(ml_dtypes.bfloat16)):
        check(lambda k: lax.sort((k, places), dimension=dim, num_keys=1), keys, exact=True)
    check(lambda x: lax.top_k(x, 9), x, exact=True)


def test_extrema_of_rows():
    x = floats(3, 4, 5)
    x[0, 1, 2], x[1, 0, :2], x[2, 3] = np.nan, (0.0, -0.0), -np.inf
    check(lambda x: (x.max(2), x.min((1, 2)), x.max(1), x.max((0, 2)), x.min()), x)
    check(lambda x: x.transpose(2, 0, 1).max((1, 2)), x)
    check(lambda x: (x.max(1), x.min(0)), integers(4, 3))


WINDOWS = {
    "sum": lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2, 2), (1, 2, 1), "VALID"),
    "max": lambda x: lax.reduce_window(
        x, -np.inf, lax.max, (1, 3, 2), (1, 1, 2), ((0, 0), (1, 1), (0, 1))
    ),
    "min, dilated": lambda x: lax.reduce_window(
        x, np.inf, lax.min, (1, 2, 2), (1, 1, 1), "VALID", window_dilation=(1, 2, 3)
    ),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name):
    check(WINDOWS[name], floats(2, 7, 8))


def test_fourier():
    x = floats(3, 8)
    z = (x + 1j * floats(3, 8, seed=1)).astype(np.complex64)
    for function in (jnp.fft.fft, jnp.fft.ifft, jnp.fft.fft2, lambda x: jnp.fft.irfft(x, 14)):
        check(function, z)
    check(jnp.fft.rfft, x)


def definite(*batch, n=5, dtype=np.float32):
    """Matrices that every factorization takes, well conditioned."""
    x = floats(*batch, n, n, dtype=dtype)
    return (x @ np.swapaxes(x, -1, -2) / n + 2 * np.eye(n, dtype=dtype)).astype(dtype)


def with_phase(x):
    """Hermitian where ``x`` is symmetric."""
    phase = np.exp(1j * np.arange(x.shape[-1])).astype(np.complex64)
    return phase[:, None] * x * phase.conj()


#: By name: a function whose result the choice of signs does not change.
FACTORIZATIONS = {
    "cholesky": lambda x: lax.linalg.cholesky(x, symmetrize_input=False),
    "eigh": lambda x: lax.linalg.eigh(x, symmetrize_input=False),
    "eigh of the upper triangle": lambda x: lax.linalg.eigh(
        jnp.triu(x), lower=False, symmetrize_input=False
    ),
    "singular values": lambda x: lax.linalg.svd(x[..., :3], compute_uv=False),
    "svd": lambda x: lax.linalg.svd(x[..., :3, :], full_matrices=False),
    "full svd": lambda x: lax.linalg.svd(x[..., :3], full_matrices=True)[1:],
    "lu": lambda x: lax.linalg.lu(x[..., :3]),
    "lu of rows": lambda x: lax.linalg.lu(x[..., :3, :]),
    "qr": lambda x: lax.linalg.qr(x[..., :3], full_matrices=False),
    "full qr": lambda x: lax.linalg.qr(x[..., :3], full_matrices=True)[1],
    "qr of rows": lambda x: lax.linalg.qr(x[..., :3, :], full_matrices=False),
    "geqrf": lambda x: lax.linalg.householder_product(*jnp.linalg.qr(x, mode="raw")),
    "solve": lambda x: jnp.linalg.solve(x, x[..., :2]),
    "det": jnp.linalg.det,
    "pivots": lambda x: lax.linalg.lu_pivots_to_permutation(lax.linalg.lu(x)[1], 5),
}


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("batch", [(), (2, 3)])
@pytest.mark.parametrize("name", FACTORIZATIONS)
def test_factorizations(name, batch):
    x = definite(*batch)
    check(FACTORIZATIONS[name], x)
    if name in ("cholesky", "eigh", "singular values", "qr"):
        check(FACTORIZATIONS[name], with_phase(x))


def test_eigenvalues_of_any_matrix():
    x = floats(2, 5, 5)
    for left, right in ((False, False), (False, True), (True, True)):
        check(
            lambda x, left=left, right=right: lax.linalg.eig(
                x, compute_left_eigenvectors=left, compute_right_eigenvectors=right
            ),
            x,
        )
    check(lambda x: lax.linalg.eig(x)[0], with_phase(x))


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("side", [True, False])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("trans", [(False, False), (True, False), (True, True), (False, True)])
def test_triangular_systems(batch, side, lower, trans):
    a = with_phase(definite(*batch))
    b = floats(*batch, 5, 2) if side else floats(*batch, 2, 5)
    check(
        lambda a, b: lax.linalg.triangular_solve(
            a, b, left_side=side, lower=lower, transpose_a=trans[0], conjugate_a=trans[1]
        ),
        a,
        b.astype(a.dtype),
    )
    check(
        lambda a, b: lax.linalg.triangular_solve(
            a, b, left_side=side, lower=lower, transpose_a=trans[0], unit_diagonal=True
        ),
        definite(*batch),
        b,
    )


def test_matrices_that_lapack_gives_up():
    indefinite = np.stack([definite(), -definite()])
    check(jnp.linalg.cholesky, indefinite)
    check(lambda x: lax.linalg.lu(x), np.zeros((2, 3, 3), np.float32))
    check(
        lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True),
        np.diag([1.0, 0.0, 2.0]),
        np.ones((3, 1)),
    )


def test_empty_matrices_have_no_rule():
    closed = jax.make_jaxpr(jnp.linalg.cholesky)(np.zeros((0, 3, 3), np.float32))
    with pytest.raises(NoNumpyRule):
        function_of(closed)


def test_random_bits():
    key, count = np.asarray([3, 4], np.uint32), np.arange(10, dtype=np.uint32)
    check(jax.extend.random.threefry_2x32, key, count)


def test_high_halves_of_products():
    words = np.array([0, 1, 0xFFFFFFFF, 0xD2511F53, 0x80000000], np.uint32)
    check(lax.mulhi, words, words[::-1].copy())
    with pytest.raises(NoNumpyRule):
        function_of(jax.make_jaxpr(lax.mulhi)(np.int32(1), np.int32(1)))


def test_control_flow():
    x = floats(4)
    check(lambda x: lax.cond(x[0] > 0, lambda v: v + 1, lambda v: v - 1, x), x)
    check(lambda x: lax.switch((x[0] > 0).astype(int) + 5, [jnp.sin, jnp.cos, jnp.tanh], x), x)
    check(lambda x: lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] * 0.5), (0, x)), x)
    check(lambda x: lax.fori_loop(0, 3, lambda i, v: v + i, x), x)
    for reverse in (False, True):
        check(lambda x, r=reverse: lax.scan(lambda c, v: (c + v, c * v), x[0], x, reverse=r), x)
    check(jax.jit(lambda x: jax.nn.softplus(x) + jax.checkpoint(jnp.sin)(x)), x)


#: Set in the process that runs this file whole.
_IN_ORDER = "EVERY_RULE_IN_ORDER"


@pytest.mark.exhaustive
def test_every_rule_was_tried():
    """What the tests of this file come across, in one process that runs them all in their order."""
    if _IN_ORDER not in os.environ:
        # In order is how pytest runs them where nothing shuffles or spreads them.
        others = ["-p", "no:xdist", "-p", "no:randomly", "-p", "no:cacheprovider"]
        alone = [sys.executable, "-m", "pytest", "-q", *others, "-m", "not full", __file__]
        env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_XDIST")}
        env[_IN_ORDER] = "1"
        ran = subprocess.run(alone, capture_output=True, text=True, check=False, env=env)
        assert ran.returncode == 0, ran.stdout
        return
    #: The same primitives under names of other versions of JAX, and what JAX makes in rare cases.
    elsewhere = {
        "add_any",
        "checkpoint",
        "closed_call",
        "copy",
        "core_call",
        "custom_jvp_call",
        "custom_vjp_call",
        "dim_as_value",
        "empty2",
        "expand_dims",
        "igamma",
        "igammac",
        "layout_constraint",
        "pjit",
        "platform_index",
        "regularized_incomplete_beta",
        "remat",
        "remat2",
        "stack",
        "stop_gradient",
        "unstack",
        "eq_to",
        "le_to",
        "lt_to",
        "copy_p",
    }
    if not hasattr(lax, "polynomial"):  # primitives of JAX 0.12
        elsewhere |= {"log2", "one_minus_square", "polynomial"}
    twins = {f"scatter_{kind}" for kind in ("add", "sub", "mul", "min", "max")}
    twins |= {f"scatter-{kind}" for kind in ("add", "sub", "mul", "min", "max")}
    assert set(RULES) - COVERED - elsewhere - twins == set()


#: Operands and the axes that are reduced: rows below and above the size at which places are looked
#: for, and at which OpenBLAS takes several threads; rows of one number, several axes, none last.
REDUCED = [
    ((7, 5), (1,)),
    ((1, 1), (0, 1)),
    ((32, 32), (1,)),
    ((3, 40, 20), (2,)),
    ((3, 40, 20), (1, 2)),
    ((3, 40, 20), (1,)),
    ((300, 40), (1,)),
    ((2, 3000), (1,)),
    ((9,), (0,)),
]


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize(("shape", "axes"), REDUCED)
def test_reductions_of_rows_and_of_others(shape, axes, keepdims) -> None:
    x = floats(*shape)
    x.flat[3 % x.size] = -0.0
    for reduce in (jnp.sum, jnp.max, jnp.min, jnp.prod):
        check(lambda v, f=reduce: f(v, axes, keepdims=keepdims), x)
        check(lambda v, f=reduce: f(v.T.T + 0, axes, keepdims=keepdims), x.astype(np.float64))
    with_nan = x.copy()
    with_nan.flat[-1] = np.nan
    for name in ("sum", "max", "min"):  # beside NumPy: XLA loses NaN in extrema of 9,216 and more
        reduce = getattr(jnp, name)
        closed = jax.make_jaxpr(lambda v, f=reduce: f(v, axes, keepdims=keepdims))(with_nan)
        with np.errstate(all="ignore"):
            (found,) = function_of(closed)(with_nan)
        expected = getattr(np, name)(with_nan, axes, keepdims=keepdims)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))


def test_a_reduction_keeps_dimensions_where_a_broadcast_would_put_them() -> None:
    x = floats(6, 5)
    closed = jax.make_jaxpr(lambda v: v - jnp.sum(v, 1, keepdims=True))(x)
    assert len(EvaluationPlan(closed)) == 2
    both = jax.make_jaxpr(lambda v: (jnp.sum(v, 1), v - jnp.sum(v, 1)[:, None]))(x)
    check(lambda v: (jnp.sum(v, 1), v - jnp.sum(v, 1)[:, None]), x)
    with np.errstate(all="ignore"):
        assert [a.shape for a in function_of(both)(x)] == [(6,), (6, 5)]


def test_rows_in_another_memory_order_are_reduced_alike() -> None:
    x = np.asfortranarray(floats(40, 30))
    for reduce in (jnp.sum, jnp.max):
        check(lambda v, f=reduce: f(v, 1, keepdims=True), x)
