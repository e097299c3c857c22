"""exponential_, geometric_, cauchy_, log_normal_: a function of one double, then rounded.

float64 results take the C library's functions one value at a time (80 ns each). The narrower
types take numpy's vector functions and the C library only where the rounding is not sure.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from torchlike._core.dtypes import c_name, scalar_type
from torchlike.random.arithmetic import c_exp, c_log, cast, fma64, rounded_surely
from torchlike.random.checks import FLOAT64, FLOATS, not_implemented, number
from torchlike.random.engine import Engine, atomic, by_engine
from torchlike.random.normal import scalar_normals
from torchlike.random.uniform import chunks, unit_doubles

#: Relative width within which numpy's function and the arithmetic after it may be wrong: 32 ulp.
_SLACK = 2.0**-47

_GEOMETRIC = (*FLOATS, *map(np.dtype, ("int64", "int32", "int16", "int8", "uint8")))


def _by_chunks(
    engine: Engine,
    shape: tuple[int, ...],
    dtype: np.dtype,
    values: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Draw ``values(uniform doubles)`` of ``dtype``. Draws 2 words an element."""
    flat = np.empty(math.prod(shape), dtype)
    for start, stop in chunks(flat.size):
        flat[start:stop] = values(unit_doubles(engine, stop - start))
    return flat.reshape(shape)


def _each(function: Callable[[float], float], x: np.ndarray) -> np.ndarray:
    return np.fromiter(map(function, x.tolist()), np.float64, x.size)


@atomic
def exponential(
    engine: Engine, shape: tuple[int, ...], dtype: np.dtype, lambd: float = 1.0
) -> np.ndarray:
    """Draw -log1p(-x) / lambd: ``exponential_``. Draws 2 words an element.

    Raises:
      RuntimeError: lambd <= 0 or not a number, or an integer or complex dtype.
    """
    if not lambd > 0.0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={number(lambd)}")
    if dtype not in FLOATS:
        if math.prod(shape) == 0:
            return np.empty(shape, dtype)
        if dtype.kind in "biuc":
            raise RuntimeError(
                "Exponential distribution is a continuous probability distribution. dtype must be "
                f"a floating point but you specified {scalar_type(dtype)}"
            )
        raise not_implemented("exponential_cpu", dtype)
    return exponential_numbers(engine, shape, dtype, lambd)


@by_engine
def exponential_numbers(
    engine: Engine, shape: tuple[int, ...], dtype: np.dtype, lambd: float
) -> np.ndarray:
    """Draw what `exponential` does, of a rate and a dtype that were checked."""
    factor = -1.0 / lambd

    def values(x: np.ndarray) -> np.ndarray:
        if dtype == FLOAT64:
            return factor * _each(math.log1p, -x)
        approximate = factor * np.log1p(-x)
        return rounded_surely(
            approximate,
            approximate * _SLACK,
            lambda which: factor * _each(math.log1p, -x[which]),
            lambda v: cast(v, dtype),
        )

    return _by_chunks(engine, shape, dtype, values)


@atomic
def geometric(engine: Engine, shape: tuple[int, ...], dtype: np.dtype, p: float) -> np.ndarray:
    """Draw ceil(log(x) / log1p(-p)): ``geometric_``, trials up to the first success.

    Draws 2 words an element. A count too large for an integer dtype comes out as C++ casts it.

    Raises:
      RuntimeError: p outside (0, 1).
      NotImplementedError: a boolean, complex or wide unsigned dtype.
    """
    if not 0.0 < p < 1.0:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={number(p)}")
    if dtype not in _GEOMETRIC:
        if math.prod(shape) == 0:
            return np.empty(shape, dtype)
        raise not_implemented("geometric_cpu", dtype)
    return geometric_numbers(engine, shape, dtype, p)


@by_engine
def geometric_numbers(
    engine: Engine, shape: tuple[int, ...], dtype: np.dtype, p: float
) -> np.ndarray:
    """Draw what `geometric` does, of a probability and a dtype that were checked."""
    log_failure = math.log1p(-p)

    def values(x: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            approximate = np.log(x) / log_failure
            counts = rounded_surely(
                approximate,
                approximate * _SLACK,
                lambda which: _each(c_log, x[which]) / log_failure,
                np.ceil,
            )
        return cast(counts, dtype)

    return _by_chunks(engine, shape, dtype, values)


@atomic
def cauchy(
    engine: Engine, shape: tuple[int, ...], dtype: np.dtype, median: float = 0.0, sigma: float = 1.0
) -> np.ndarray:
    """Draw tan(pi (x - 1/2)) sigma + median, fused: ``cauchy_``. Draws 2 words an element.

    Raises:
      RuntimeError: sigma <= 0 or not a number, or an integer or complex dtype.
    """
    if not sigma > 0.0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={number(sigma)}")
    if dtype not in FLOATS:
        if dtype.kind in "biuc":
            raise RuntimeError(
                "Cauchy distribution is a continuous probability distribution. dtype must be a "
                f"floating point but you specified {c_name(dtype)}"
            )
        raise not_implemented("cauchy_cpu", dtype)
    return cauchy_numbers(engine, shape, dtype, median, sigma)


@by_engine
def cauchy_numbers(
    engine: Engine, shape: tuple[int, ...], dtype: np.dtype, median: float, sigma: float
) -> np.ndarray:
    """Draw what `cauchy` does, of parameters and a dtype that were checked."""

    def exact(x: np.ndarray) -> np.ndarray:
        return fma64(_each(math.tan, math.pi * (x - 0.5)), sigma, median)

    def values(x: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            if dtype == FLOAT64:
                return exact(x)
            spread = np.tan(math.pi * (x - 0.5)) * sigma
            # The error is relative to the larger term: the sum may cancel.
            return rounded_surely(
                spread + median,
                (np.abs(spread) + abs(median)) * _SLACK,
                lambda which: exact(x[which]),
                lambda v: cast(v, dtype),
            )

    return _by_chunks(engine, shape, dtype, values)


@atomic
def log_normal(
    engine: Engine, shape: tuple[int, ...], dtype: np.dtype, mean: float = 1.0, std: float = 2.0
) -> np.ndarray:
    """Draw exp of a scalar normal with ``mean`` and ``std``: ``log_normal_``.

    Draws 4 words for each pair, by way of the cached normal whatever the size.

    Raises:
      RuntimeError: std <= 0 or not a number.
      NotImplementedError: an integer, boolean or complex dtype.
    """
    if not std > 0.0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={number(std)}")
    if dtype not in FLOATS and math.prod(shape):
        raise not_implemented("log_normal_cpu", dtype)
    return log_normal_numbers(engine, shape, dtype, mean, std)


@by_engine
def log_normal_numbers(
    engine: Engine, shape: tuple[int, ...], dtype: np.dtype, mean: float, std: float
) -> np.ndarray:
    """Draw what `log_normal` does, of parameters and a dtype that were checked."""
    exponents = scalar_normals(engine, math.prod(shape), mean, std)
    return cast(_each(c_exp, exponents), dtype).reshape(shape)
