"""Normal fills: the scalar path with its cached second value, and the path in blocks of 16."""

from __future__ import annotations

import math

import numpy as np

from torchlike.random.arithmetic import as_complex, cast, fma64
from torchlike.random.block_transform import PIECE, transform
from torchlike.random.checks import (
    COMPONENT,
    FLOAT32,
    FLOAT64,
    FLOATS,
    HALVES,
    check_std,
    not_implemented,
)
from torchlike.random.engine import Engine, atomic, by_engine
from torchlike.random.uniform import CHUNK, unit_doubles

#: From this many elements on a contiguous tensor is filled in blocks.
BLOCK = 16


@atomic
def normal(
    engine: Engine,
    shape: tuple[int, ...],
    dtype: np.dtype,
    mean: float = 0.0,
    std: float = 1.0,
    contiguous: bool = True,
) -> np.ndarray:
    """Draw normals with ``mean`` and ``std``: PyTorch's ``normal_``; with the defaults, ``randn``.

    A complex dtype is filled as pairs of reals with std / sqrt(2) and ``mean`` in both.

    ``contiguous=False`` says that the tensor to fill is not contiguous, which PyTorch fills by
    the scalar path whatever its size. The values come in memory order either way.

    Draws, for n reals:
      scalar path (n < 16, or not contiguous): 4 words for each new pair; the cached value comes
        first, and the second value of the last pair may stay behind in the cache.
      float32: n, and 16 more unless n is a multiple of 16. float64: twice that.
      half types: n rounded up to a multiple of 16.

    Raises:
      RuntimeError: std < 0 or not a number.
      NotImplementedError: an integer or boolean dtype.
    """
    check_std(std)
    if dtype in COMPONENT:
        component = COMPONENT[dtype]
        pairs = normal(engine, (*shape, 2), component, mean, std / math.sqrt(2.0), contiguous)
        return as_complex(pairs, dtype)
    n = math.prod(shape)
    if dtype not in FLOATS and n:
        raise not_implemented("normal_kernel_cpu", dtype)
    return normal_numbers(engine, shape, dtype, mean, std, contiguous)


@by_engine
def normal_numbers(
    engine: Engine,
    shape: tuple[int, ...],
    dtype: np.dtype,
    mean: float,
    std: float,
    contiguous: bool,
) -> np.ndarray:
    """Draw what `normal` does, of parameters and a floating point dtype that were checked."""
    n = math.prod(shape)
    if n < BLOCK or not contiguous:
        flat = cast(scalar_normals(engine, n, mean, std), dtype)
    elif dtype == FLOAT64:
        flat = _blocks64(engine, n, mean, std)
    else:
        flat = _blocks32(engine, n, dtype, mean, std)
    return flat.reshape(shape)


def scalar_normals(engine: Engine, n: int, mean: float = 0.0, std: float = 1.0) -> np.ndarray:
    """Draw ``n`` float64 normals one after another, by way of the cache and the C library.

    Draws 4 words for each pair that the cached value does not cover.
    """
    values = np.empty(n)
    made = 0
    if n and engine.cached_normal is not None:
        values[0], made = engine.normal(), 1
    while made < n:
        pairs = min((n - made + 1) // 2, CHUNK)
        fresh = _pairs(unit_doubles(engine, 2 * pairs))
        take = min(2 * pairs, n - made)
        values[made : made + take] = fresh[:take]
        engine.cached_normal = fresh[-1] if take < 2 * pairs else None
        made += take
    with np.errstate(over="ignore", invalid="ignore"):
        return fma64(values, std, mean)


def _pairs(uniforms: np.ndarray) -> list[float]:
    """Apply Box-Muller to consecutive uniforms (angle, radius): cosine and sine values in turn."""
    log1p, sqrt, cos, sin = math.log1p, math.sqrt, math.cos, math.sin
    out: list[float] = []
    for x1, x2 in uniforms.reshape(-1, 2).tolist():
        radius, angle = sqrt(-2.0 * log1p(-x2)), 2.0 * math.pi * x1
        out.append(radius * cos(angle))
        out.append(radius * sin(angle))
    return out


def _blocks32(engine: Engine, n: int, dtype: np.dtype, mean: float, std: float) -> np.ndarray:
    """Draw float32 and the half types: whole blocks, then 16 new words for the last 16 elements."""
    out = np.empty(n, dtype)
    whole = n // BLOCK * BLOCK
    for start in range(0, whole, PIECE):
        _fill_blocks(engine, out[start : min(start + PIECE, whole)], mean, std)
    if whole < n:
        if dtype not in HALVES:
            # PyTorch first fills the incomplete block with uniforms that it then throws away.
            engine.words32(n - whole)
        _fill_blocks(engine, out[-BLOCK:], mean, std)
    return out


def _fill_blocks(engine: Engine, out: np.ndarray, mean: float, std: float) -> None:
    """Draw normals into ``out``, whole blocks of a narrow float dtype. Draws one word an
    element."""
    words = engine.words32(out.size).reshape(-1, BLOCK)
    if out.dtype == FLOAT32:
        transform(words, mean, std, out.reshape(-1, BLOCK))
        return
    wide = np.empty(words.shape, np.float32)
    transform(words, mean, std, wide)
    out[:] = cast(wide.reshape(-1), out.dtype)


def _blocks64(engine: Engine, n: int, mean: float, std: float) -> np.ndarray:
    out = np.empty(n)
    whole = n // BLOCK * BLOCK
    for start in range(0, whole, CHUNK):
        stop = min(start + CHUNK, whole)
        out[start:stop] = _transform64(unit_doubles(engine, stop - start))
    if whole < n:
        engine.words64(n - whole)
        out[-BLOCK:] = _transform64(unit_doubles(engine, BLOCK))
    with np.errstate(over="ignore", invalid="ignore"):
        return fma64(out, std, mean)


def _transform64(uniforms: np.ndarray) -> np.ndarray:
    """Apply Box-Muller in blocks of 16 with the C library's log, sin and cos, one value at a time.

    numpy's vector functions are 4 times as fast, but 0.2 % of their values are off by an ulp.
    """
    blocks = uniforms.reshape(-1, BLOCK)
    n = blocks.size // 2
    u, angles = (1.0 - blocks[:, :8]).ravel(), (2.0 * math.pi * blocks[:, 8:]).ravel().tolist()
    radius = np.sqrt(-2.0 * np.fromiter(map(math.log, u.tolist()), np.float64, n))
    out = np.empty_like(blocks)
    for half, function in ((slice(0, 8), math.cos), (slice(8, 16), math.sin)):
        turned = radius * np.fromiter(map(function, angles), np.float64, n)
        out[:, half] = turned.reshape(-1, 8)
    return out.ravel()
