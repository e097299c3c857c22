"""Fractional max pooling: windows of one size at pseudorandom places.

B. Graham, "Fractional Max-Pooling", 2014. The places come from one uniform number for each plane
and dimension, drawn as PyTorch draws them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core.dispatch.registry import NAMESPACES, composite, op
from torchlike._core.dispatch.schema import Input, Shape
from torchlike._ops.checks import floats_only
from torchlike._ops.nn.pool.pooling import per_dimension
from torchlike.tensor import Tensor


def _rounded(x: Any) -> jax.Array:
    """Round half types: each step is rounded, as PyTorch's scalar arithmetic rounds it."""
    info = jnp.finfo(x.dtype)
    return lax.reduce_precision(x, info.nexp, info.nmant) if x.dtype.itemsize == 2 else x


def _starts(samples: Any, size: int, out: int, kernel: int) -> jax.Array:
    """Return the starts of the windows of one dimension: (...,) samples to (..., out)."""
    kind = samples.dtype
    if out == 1:
        return jnp.full((*samples.shape, 1), size - kernel, np.int64)
    alpha = _rounded(jnp.asarray(size - kernel, kind) / jnp.asarray(out - 1, kind))
    u = samples[..., None]
    at = _rounded(_rounded(jnp.arange(out).astype(kind) + u) * alpha).astype(np.int64)
    at = at - _rounded(u * alpha).astype(np.int64)
    # The last window ends where the input does.
    return jnp.where(jnp.arange(out) == out - 1, size - kernel, at)


def _check(x: Any, samples: Any, kernel: Any, out: Any, name: str) -> None:
    n = len(kernel)
    if n == 3:
        name += "_out"
    spatial = x.shape[x.ndim - n :]
    sizes = x.shape[x.ndim - n - 1 :]
    if n == 3 and 0 in sizes:
        raise RuntimeError(
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, but got"
            f"{list(x.shape)} with dimension {x.ndim - n - 1 + sizes.index(0)} being empty."
        )
    if x.ndim not in (n + 1, n + 2) or 0 in sizes:
        raise RuntimeError(
            f"{name}(): Expected {n + 1}D or {n + 2}D tensor with non-zero dimensions, but got: "
            f"{list(x.shape)}"
        )
    for letter, size, k, o in zip("THW"[3 - n :], spatial, kernel, out, strict=True):
        if k <= 0 or o < 0:
            raise RuntimeError(f"{name}(): kernel_size must be positive, output_size not negative")
        if o + k - 1 > size:
            side = {"T": "time", "H": "height", "W": "width"}[letter]
            raise RuntimeError(
                f"{name}(): pool {side} {k} too large relative to input {side} {size}"
            )
    if samples.dtype != x.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    _check_samples(samples.shape, (x.shape[0] if x.ndim == n + 2 else 1, x.shape[-n - 1], n))


def _check_samples(given: Any, asked: tuple[int, int, int]) -> None:
    """Raise RuntimeError unless samples are (at least N, C, dimensions of a window)."""
    name = "Expect _random_samples"
    if len(given) != 3:
        raise RuntimeError(f"{name} to have 3 dimensions, got {len(given)}")
    if given[0] < asked[0]:
        raise RuntimeError(f"{name}.size(0) no less then input batch size.")
    if given[1] != asked[1]:
        raise RuntimeError(f"{name}.size(1) equals to input channel size.")
    if given[2] != asked[2]:
        raise RuntimeError(f"{name}.size(2) equals to {asked[2]}; got {given[2]}.")


@op(
    "fractional_max_pool_op",
    namespaces=(),
    method=False,
    grad_name="FractionalMaxPoolBackward0",
    residuals=True,
)
def fractional_max_pool_op(input: Input, samples: Input, kernel: Shape, out: Shape):
    """Return the maxima, and their indices in the flattened plane."""
    n = len(kernel)
    name = f"fractional_max_pool{n}d"
    floats_only(input, f"{name}_out_frame")
    _check(input, samples, kernel, out, name)
    if 0 in out:
        size = (*input.shape[: input.ndim - n], *out)
        return jnp.zeros(size, input.dtype), jnp.zeros(size, np.int64)
    spatial = input.shape[input.ndim - n :]
    x = input if input.ndim == n + 2 else input[None]
    samples = samples[: x.shape[0]]
    # PyTorch takes the samples of a 2-D pool width first, of a 3-D pool time first.
    order = range(n) if n == 3 else reversed(range(n))
    places = [
        _starts(samples[..., s], spatial[d], out[d], kernel[d])
        for d, s in zip(range(n), order, strict=True)
    ]
    weights = [int(np.prod(spatial[d + 1 :])) for d in range(n)]
    taps = []
    for tap in itertools.product(*(range(k) for k in kernel)):
        at: Any = 0
        for d in range(n):
            shape = (*x.shape[:2], *(out[d] if i == d else 1 for i in range(n)))
            at = at + ((places[d] + tap[d]) * weights[d]).reshape(shape)
        taps.append(at)
    indices = jnp.stack(taps, 2)  # (N, C, taps, *out)
    whole = (*x.shape[:2], int(np.prod(indices.shape[2:])))
    flat = x.reshape(*x.shape[:2], int(np.prod(spatial)))
    values = jnp.take_along_axis(flat, indices.reshape(whole), -1).reshape(indices.shape)
    best, best_at = values[:, :, 0], taps[0]
    # A fold over the taps in row-major order: the first maximum wins, and the last NaN.
    for k, at in enumerate(taps[1:], 1):
        better = (values[:, :, k] > best) | jnp.isnan(values[:, :, k])
        best, best_at = jnp.where(better, values[:, :, k], best), jnp.where(better, at, best_at)
    if input.ndim != n + 2:
        return best[0], best_at[0]
    return best, best_at


def _fractional(n: int) -> Callable[..., Any]:
    name = f"fractional_max_pool{n}d"

    def with_indices(
        input: Tensor,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = True,
        _random_samples: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        if output_size is None:
            ratios = (output_ratio,) * n if isinstance(output_ratio, float) else output_ratio
            if len(ratios) != n:
                raise ValueError(
                    f"{name} requires output_ratio to either be a single Int or tuple of Ints."
                )
            output_size = [int(input.size(d - n) * r) for d, r in enumerate(ratios)]
        if _random_samples is None:
            batch = 1 if input.dim() == n + 1 else input.size(0)
            _random_samples = NAMESPACES[""]["rand"](
                batch, input.size(-n - 1), n, dtype=input.dtype, device=input.device
            )
        return fractional_max_pool_op(
            input,
            _random_samples,
            per_dimension(kernel_size, n, name, "kernel_size"),
            per_dimension(output_size, n, name, "output_size"),
        )

    def pool(
        input: Tensor,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:
        found = with_indices(input, kernel_size, output_size, output_ratio, True, _random_samples)
        return found if return_indices else found[0]

    letters = "THW"[3 - n :]
    with_indices.__doc__ = (
        f"Apply ``{name}`` and return the indices of the maxima in their planes too."
    )
    pool.__doc__ = f"""Return the maxima of windows at pseudorandom places (Graham 2014).

    input: (N, C, {", ".join(letters)}) or without N. The output has ``output_size``, or
    ``output_ratio`` of the input's. ``_random_samples`` (N, C, {n}) of [0, 1) say where; they are
    drawn when not given. With ``return_indices`` also the place of each maximum.

    ValueError unless the size or the ratio is given; RuntimeError for windows that do not fit.
    """
    composite(name, namespaces=("nn.functional",), method=False, python_signature=True)(pool)
    composite(f"{name}_with_indices", namespaces=("nn.functional",), method=False)(with_indices)
    return pool


fractional_max_pool2d = _fractional(2)
fractional_max_pool3d = _fractional(3)
