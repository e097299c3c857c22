"""Promotion inside ops: PyTorch's result dtype from what a traced operand still knows of itself.

In a traced op a Python number is a weakly typed 0-dim array, a 0-dim tensor a strong one: enough
for PyTorch's rules, so promotion costs nothing per call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core import casts, dtypes, errors
from torchlike._runtime import targets


def is_number(x: Any) -> bool:
    """Return whether a traced operand came from a Python number rather than a tensor."""
    return isinstance(x, (bool, int, float, complex)) or x.aval.weak_type


def result_dtype(*operands: Any) -> dtypes.dtype:
    """Return PyTorch's common dtype of traced operands."""
    dimensioned, zero_dim, wrapped = [], [], []
    for x in operands:
        if isinstance(x, (bool, int, float, complex)):
            wrapped.append(dtypes.scalar_dtype(x))
        elif x.aval.weak_type:
            category = dtypes.from_numpy_dtype(x.dtype).category
            default = dtypes.get_default_dtype()
            wrapped.append((dtypes.bool, dtypes.int64, default, default.to_complex())[category])
        else:
            (dimensioned if x.ndim else zero_dim).append(dtypes.from_numpy_dtype(x.dtype))
    return dtypes.result_dtype(dimensioned, zero_dim, wrapped)


def check_broadcast(*operands: Any) -> None:
    """Refuse operands whose shapes do not broadcast with a RuntimeError in PyTorch's words."""
    check_broadcast_shapes(*(jnp.shape(x) for x in operands))


def check_broadcast_shapes(*shapes: tuple[int, ...]) -> None:
    """Refuse shapes that do not broadcast, as ``check_broadcast`` refuses operands."""
    for i, a in enumerate(shapes):
        for b in shapes[i + 1 :]:
            if len(a) == len(b) and a == b:  # tuples ask of their items before their lengths
                continue
            for d, (m, n) in enumerate(zip(reversed(a), reversed(b), strict=False)):
                if m != n and m != 1 and n != 1:
                    raise errors.size_mismatch(m, n, max(len(a), len(b)) - 1 - d)


def promoted(*operands: Any) -> tuple[Any, ...]:
    """Return the operands cast to their common dtype; RuntimeError when they do not broadcast."""
    check_broadcast(*operands)
    return _as(result_dtype(*operands).numpy, operands)


def promoted_float(*operands: Any) -> tuple[Any, ...]:
    """Return the operands as ``promoted`` does, with integers and bools raised to the default float
    dtype."""
    check_broadcast(*operands)
    common = result_dtype(*operands)
    return _as((common if common.category >= 2 else dtypes.get_default_dtype()).numpy, operands)


def widened(x: Any) -> jax.Array:
    """Return 16-bit floats as float32, in which PyTorch's kernels compute with them; others as they
    are."""
    return x.astype(np.float32) if x.dtype.itemsize < 4 else x


def _as(dtype: np.dtype, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    cast = tuple(casts.plainly(jnp.asarray(x), dtype) for x in operands)
    if not dtypes.is_half(dtype):
        return cast
    # Broadcast here, for the sake of the sum that is the gradient of what is repeated. A 0-dim
    # operand that stands for a number has none.
    shape = np.broadcast_shapes(*(x.shape for x in cast))
    return tuple(
        x if is_number(given) else casts.broadcast_to(x, shape)
        for x, given in zip(cast, operands, strict=True)
    )


def require_tensor(name: str, *operands: Any) -> None:
    """Refuse, with TypeError, operands that are all Python numbers."""
    if all(is_number(x) for x in operands):
        kinds = ", ".join(
            type(x).__name__ if not hasattr(x, "aval") else "Number" for x in operands
        )
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({kinds}), but expected "
            "at least one Tensor"
        )


def in_float32(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``fn`` to compute half precision as PyTorch's kernels do: in float32, rounded once at
    the end.

    Operands must have one dtype. In programs for accelerators what is kept for backward are the
    operands in their 16 bits, as in PyTorch, and ``fn`` is computed again there: XLA would keep
    them in float32, and ``fn``'s own values beside.
    """

    def wide(*operands: Any) -> jax.Array:
        kind = operands[0].dtype
        return fn(*(casts.plainly(x, np.float32) for x in operands)).astype(kind)

    @functools.wraps(fn)
    def computed(*operands: Any) -> jax.Array:
        kind = operands[0].dtype
        if kind.kind == "c" or kind.itemsize != 2 or dtypes.from_numpy_dtype(kind).category != 2:
            return fn(*operands)
        return (jax.checkpoint(wide) if targets.is_accelerator() else wide)(*operands)

    return computed


def beside_scalars(
    fn: Callable[[Any, Any], Any], x: Any, y: Any, *, floats: bool = False
) -> jax.Array:
    """Apply ``fn`` to promoted operands, as PyTorch's CPU kernels compute half precision: in
    float32, where a number (or a 0-dim tensor beside one with dimensions) keeps the digits that 16
    bits have not.

    ``floats``: integers and bools are raised to the default float dtype.
    """
    operands = (promoted_float if floats else promoted)(x, y)
    kind = operands[0].dtype
    if not dtypes.is_half(kind):
        return fn(*operands)
    wide = []
    for given, other, cast in ((x, y, operands[0]), (y, x, operands[1])):
        value = jnp.asarray(given if is_alone(given, other) else cast)
        wide.append(casts.plainly(value, np.float32))
    return fn(*wide).astype(kind)


def is_alone(x: Any, beside: Any) -> bool:
    """Return whether ``x`` is a number, or a 0-dim tensor beside one with dimensions."""
    return is_number(x) or (jnp.ndim(x) == 0 and jnp.ndim(beside) > 0)


def scalar_like(value: Any, x: Any) -> jax.Array:
    """Return a scalar operand (alpha, value) in the dtype of ``x``."""
    return casts.plainly(jnp.asarray(value), x.dtype)
