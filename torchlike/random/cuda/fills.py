"""The fills of a GPU's stream: each takes the place of the one of the same name that is marked
`by_engine` in ``torchlike.random``, where the engine is a GPU's.

Their parameters have been checked. What a fill returns is an array of JAX's, computed where it is
used, or of NumPy's while NumPy computes first calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from torchlike.random.binomial import check_dtypes
from torchlike.random.checks import FLOAT32, FLOAT64, FLOATS, not_implemented, number
from torchlike.random.cuda import permutation, rejection, samplers
from torchlike.random.cuda.layout import PER_CALL, Grid, grid, pieces
from torchlike.random.cuda.samplers import Sampler, run, run_compiled, work_dtype
from torchlike.random.cuda.stream import FILLS, WordStream

Shape = tuple[int, ...]


def _fill(function: Callable[..., Any]) -> Callable[..., Any]:
    FILLS[function.__name__] = function
    return function


def _elementwise(
    stream: WordStream,
    shape: Shape,
    dtype: np.dtype,
    sampler: Callable[[Grid, np.dtype], Sampler],
    operands: tuple[Any, ...],
    unroll: int,
) -> Any:
    """Run a kernel of one thread for each few elements: ``sampler(grid, dtype)`` on operands."""
    n = math.prod(shape)
    if not n:
        return np.empty(shape, dtype)
    whole = grid(n, unroll)
    key = stream.take(whole.increment)
    sizes = list(pieces(n, dtype.itemsize))
    if len(sizes) == 1:
        return run(sampler, (whole, dtype), key, *operands, shape=shape)
    parts = []
    for size in sizes:  # a tensor beyond 2 GiB, whose own key is not used
        part = grid(size, unroll)
        parts.append(run(sampler, (part, dtype), stream.take(part.increment), *operands))
    return jnp.concatenate(parts).reshape(shape)


def _floats(
    stream: WordStream,
    shape: Shape,
    dtype: np.dtype,
    sampler: Callable[[Grid, np.dtype], Sampler],
    *parameters: float,
) -> Any:
    """Run a kernel over uniform or normal numbers, with parameters of the work dtype."""
    operands = tuple(np.array(p, work_dtype(dtype)) for p in parameters)
    return _elementwise(stream, shape, dtype, sampler, operands, 2 if dtype == FLOAT64 else 4)


@_fill
def uniform_numbers(
    stream: WordStream, shape: Shape, dtype: np.dtype, from_: float, to: float
) -> Any:
    """Numbers of [from, to)."""
    ends = np.array(from_, dtype), np.array(to, dtype)
    unroll = 2 if dtype == FLOAT64 else 4
    return _elementwise(stream, shape, dtype, samplers.uniform, ends, unroll)


@_fill
def normal_numbers(
    stream: WordStream, shape: Shape, dtype: np.dtype, mean: float, std: float, contiguous: bool
) -> Any:
    """Normal numbers, however the tensor lies in memory."""
    return _floats(stream, shape, dtype, samplers.normal, mean, std)


@_fill
def log_normal_numbers(
    stream: WordStream, shape: Shape, dtype: np.dtype, mean: float, std: float
) -> Any:
    """Return e to the power of normal numbers."""
    return _floats(stream, shape, dtype, samplers.log_normal, mean, std)


@_fill
def exponential_numbers(stream: WordStream, shape: Shape, dtype: np.dtype, lambd: float) -> Any:
    """Exponential numbers."""
    return _floats(stream, shape, dtype, samplers.exponential, lambd)


@_fill
def cauchy_numbers(
    stream: WordStream, shape: Shape, dtype: np.dtype, median: float, sigma: float
) -> Any:
    """Cauchy numbers."""
    return _floats(stream, shape, dtype, samplers.cauchy, median, sigma)


@_fill
def geometric_numbers(stream: WordStream, shape: Shape, dtype: np.dtype, p: float) -> Any:
    """Trials up to a success."""
    return _floats(stream, shape, dtype, samplers.geometric, p)


@_fill
def bernoulli_mask(
    stream: WordStream, shape: Shape, p: float, dtype: np.dtype = FLOAT32, width: int | None = None
) -> Any:
    """True with probability ``p``: of the element-wise kernel of ``dtype``; with a ``width``, of
    the one that dropout has."""
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={number(p)}")
    if width is None:
        return bernoulli(stream, shape, dtype, p).astype(np.bool_)
    n = math.prod(shape)
    if not n:
        return np.empty(shape, np.bool_)
    # Its threads go on where those of an element-wise kernel would, whatever the width.
    whole = grid(n)
    key, keep = stream.take(whole.increment), np.array(p, np.float32)
    if width > 1:
        return run(samplers.dropout_mask, (whole, width), key, keep, shape=shape)
    return run(samplers.bernoulli, (whole, np.dtype(np.bool_)), key, keep, shape=shape)


@_fill
def bernoulli(stream: WordStream, shape: Shape, dtype: np.dtype, p: float) -> Any:
    """Ones of probability ``p`` and zeros, as ``dtype``."""
    if dtype.kind == "c" and math.prod(shape):
        raise not_implemented("bernoulli_scalar_cuda_", dtype)
    return _floats(stream, shape, dtype, samplers.bernoulli, p)


@_fill
def coin_units(stream: WordStream, shape: Shape, wide: bool) -> Any:
    """Draw the uniform numbers, float32, that probabilities of each element are compared with."""
    n = math.prod(shape)
    if not n:
        return np.empty(shape, np.float32)
    return run(samplers.coin_units, (n,), stream.take(10), shape=shape)


@_fill
def integer_numbers(
    stream: WordStream, shape: Shape, dtype: np.dtype, span: int, low: int, wide: bool
) -> Any:
    """Integers of [low, low + span)."""
    operands = np.array(span & ((1 << 64) - 1), np.uint64), np.array(low, np.int64)
    return _elementwise(stream, shape, dtype, samplers.integers, operands, 2 if wide else 4)


@_fill
def multinomial_units(stream: WordStream, rows: int, samples: int) -> Any:
    """Numbers of (0, 1], float32 (rows, samples), by which a sample with replacement is looked
    up."""
    key = stream.take(((rows - 1) // min(rows, 65535) + 1) * PER_CALL)
    return run(samplers.multinomial_units, (rows, samples), key)


@_fill
def randperm(stream: WordStream, n: int, dtype: np.dtype) -> Any:
    """Return a permutation of 0 ... n - 1, shape (n,): sorted by random keys."""
    if n == 0:
        return np.empty(0, dtype)
    whole, bits = grid(n, 2), permutation.bits_of_keys(n)
    with stream.lock:
        keys = stream.take(whole.increment), stream.take(n)
    return run_compiled(permutation.permutation, *keys, statics=(whole, bits)).astype(dtype)


@_fill
def rrelu_slopes(stream: WordStream, x: np.ndarray, lower: float, upper: float) -> Any:
    """Draw the slope for each of ``x``: of [lower, upper] where it is not above 0; else 1."""
    n, kind = x.size, x.dtype
    if not n:
        return np.ones(x.shape, kind)
    whole = grid(n, 2 if kind == FLOAT64 else 4)
    ends = np.array(lower), np.array(upper)
    drawn = run(samplers.slopes, (whole, kind), stream.take(whole.increment), *ends)
    return jnp.where(x <= 0, jnp.asarray(drawn).reshape(x.shape), jnp.ones((), kind))


# -- how many numbers an element takes depends on its parameters -----------------------------------


@_fill
def poisson(stream: WordStream, rate: Any) -> Any:
    """Poisson counts for rates, whose values the caller has checked. NotImplementedError for a
    dtype that is not floating point."""
    if rate.dtype not in FLOATS:
        raise not_implemented("poisson_cuda", rate.dtype)
    return run_compiled(rejection.poisson, stream.take(20), rate.ravel()).reshape(rate.shape)


@_fill
def standard_gamma(stream: WordStream, alpha: Any) -> Any:
    """Gamma values for concentrations. NotImplementedError for a dtype other than float32 and
    float64."""
    _check_gamma(alpha)
    return run_compiled(rejection.standard_gamma, stream.take(10), alpha.ravel()).reshape(
        alpha.shape
    )


@_fill
def dirichlet(stream: WordStream, alpha: Any) -> Any:
    """Points of the simplex for rows of concentrations. Raises as `standard_gamma`."""
    _check_gamma(alpha)
    return run_compiled(rejection.dirichlet, stream.take(10), alpha)


def _check_gamma(alpha: Any) -> None:
    if alpha.dtype not in (FLOAT32, FLOAT64):
        raise not_implemented("gamma_cuda", alpha.dtype)


@_fill
def binomial(stream: WordStream, count: Any, prob: Any) -> Any:
    """Numbers of successes: not those of a GPU. Raises for dtypes as the CPU's does."""
    check_dtypes(count.dtype, prob.dtype, "binomial_cuda")
    count, prob = jnp.broadcast_arrays(count, prob)
    return run_compiled(rejection.binomial, stream.take(42), count, prob)
