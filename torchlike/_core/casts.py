"""From one dtype to another as PyTorch's CPU kernels go: as C does on x86, not as XLA does.

XLA saturates where a float does not fit an integer type (``-1.0`` as uint8 is 0); C wraps (255),
and x86 gives the least integer for what fits no register, NaN included. A Python *number* that does
not fit is an error.
"""

from __future__ import annotations

import cmath
import math
from types import ModuleType
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from torchlike._core import dtypes

if TYPE_CHECKING:
    from jax.typing import DTypeLike

    from torchlike._core.cells import Array

#: The classes of plain numbers.
NUMBERS = frozenset((bool, int, float, complex))

_FLOAT8_E4M3FN = np.dtype(ml_dtypes.float8_e4m3fn)
#: Its largest number: PyTorch gives it for all that are larger, infinity too.
_FLOAT8_E4M3FN_MAX = 448.0


def convert(x: Any, dtype: DTypeLike) -> Any:
    """Return an array (JAX's or NumPy's) in another dtype, a NumPy dtype; itself where it has it.

    Complex numbers lose their imaginary part (as bool they are whether any part is not 0), floats
    are truncated, integers wrap. A float goes by a register of 32 bits to the integers of at most
    32, uint32 excepted, and else by one of 64.
    """
    dtype = np.dtype(dtype)
    if not isinstance(x, (jax.Array, np.ndarray, np.generic)):
        return x.astype(dtype)  # an array without values, or of a transform
    if x.dtype == dtype:
        # A number's array is weakly typed, and would let the next op's operand decide the dtype.
        is_weak = isinstance(x, jax.Array) and x.aval.weak_type
        return x.astype(dtype) if is_weak else x
    if x.dtype.kind == "c" and dtype.kind != "c":
        x = (x != 0) if dtype.kind == "b" else x.real
    if dtypes.kind_of(x.dtype) == "f" and dtype.kind in "iu":
        return _truncated(x, dtype)
    if dtype == _FLOAT8_E4M3FN and x.dtype.kind != "b":
        if _module_of(x) is np:
            return _clipped(np, x).astype(dtype)
        return _saturated(x if dtypes.kind_of(x.dtype) == "f" else x.astype(np.float32))
    return plainly(x, dtype)


def plainly(x: Any, dtype: DTypeLike) -> Any:
    """Cast as ``x.astype(dtype)`` does, except that a product with what were bools stays a product.

    XLA makes a choice of ``y * convert(mask)``, which gives 0 where NaN or infinity times False is
    NaN, and 0.0 for -0.0; ``y * select(mask, 1, 0)`` it leaves alone.
    """
    of_bools = isinstance(x, jax.Array) and x.dtype == np.bool_
    if of_bools and dtypes.kind_of(np.dtype(dtype)) in "fc":
        return jnp.where(x, np.ones((), dtype), np.zeros((), dtype))
    return x.astype(dtype)


def _clipped(like: ModuleType, x: Any) -> Any:
    return like.clip(x.astype(np.float32), -_FLOAT8_E4M3FN_MAX, _FLOAT8_E4M3FN_MAX)


@jax.custom_jvp
def _saturated(x: Array) -> jax.Array:
    """Cast to float8_e4m3fn, clipped to its range. The derivative is 1 everywhere, as of every
    other cast in PyTorch: that of the clipping is 0 beyond 448."""
    return _clipped(jnp, x).astype(_FLOAT8_E4M3FN)


@_saturated.defjvp
def _saturated_jvp(
    primals: tuple[jax.Array], tangents: tuple[jax.Array]
) -> tuple[jax.Array, jax.Array]:
    (x,), (t,) = primals, tangents
    return _saturated(x), t.astype(_FLOAT8_E4M3FN)


def _module_of(x: object) -> ModuleType:
    return np if isinstance(x, (np.ndarray, np.generic)) else jnp


def _truncated(x: Any, dtype: np.dtype) -> Any:
    like = _module_of(x)
    if x.dtype.itemsize < 4:  # these cannot hold the bounds
        x = x.astype(np.float32)
    if dtype.itemsize < 4 or dtype == np.int32:
        register, least = np.int32, -(2.0**31)
    else:
        register, least = np.int64, -(2.0**63)
    if dtype == np.uint64:
        # What is 2**63 or more goes there less 2**63, and has that bit set again.
        upper = x >= -least
        below = _truncated(like.where(upper, x + x.dtype.type(least), x), np.dtype(np.int64))
        return like.where(upper, below ^ np.int64(least), below).astype(np.uint64)
    least = x.dtype.type(least)
    fits = (x >= least) & (x < -least)
    return like.where(fits, x, least).astype(register).astype(dtype)


def greatest_float(limit: int) -> float:
    """Return the greatest float that is not above an integer: 2**63 - 1 itself rounds up."""
    return float(limit) if float(limit) <= limit else math.nextafter(float(limit), 0)


def broadcast_to(x: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Broadcast as ``jnp.broadcast_to`` does, with a gradient that sums floats of 16 bits in
    float32: XLA's CPU compiler adds them in 16 (the gradient of a factor of 20,000 bfloat16 rows
    was 3 % off)."""
    if x.shape == shape or x.dtype.itemsize != 2 or not dtypes.is_half(x.dtype):
        return jnp.broadcast_to(x, shape)
    return jnp.broadcast_to(x.astype(np.float32), shape).astype(x.dtype)


# -- numbers ---------------------------------------------------------------------------------------


def c_type_name(dtype: np.dtype) -> str:
    """Return a dtype's name in the errors of numbers: ``uint8_t``, but ``int`` and ``float``."""
    if dtype.kind in "iu" and dtype != np.int32:
        return f"{dtype.name}_t"
    return dtypes.c_name(dtype)


def fits(value: complex, dtype: np.dtype) -> bool:
    """Return whether PyTorch takes a Python number for a value of the dtype: in range, with no
    imaginary part for a real dtype; infinity where the dtype has it, and else NaN neither.

    A negative integer wraps to an unsigned dtype if its magnitude is in range; a float does not.
    """
    kind = dtypes.kind_of(dtype)
    if kind == "b" or isinstance(value, (bool, np.bool_)):
        return True
    if isinstance(value, (complex, np.complexfloating)):
        if kind != "c":
            return value.imag == 0 and fits(value.real, dtype)
        component = dtypes.from_numpy_dtype(dtype).to_real().numpy
        return fits(value.real, component) and fits(value.imag, component)
    if kind in "iu":
        limits = np.iinfo(dtype)
        if isinstance(value, (int, np.integer)):
            if kind == "u" and value < 0:
                return bool(-value <= limits.max)
            return bool(limits.min <= value <= limits.max)
        # As doubles, which round 2**63 - 1 up: so does C before it compares.
        return bool(float(limits.min) <= value <= float(limits.max))
    if kind == "c":
        return fits(value, dtypes.from_numpy_dtype(dtype).to_real().numpy)
    if not cmath.isfinite(value):
        return dtype != _FLOAT8_E4M3FN or value != value
    return abs(value) <= float(ml_dtypes.finfo(dtype).max)


def traced_fits(value: jax.Array, dtype: np.dtype) -> jax.Array:
    """Return whether a traced 0-dim array ``fits``, as a bool of the program."""
    kind, own = dtypes.kind_of(dtype), dtypes.kind_of(value.dtype)
    if kind == "b" or own == "b":
        return jnp.bool_(True)
    if own == "c":
        real, imag = value.real, value.imag
        if kind != "c":
            return (imag == 0) & traced_fits(real, dtype)
        component = dtypes.from_numpy_dtype(dtype).to_real().numpy
        return traced_fits(real, component) & traced_fits(imag, component)
    if kind in "iu":
        limits = np.iinfo(dtype)
        if own == "f":
            wide = value.astype(np.float64)
            return (wide >= float(limits.min)) & (wide <= float(limits.max))
        # What does not fit the operand's own dtype, no value of it exceeds.
        least = -limits.max if kind == "u" else limits.min
        low, high = np.iinfo(value.dtype).min, np.iinfo(value.dtype).max
        return (value >= max(least, low)) & (value <= min(limits.max, high))
    if kind == "c":
        return traced_fits(value, dtypes.from_numpy_dtype(dtype).to_real().numpy)
    wide = value.astype(np.float64)
    not_finite = (wide - wide) != 0
    allowed = (wide != wide) if dtype == _FLOAT8_E4M3FN else not_finite
    return allowed | (jnp.abs(wide) <= float(ml_dtypes.finfo(dtype).max))


def check_fits(value: Any, dtype: DTypeLike) -> None:
    """Raise RuntimeError in PyTorch's words unless a Python number ``fits`` a NumPy dtype."""
    if type(value) is not complex and dtype in _RANGES:  # 0.2 us rather than 2
        low, high = _RANGES[dtype]
        if low <= value <= high:
            return
    dtype = np.dtype(dtype)
    if not fits(value, dtype):
        raise RuntimeError(
            f"value cannot be converted to type {c_type_name(dtype)} without overflow"
        )


#: The numbers that surely fit, by NumPy dtype.
_RANGES: dict[object, tuple[float, float]] = {
    d.numpy: (
        (np.iinfo(d.numpy).min, np.iinfo(d.numpy).max)
        if d.category == 1
        else (float(ml_dtypes.finfo(d.numpy).min), float(ml_dtypes.finfo(d.numpy).max))
    )
    for d in dtypes.ALL
    if d.category in (1, 2)
}


def check_fill(value: Any, dtype: DTypeLike, count: int) -> None:
    """Apply ``check_fits`` to a number that fills ``count`` elements. One alone that is a float of
    16 bits or fewer takes any real number: PyTorch has another kernel for it."""
    dtype = np.dtype(dtype)
    narrow = count == 1 and dtype.itemsize < 4 and dtypes.kind_of(dtype) == "f"
    check_fits(value, np.dtype(np.float64) if narrow else dtype)


def _promoted(value: complex, dtype: DTypeLike) -> DTypeLike:
    """Return the dtype of an array's result beside a number: another one if the number's category
    is higher."""
    own = dtypes.scalar_dtype(value)
    return own.numpy if own.category > dtypes.from_numpy_dtype(dtype).category else dtype


def check_bound(value: complex, dtype: DTypeLike) -> None:
    """Apply ``check_fits`` to a number that may promote the dtype."""
    check_fits(value, _promoted(value, dtype))


def check_choice(value: complex, dtype: DTypeLike) -> None:
    """Apply ``check_fill`` to a number that is made a tensor, and may promote the dtype."""
    check_fill(value, _promoted(value, dtype), 1)


def of_program(value: object) -> jax.Array | None:
    """Return the 0-dim array behind a number that a captured function computes (it says that it is
    a float or an int); None for Python's own numbers and all else."""
    if type(value) in NUMBERS or not isinstance(value, (int, float)):
        return None
    read = getattr(value, "__jax_array__", None)
    return None if read is None else read()


def number(value: Any, dtype: DTypeLike, count: int = 1) -> Any:
    """Return a Python number to fill with, as a NumPy scalar; raise RuntimeError as
    ``check_fill``."""
    dtype = np.dtype(dtype)
    check_fill(value, dtype, count)
    if isinstance(value, (int, np.integer)) and dtype.kind in "iu":
        value = int(value) % (1 << 8 * dtype.itemsize)  # wraps
        return np.array(value, f"u{dtype.itemsize}").view(dtype)[()]
    with np.errstate(over="ignore"):
        return convert(np.asarray(value), dtype)[()]
