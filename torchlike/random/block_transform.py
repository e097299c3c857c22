"""Box-Muller on blocks of 16 float32, bit for bit as PyTorch's AVX2 kernel does it.

Its logarithm, sine and cosine are the single-precision polynomials of the Cephes library (S.
Moshier) with fused multiply-adds. They are written once, over the few operations that differ
between numpy (exact, about 40 ns a number) and a jitted JAX program (1 to 2 ns a number).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._runtime.patches import at_import
from torchlike.random.arithmetic import fma32

#: Numbers that one call of a compiled program makes: of the large one, which costs 40 µs and 0.9 ns
#: a number, and at most of the one for few numbers, 13 µs and 6 ns.
PIECE = 1 << 15
_SMALL = 1 << 10

#: Compiling takes 0.1 to 0.2 s; numpy costs 0.27 ms a fill and 40 ns a number. So numpy serves
#: until it has cost as much. The unit is one number; a fill counts as _CALL_COST numbers.
_NUMPY_BUDGET = 1 << 21
_CALL_COST = 1 << 12

_LOG = (
    7.0376836292e-2,
    -1.1514610310e-1,
    1.1676998740e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
    -1.6668057665e-1,
    2.0000714765e-1,
    -2.4999993993e-1,
    3.3333331174e-1,
)
_LARGEST = float(np.finfo(np.float32).max)
_COS = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
#: pi/4 in three parts, each with few bits, so that the multiples subtracted are exact.
_MINUS_QUARTER_PI = (-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8)


class _Arithmetic(NamedTuple):
    """float32 arithmetic in which every product that stands alone is rounded."""

    xp: Any
    fma: Callable[..., Any]
    mul: Callable[[Any, Any], Any]
    bits_of: Callable[[Any], Any]
    from_bits: Callable[[Any], Any]


_NUMPY = _Arithmetic(
    np, fma32, lambda a, b: a * b, lambda a: a.view(np.int32), lambda a: a.view(np.float32)
)
# XLA contracts a * b + c on the CPU; reduce_precision keeps a product from being contracted.
_JAX = _Arithmetic(
    jnp,
    lambda a, b, c: a * b + c,
    lambda a, b: lax.reduce_precision(a * b, 8, 23),
    lambda a: lax.bitcast_convert_type(a, jnp.int32),
    lambda a: lax.bitcast_convert_type(a, jnp.float32),
)


def _log(do: _Arithmetic, u: Any) -> Any:
    """Return the logarithm of float32 in (0, 1]."""
    xp, fma, mul, one = do.xp, do.fma, do.mul, np.float32(1)
    bits = do.bits_of(u)
    e = ((bits >> 23) - 126).astype(np.float32)
    m = do.from_bits((bits & 0x7FFFFF) | 0x3F000000)
    below = m < np.float32(0.707106781186547524)
    e = xp.where(below, e - one, e)
    x = xp.where(below, (m + m) - one, m - one)
    z = mul(x, x)
    y = fma(x, np.float32(_LOG[0]), np.float32(_LOG[1]))
    for c in _LOG[2:]:
        y = fma(y, x, np.float32(c))
    y = mul(y, x)
    y = fma(y, z, mul(e, np.float32(-2.12194440e-4)))
    y = fma(z, np.float32(-0.5), y)
    return fma(e, np.float32(0.693359375), x + y)


def _sin_cos(do: _Arithmetic, t: Any) -> tuple[Any, Any]:
    """Return the sine and cosine of float32 in [0, 2 pi]."""
    xp, fma, mul = do.xp, do.fma, do.mul
    j = mul(t, np.float32(1.27323954473516)).astype(np.int32)
    j = (j + 1) & ~1
    x = t
    octants = j.astype(np.float32)
    for part in _MINUS_QUARTER_PI:
        x = fma(octants, np.float32(part), x)
    z = mul(x, x)
    c = fma(z, np.float32(_COS[0]), np.float32(_COS[1]))
    c = mul(fma(c, z, np.float32(_COS[2])), z)
    c = fma(c, z, mul(np.float32(-0.5), z)) + np.float32(1)
    s = fma(z, np.float32(_SIN[0]), np.float32(_SIN[1]))
    s = mul(fma(s, z, np.float32(_SIN[2])), z)
    s = fma(s, x, x)
    swapped = (j & 2) != 0
    sin, cos = xp.where(swapped, c, s), xp.where(swapped, s, c)
    return xp.where((j & 4) != 0, -sin, sin), xp.where(((j - 2) & 4) == 0, -cos, cos)


def _box_muller(do: _Arithmetic, words: Any, mean_std: Any) -> tuple[Any, Any]:
    """Transform words (blocks, 16) to the normals of lanes 0-7 and of lanes 8-15, each (blocks,
    8)."""
    unit = (words & np.uint32(0xFFFFFF)).astype(np.int32).astype(np.float32) * np.float32(2**-24)
    radius = do.xp.sqrt(np.float32(-2) * _log(do, np.float32(1) - unit[:, :8]))
    sin, cos = _sin_cos(do, do.mul(unit[:, 8:], np.float32(2 * np.pi)))
    mean, std = mean_std[0], mean_std[1]
    return do.fma(do.mul(radius, cos), std, mean), do.fma(do.mul(radius, sin), std, mean)


def transform_in_numpy(words: np.ndarray, mean: float, std: float, out: np.ndarray) -> None:
    """Transform uint32 words (blocks, 16) to normals in ``out`` (blocks, 16), in exact numpy
    arithmetic."""
    # An infinite or huge mean or std makes infinities and NaNs on purpose.
    with np.errstate(over="ignore", invalid="ignore"):
        parameters = np.array([mean, std], np.float64).astype(np.float32)
        for start in range(0, len(words), PIECE // 16):
            piece = slice(start, start + PIECE // 16)
            out[piece, :8], out[piece, 8:] = _box_muller(_NUMPY, words[piece], parameters)


class _BlockProgram:
    """The compiled program for ``piece`` numbers, once it has proved itself against numpy; ``None``
    until then.

    A CPU without FMA or another XLA may contract differently, so the bits are compared once a
    process. A forked child cannot use the parent's XLA client and stays with numpy.
    """

    def __init__(self, piece: int) -> None:
        self.piece = piece
        self._lock = threading.Lock()
        self._spent = 0
        self._program: Any = None
        self.usable = True

    def program(self, n: int) -> Any:
        """Return the program when it is ready or worth making for ``n`` more numbers, else None."""
        if self._program is not None or not self.usable:
            return self._program
        self._spent += _CALL_COST + n
        return self.build() if self._spent > _NUMPY_BUDGET else None

    def build(self) -> Any:
        """Compile and check the program, and return it, or None where its bits differ from
        numpy's."""
        with self._lock:
            if self._program is None and self.usable:
                program = _compile(self.piece)
                if program is not None and _agrees_with_numpy(program, self.piece):
                    self._program = program
                else:
                    self.usable = False
        return self._program

    def abandon(self) -> None:
        """Use numpy from here on."""
        self._lock = threading.Lock()
        self._program, self.usable = None, False


compiled, compiled_small = _BlockProgram(PIECE), _BlockProgram(_SMALL)
for _each in (compiled, compiled_small):
    at_import.FORKS.at_fork(_each.abandon)


def _compile(numbers: int) -> Any:
    try:
        cpu = jax.local_devices(backend="cpu")[0]
    except RuntimeError:  # JAX was told to use other platforms only
        return None
    place = jax.sharding.SingleDeviceSharding(cpu)
    words = jax.ShapeDtypeStruct((numbers // 16, 16), np.uint32, sharding=place)
    mean_std = jax.ShapeDtypeStruct((2,), np.float32, sharding=place)
    # Compiled ahead of time, so that they can be called while JAX traces something else.
    if numbers == PIECE:
        program = jax.jit(lambda w, ms: _box_muller(_JAX, w, ms)).lower(words, mean_std)
    else:
        packed = jax.ShapeDtypeStruct((numbers // 16 + 1, 16), np.uint32, sharding=place)
        program = jax.jit(_block_by_block).lower(packed)
    return program.compile()


def _block_by_block(packed: Any) -> Any:
    """Return the normals of the first blocks, (…, 16). Behind the words a last row has the bits of
    mean and std, and how many blocks: an argument more costs 2.5 µs.

    As a loop over single blocks, since XLA runs at once, on Python's thread, what counts fewer than
    1,000 operations, and a loop counts as one turn: 13 µs for 64 numbers, and 40 without it.
    """
    last = len(packed) - 1
    mean_std = _JAX.from_bits(packed[last, :2])

    def step(i: Any, out: Any) -> Any:
        at = (i, jnp.zeros((), i.dtype))
        halves = _box_muller(_JAX, lax.dynamic_slice(packed, at, (1, 16)), mean_std)
        return lax.dynamic_update_slice(out, jnp.concatenate(halves, 1), at)

    blocks = packed[last, 2].astype(np.int32)
    return lax.fori_loop(0, blocks, step, jnp.zeros((last, 16), np.float32))


def _agrees_with_numpy(program: Any, numbers: int) -> bool:
    words = np.random.Generator(np.random.MT19937(5)).integers(
        0, 0xFFFFFFFF, (PIECE // 16, 16), np.uint32, endpoint=True
    )
    # The ends of the range, and the largest 1 - u, in either half of a block.
    words[0], words[1, :8], words[1, 8:], words[2] = 0, 0xFFFFFF, 0, 0xFFFFFF
    fast, exact = np.empty(words.shape, np.float32), np.empty(words.shape, np.float32)
    for mean, std in ((0.0, 1.0), (0.3, 0.7), (-2.0, 0.02)):
        _run(program, numbers, words, mean, std, fast)
        transform_in_numpy(words, mean, std, exact)
        if fast.tobytes() != exact.tobytes():
            return False
    return True


def _run(
    program: Any, numbers: int, words: np.ndarray, mean: float, std: float, out: np.ndarray
) -> None:
    blocks = numbers // 16
    parameters = np.array([mean, std], np.float32)
    if numbers == _SMALL:
        piece = np.zeros((blocks + 1, 16), np.uint32)
        piece[blocks, :2] = parameters.view(np.uint32)
        for start in range(0, len(words), blocks):
            rows = min(blocks, len(words) - start)
            piece[:rows] = words[start : start + rows]
            piece[blocks, 2] = rows
            out[start : start + rows] = np.asarray(program(piece))[:rows]
        return
    for start in range(0, len(words), blocks):
        piece = words[start : start + blocks]
        rows = len(piece)
        if rows < blocks:
            piece = np.concatenate([piece, np.zeros((blocks - rows, 16), np.uint32)])
        low, high = program(piece, parameters)
        out[start : start + rows, :8] = np.asarray(low)[:rows]
        out[start : start + rows, 8:] = np.asarray(high)[:rows]


def transform(words: np.ndarray, mean: float, std: float, out: np.ndarray) -> None:
    """Transform uint32 words (blocks, 16) to normals in ``out``, float32 (blocks, 16).

    In each block the lanes j and j + 8 form a pair: lane j gives the radius, lane j + 8 the angle.
    """
    plain = abs(mean) <= _LARGEST and 1e-30 <= std <= _LARGEST
    made = compiled_small if words.size <= _SMALL else compiled
    program = made.program(words.size) if plain else None
    if program is None:
        transform_in_numpy(words, mean, std, out)
    else:
        _run(program, made.piece, words, mean, std, out)
