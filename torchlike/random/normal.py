"""Normal fills: one at a time with a cache (small tensors), or in blocks of 16."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike.random.engine import Engine
from torchlike.random.rounding import cast, fma32, fma64
from torchlike.random.uniform import doubles, floats

#: Contiguous tensors of at least so many elements are filled in blocks.
BLOCK = 16


def standard_scalar(engine: Engine) -> float:
    """One standard normal (Box-Muller); the second of the pair is kept for the next call."""
    cached = engine.cached_normal
    if cached is not None:
        engine.cached_normal = None
        return cached
    x1, x2 = doubles(engine, 2).tolist()
    radius = math.sqrt(-2.0 * math.log1p(-x2))
    angle = 2.0 * math.pi * x1
    engine.cached_normal = radius * math.sin(angle)
    return radius * math.cos(angle)


def scalars(engine: Engine, n: int, mean: float = 0.0, std: float = 1.0) -> np.ndarray:
    """n normals drawn one at a time, in float64."""
    z = np.array([standard_scalar(engine) for _ in range(n)], np.float64)
    return fma64(z, std, mean)


def normal(
    engine: Engine, n: int, dtype: np.dtype, mean: float = 0.0, std: float = 1.0,
    contiguous: bool = True,
) -> np.ndarray:  # fmt: skip
    """n normals of a real dtype. Draws n words and 16 more where 16 does not divide n (float64:
    twice that); 4 for each pair below 16 elements."""
    if n < BLOCK or not contiguous:
        return cast(scalars(engine, n, mean, std), dtype)
    if dtype == np.float64:
        return _blocks(engine, n, dtype, doubles, _transform64, mean, std)
    if dtype == np.float32:
        return _blocks(engine, n, dtype, floats, _transform32, mean, std)
    full = n // BLOCK * BLOCK
    values = np.empty(n, dtype)
    values[:full] = cast(_transform32(floats(engine, full), mean, std), dtype)
    if n != full:
        values[n - BLOCK :] = cast(_transform32(floats(engine, BLOCK), mean, std), dtype)
    return values


def _blocks(
    engine: Engine, n: int, dtype: np.dtype, draw: Any, transform: Any, mean: float, std: float
) -> np.ndarray:
    values = draw(engine, n)
    full = n // BLOCK * BLOCK
    values[:full] = transform(values[:full], mean, std)
    if n != full:  # the last 16 are made anew, over some that are finished already
        values[n - BLOCK :] = transform(draw(engine, BLOCK), mean, std)
    return values


def log_normal(
    engine: Engine, n: int, dtype: np.dtype, mean: float, std: float
) -> np.ndarray:
    """``exp`` of normals drawn one at a time."""
    z = scalars(engine, n, mean, std)
    return cast(np.array([math.exp(v) for v in z.tolist()]), dtype)


def _transform64(uniforms: np.ndarray, mean: float, std: float) -> np.ndarray:
    """Box-Muller on blocks of 16: lanes j and j + 8 are a pair."""
    lanes = uniforms.reshape(-1, 2, 8)
    u, v = 1.0 - lanes[:, 0], lanes[:, 1]
    log = np.array([math.log(x) for x in u.reshape(-1).tolist()]).reshape(u.shape)
    radius = np.sqrt(-2.0 * log)
    angle = (2.0 * math.pi * v).reshape(-1).tolist()
    cos = np.array([math.cos(t) for t in angle]).reshape(u.shape)
    sin = np.array([math.sin(t) for t in angle]).reshape(u.shape)
    pair = np.stack([radius * cos, radius * sin], 1)
    return fma64(pair, std, mean).reshape(-1)


# -- float32: Cephes' single-precision polynomials, every line rounded ------------------------------

_LOG = (-1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
        2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)  # fmt: skip


def _transform32(uniforms: np.ndarray, mean: float, std: float) -> np.ndarray:
    """Box-Muller on float32 blocks, jitted where that gives the exact bits, else in NumPy."""
    lanes = uniforms.reshape(-1, 2, 8)
    u, v = np.float32(1) - lanes[:, 0], lanes[:, 1]
    m, s = np.float32(mean), np.float32(std)
    with jax.ensure_compile_time_eval():
        if u.size >= 512 and _jitted_is_exact():
            a, b = _jitted(_padded(u), _padded(v), m, s)
            pair = [np.asarray(a)[: u.size], np.asarray(b)[: u.size]]
        else:
            pair = list(_numpy_pair(u.reshape(-1), v.reshape(-1), m, s))
    return np.stack([p.reshape(u.shape) for p in pair], 1).reshape(-1)


def _padded(x: np.ndarray) -> np.ndarray:
    """Flat, to a power of two: so that few sizes are ever compiled."""
    size = 1 << (x.size - 1).bit_length()
    return np.pad(x.reshape(-1), (0, size - x.size), constant_values=np.float32(0.5))


def _numpy_pair(u: np.ndarray, v: np.ndarray, mean: Any, std: Any) -> tuple[Any, Any]:
    f = np.float32
    bits = u.view(np.uint32)
    e = ((bits >> 23).astype(np.int32) - 126).astype(f)
    m = ((bits & np.uint32(0x7FFFFF)) | np.uint32(0x3F000000)).view(f)
    small = m < f(0.707106781186547524)
    e = np.where(small, e - f(1), e)
    x = np.where(small, (m + m) - f(1), m - f(1))
    z = x * x
    y = np.full_like(x, f(7.0376836292e-2))
    for c in _LOG:
        y = fma32(y, x, f(c))
    y = y * x
    q = e * f(-2.12194440e-4)
    y = fma32(y, z, q)
    y = fma32(z, f(-0.5), y)
    x = x + y
    log = fma32(e, f(0.693359375), x)
    radius = np.sqrt(f(-2) * log)
    t = f(2 * math.pi) * v
    j = (t * f(1.27323954473516)).astype(np.int32)
    j = (j + 1) & ~1
    k = j.astype(f)
    x = fma32(k, f(-0.78515625), t)
    x = fma32(k, f(-2.4187564849853515625e-4), x)
    x = fma32(k, f(-3.77489497744594108e-8), x)
    z = x * x
    c = fma32(z, f(2.443315711809948e-5), f(-1.388731625493765e-3))
    c = fma32(c, z, f(4.166664568298827e-2))
    c = c * z
    c = fma32(c, z, f(-0.5) * z)
    c = c + f(1)
    s = fma32(z, f(-1.9515295891e-4), f(8.3321608736e-3))
    s = fma32(s, z, f(-1.6666654611e-1))
    s = s * z
    s = fma32(s, x, x)
    swap = (j & 2) != 0
    sin, cos = np.where(swap, c, s), np.where(swap, s, c)
    sin = np.where(j & 4, -sin, sin)
    cos = np.where(((j - 2) & 4) == 0, -cos, cos)
    return fma32(radius * cos, std, mean), fma32(radius * sin, std, mean)


@jax.jit
def _jitted(u: Any, v: Any, mean: Any, std: Any) -> tuple[Any, Any]:
    """The same in one XLA loop: ``a * b + c`` is contracted to one fma there, and
    ``reduce_precision`` keeps a product that must be rounded on its own."""

    def alone(x: Any) -> Any:
        return lax.reduce_precision(x, 8, 23)

    f = jnp.float32
    bits = lax.bitcast_convert_type(u, jnp.uint32)
    e = ((bits >> 23).astype(jnp.int32) - 126).astype(f)
    m = lax.bitcast_convert_type((bits & 0x7FFFFF) | jnp.uint32(0x3F000000), f)
    small = m < f(0.707106781186547524)
    e = jnp.where(small, e - 1, e)
    x = jnp.where(small, (m + m) - 1, m - 1)
    z = alone(x * x)
    y = f(7.0376836292e-2)
    for c in _LOG:
        y = y * x + f(c)
    y = alone(y * x)
    y = y * z + alone(e * f(-2.12194440e-4))
    y = z * f(-0.5) + y
    x = x + y
    log = e * f(0.693359375) + x
    radius = jnp.sqrt(f(-2) * log)
    t = alone(f(2 * math.pi) * v)
    j = alone(t * f(1.27323954473516)).astype(jnp.int32)
    j = (j + 1) & ~1
    k = j.astype(f)
    x = k * f(-0.78515625) + t
    x = k * f(-2.4187564849853515625e-4) + x
    x = k * f(-3.77489497744594108e-8) + x
    z = alone(x * x)
    c = z * f(2.443315711809948e-5) + f(-1.388731625493765e-3)
    c = c * z + f(4.166664568298827e-2)
    c = alone(c * z)
    c = c * z + alone(f(-0.5) * z)
    c = c + 1
    s = z * f(-1.9515295891e-4) + f(8.3321608736e-3)
    s = s * z + f(-1.6666654611e-1)
    s = alone(s * z)
    s = s * x + x
    swap = (j & 2) != 0
    sin, cos = jnp.where(swap, c, s), jnp.where(swap, s, c)
    sin = jnp.where((j & 4) != 0, -sin, sin)
    cos = jnp.where(((j - 2) & 4) == 0, -cos, cos)
    return alone(radius * cos) * std + mean, alone(radius * sin) * std + mean


@functools.cache
def _jitted_is_exact() -> bool:
    """Whether this processor and this XLA contract as expected: the two ways compared once."""
    if jax.default_backend() != "cpu":
        return False
    rng = np.random.default_rng(0)
    u = np.float32(1) - rng.random(4096, np.float32)
    v = rng.random(4096, np.float32)
    args = u, v, np.float32(0.25), np.float32(1.5)
    return all(
        np.array_equal(np.asarray(a).view(np.uint32), b.view(np.uint32))
        for a, b in zip(_jitted(*args), _numpy_pair(*args), strict=True)
    )
