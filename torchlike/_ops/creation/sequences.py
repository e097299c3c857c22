"""Sequences of numbers: arange, linspace, logspace."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core import casts, dtypes, errors
from torchlike._core.dispatch.registry import composite
from torchlike._core.dispatch.schema import plain_number
from torchlike._core.errors import allocating
from torchlike._core.storage import host_value
from torchlike._ops.creation.filled import empty
from torchlike._ops.creation.wrap_result import finish_into, out_dtype
from torchlike._ops.outputs import write_out
from torchlike._runtime.jax_private.symbolic_sizes import is_symbolic
from torchlike._runtime.reference import follows
from torchlike.tensor import Tensor


@composite(method=False)
def arange(
    start: Any = None,
    end: Any = None,
    step: Any = 1,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: Any = False,
    pin_memory: Any = False,
) -> Tensor:
    """Return numbers from ``start`` (0) up to, not including, ``end`` in steps.

    RuntimeError for a zero step or bounds that do not fit its sign.

    Differs from PyTorch: fractions are computed in float64 and rounded once. PyTorch's kernels add
    multiples of the step to a rounded number at every 4th to 32nd place, by the width of the
    processor's vectors: up to a quarter of its numbers are off by one unit in the last place.

    Example:
      >>> torch.arange(3), torch.arange(1, 2, 0.5)
      (tensor([0, 1, 2]), tensor([1.0000, 1.5000]))
    """
    if end is None:
        start, end = 0, start
        if end is None:
            raise TypeError('arange() missing 1 required positional arguments: "end"')
    elif start is None:
        start = 0
    bounds = [b.item() if isinstance(b, Tensor) else b for b in _plain("arange", start, end, step)]
    bounds = [b.item() if isinstance(b, np.generic) else b for b in bounds]
    start, end, step = bounds
    if step == 0:
        raise RuntimeError("step must be nonzero")
    try:
        finite = math.isfinite(start) and math.isfinite(end)
    except TypeError:
        if not any(map(is_symbolic, bounds)):
            raise
        values = _of_symbols(start, end, step, out_dtype(out, dtype, dtypes.int64))
        return _sequence_into(out, values, device, requires_grad, layout, resizes=False)
    if not finite:
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    inferred = dtypes.int64 if all(isinstance(b, int) for b in bounds) else None
    target = out_dtype(out, dtype, inferred)
    _refuse("arange", target, "bc")
    if dtypes.is_half(target):  # computed in float32
        for bound in bounds:
            casts.check_fits(bound, np.dtype(np.float32))
    counts_first = target != np.int64 or follows("arange counts before it truncates")
    if not counts_first:
        if not int(step):
            raise ValueError("step must be nonzero")
        start, end, step = int(start), int(end), int(step)
    if all(isinstance(b, int) for b in (start, end, step)):
        count = len(range(start, end, step)) if step else 0
    else:
        count = max(math.ceil((end - start) / step), 0)
    kind = np.int64 if target.kind in "iub" else np.float64
    with allocating((count,), target):
        if count >= _MANY and target.str in ("<f4", "<i4", "<i8"):
            values = _multiples(kind(start), None if step == 1 else kind(step), count, target)
        else:
            rising = kind(start) + np.arange(count, dtype=kind) * kind(step)
            values = host_value(rising.astype(target))
    return _sequence_into(out, values, device, requires_grad, layout, resizes=False)


def _of_symbols(start: Any, end: Any, step: Any, target: Any) -> Any:
    """Return the values of a range whose bounds are integers or expressions of symbols for sizes:
    computed in the program, which is one for all sizes."""
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    places = jax.lax.iota(np.int64, -(-(end - start) // step))
    return (jnp.asarray(start, np.int64) + places * jnp.asarray(step, np.int64)).astype(target)


def _plain(op: str, *bounds: Any) -> list[Any]:
    """Return the start, end and step. TypeError for one that requires grad."""
    names = ("start", "end", "step")
    return [
        plain_number(bound, op, name, position)
        for position, (name, bound) in enumerate(zip(names, bounds, strict=True), 1)
    ]


@composite("range", method=False)
def range_op(
    start: Any,
    end: Any,
    step: Any = 1,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: Any = False,
) -> Tensor:
    """Return the values of ``arange`` with the end included. Deprecated in PyTorch, which warns, as
    this does.

    RuntimeError for a zero step or bounds that do not fit its sign.
    """
    errors.warn_user(
        "torch.range is deprecated and will be removed in a future release because its behavior is "
        "inconsistent with Python's range builtin. Instead, use torch.arange, which produces "
        "values in [start, end).",
        UserWarning,
    )
    start, end, step = _plain("range", start, end, step)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    count = math.floor((end - start) / step) + 1
    target = out_dtype(out, dtype)
    _refuse("range", target, "bc")
    with allocating((count,), target):
        values = host_value((start + np.arange(count) * step).astype(target))
    return _sequence_into(out, values, device, requires_grad, layout)


@composite(method=False)
def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: Any = False,
) -> Tensor:
    """Return ``steps`` evenly spaced numbers, both ends included, computed from the nearer end.

    RuntimeError for a negative number of steps.

    Example:
      >>> torch.linspace(0, 1, 5)
      tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    if _is_meta(start, end):
        return write_out(out, empty(steps, dtype=dtype, device="meta"), resizes=True)
    target = _dtype_between("linspace", start, end, out, dtype)
    _refuse("linspace", target, "b")
    start, end = _ends(start, end, target)
    values = _spaced(start, end, steps, target)
    if isinstance(values, np.ndarray):
        values = host_value(values)
    return _sequence_into(out, values, device, requires_grad, layout)


def _ends(start: Any, end: Any, target: np.dtype) -> list[Any]:
    """Return the first and last value of a sequence of a dtype: negative integers wrap to an
    unsigned dtype. RuntimeError for a number that does not fit it."""
    ends = [b.item() if isinstance(b, Tensor) else b for b in (start, end)]
    for i, bound in enumerate(ends):
        if type(bound) in casts.NUMBERS:
            casts.check_fits(bound, target)
            if target.kind == "u" and type(bound) is int:
                ends[i] = bound % (1 << 8 * target.itemsize)
    return ends


def _refuse(name: str, target: np.dtype, kinds: str) -> None:
    """Refuse, with NotImplementedError, a dtype of which PyTorch has no sequence ``name``."""
    if target.kind in kinds:
        scalar = dtypes.scalar_type(target)
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{scalar}'")


def _is_complex(end: Any) -> bool:
    complexes = (complex, np.complexfloating)
    return end.dtype.is_complex if isinstance(end, Tensor) else isinstance(end, complexes)


def _dtype_between(name: str, start: Any, end: Any, out: Any, dtype: Any) -> np.dtype:
    """Return the dtype of numbers from one end to the other: complex if an end is. RuntimeError for
    a dtype that has no imaginary part then."""
    if not any(_is_complex(e) for e in (start, end)):
        return out_dtype(out, dtype)
    inferred = dtypes.get_default_dtype().to_complex()
    target = out_dtype(out, dtype, inferred)
    if target.kind != "c":
        raise RuntimeError(
            f"torch.{name}(): inferred dtype {dtypes.c_name(inferred)} can't be safely cast to "
            f"passed dtype {dtypes.scalar_type(target)}"
        )
    return target


def _is_meta(*ends: Any) -> bool:
    """Return whether an end is a tensor without a value."""
    return any(isinstance(e, Tensor) and e.is_meta for e in ends)


def _sequence_into(
    out: Tensor | None,
    values: Any,
    device: Any,
    requires_grad: Any,
    layout: Any = None,
    *,
    resizes: Any = True,
) -> Tensor:
    """Return a sequence as a tensor; an ``out=`` keeps its shape where the number of elements is
    right."""
    if out is not None and out.numel() == values.size:
        values = values.reshape(out.shape)
    return finish_into(out, values, device, requires_grad, layout, resizes=resizes, each=True)


#: Where a product and a sum of the dtype have no rounding worth the name.
_FUSED = {
    np.dtype(np.float32): np.dtype(np.float64),
    np.dtype(np.float64): np.dtype(np.longdouble),
    np.dtype(np.complex64): np.dtype(np.complex128),
}


#: From so many numbers on XLA makes those of the usual dtypes. For 4 Mi NumPy takes 7.3 ms, a
#: compiled loop 1.2; to compile it takes 30 ms, once for a count, as with any other op.
_MANY = 1 << 16


@functools.partial(jax.jit, static_argnums=(2, 3))
def _multiples(start: Any, step: Any, count: int, target: np.dtype) -> jax.Array:
    """Return ``start + i * step`` in the dtype of the start, then cast; a step of None is 1."""
    i = jnp.arange(count, dtype=start.dtype)
    return (start + (i if step is None else i * step)).astype(target)


@functools.partial(jax.jit, static_argnums=(3, 4))
def _between(first: Any, last: Any, by: Any, steps: int, target: np.dtype) -> jax.Array:
    """Compute the evenly spaced numbers of ``_spaced``."""
    i = jnp.arange(steps, dtype=by.dtype)
    below = i < steps // 2
    return jnp.where(below, first + by * i, last - by * (steps - 1 - i)).astype(target)


def _spaced(start: Any, end: Any, steps: int, target: np.dtype) -> Any:
    """Return evenly spaced numbers as a NumPy array, or as a JAX array if there are many."""
    if isinstance(steps, (bool, float)):
        raise TypeError(f"argument 'steps' must be int, not {type(steps).__name__}")
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    # As in PyTorch each operation rounds to the dtype, 16-bit ones too.
    work = np.dtype(np.float64) if target.kind in "iub" else target
    if steps == 1:
        return np.asarray([start]).astype(target)
    if target.kind in "iu":
        start, end = int(start), int(end)
    a, b = work.type(start), work.type(end)
    by = work.type((b - a) / work.type(max(steps - 1, 1)))
    # From the nearer end.
    half = steps // 2
    # PyTorch's loop is compiled to fused multiply-adds: one rounding, not two.
    wide = _FUSED.get(work, work)
    a, b, by = (v.astype(wide) for v in (a, b, by))
    if steps >= _MANY and target == np.float32:
        return _between(a, b, by, steps, target)
    # In place: a pass over a large array takes longer than its arithmetic.
    values = np.empty(steps, wide)
    rising, falling = values[:half], values[half:]
    np.multiply(np.arange(half).astype(wide), by, out=rising)
    np.add(a, rising, out=rising)
    np.multiply(np.arange(steps - half - 1, -1, -1).astype(wide), by, out=falling)
    np.subtract(b, falling, out=falling)
    return values.astype(work, copy=False).astype(target, copy=False)


@composite(method=False)
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: Any = False,
) -> Tensor:
    """Return ``base`` to the powers of ``linspace(start, end, steps)``."""
    if _is_meta(start, end):
        return write_out(out, empty(steps, dtype=dtype, device="meta"), resizes=True)
    target = _dtype_between("logspace", start, end, out, dtype)
    _refuse("logspace", target, "b")
    start, end = _ends(start, end, target)
    if target.kind in "iu" and steps > 1:
        start, end = int(start), int(end)
    if target.itemsize == 2 and target.kind not in "iu" and steps > 1:
        # The ends and the base are rounded to 16 bits, what comes between is not.
        start, end, base = (float(target.type(float(v))) for v in (start, end, base))
    wide = np.dtype(np.complex128 if target.kind == "c" else np.float64)
    exponents = _spaced(start, end, steps, wide)
    with np.errstate(over="ignore"):  # beyond the dtype's largest number is infinity
        values = np.power(base, exponents).astype(target)
    return _sequence_into(out, host_value(values), device, requires_grad, layout)
