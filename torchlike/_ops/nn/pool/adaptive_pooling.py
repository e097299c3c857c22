"""Adaptive pooling (windows that divide the input), and unpooling."""

from __future__ import annotations

import math
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core import dtypes
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Input, IntOrInts, Kind
from torchlike._core.errors import check_bytes
from torchlike._ops.checks import floats_only
from torchlike._ops.elementwise import division
from torchlike._ops.memory_order import of_first, of_first_row
from torchlike._ops.nn.conv.ops import int_or_ints
from torchlike._ops.nn.pool.pooling import max_along, per_dimension, stride_of
from torchlike._ops.value_checks import refuse_outside
from torchlike.tensor import Tensor

_F = ("nn.functional",)
#: An adaptive pool's output size: None keeps the input's.
_Sizes = Annotated[
    Any,
    Kind(
        "int or tuple of ints",
        lambda v: (
            tuple(None if s is None else int_or_ints(s) for s in v)
            if isinstance(v, (tuple, list))
            else int_or_ints(v)
        ),
        optional=True,
    ),
]


# -- adaptive --------------------------------------------------------------------------------------


def _adaptive_sizes(input: Any, n: int, output_size: Any, name: str) -> tuple[int, ...]:
    """Return the output's spatial size; None keeps the input's. Errors in PyTorch's words."""
    if input.ndim not in (n + 1, n + 2):
        if n == 1:
            raise RuntimeError(
                f"Expected 2 to 3 dimensions, but got {input.ndim}-dimensional tensor for argument "
                f"#1 'self' (while checking arguments for {name})"
            )
        if isinstance(output_size, tuple) and input.ndim <= len(output_size):
            raise ValueError(f"Input dimension should be at least {n + 1}")
        colon = ":" if "max" in name else ""
        raise RuntimeError(
            f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got{colon} {list(input.shape)}"
        )
    given = (
        (output_size,) * n
        if output_size is None or isinstance(output_size, int)
        else (output_size * n if len(output_size) == 1 else output_size)
    )
    if len(given) != n:
        raise RuntimeError(f"{name}: output_size must be {n}")
    spatial = input.shape[input.ndim - n :]
    sizes = tuple(s if o is None else o for o, s in zip(given, spatial, strict=True))
    if any(s < 0 for s in sizes):
        listed = ", ".join(map(str, sizes))
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received "
            f"{{{listed}}}"
        )
    _check_not_empty(input, n, name)
    check_bytes((*input.shape[: input.ndim - n], *sizes), input.dtype.itemsize)
    if input.size or n == 3 or "max" in name:  # else PyTorch asks for no kernel
        floats_only(input, f"{name[:-2]}3d_cpu" if n == 3 else f"{name[:-2]}2d")
    return sizes


def _check_not_empty(input: Any, n: int, name: str) -> None:
    """Refuse, with RuntimeError, windows over nothing (and, but for small means, no channels)."""
    shape = list(input.shape)
    means = n < 3 and "avg" in name
    if means and n == 1:  # which are pooled as images of one row
        shape.insert(-1, 1)
        name = "adaptive_avg_pool2d"
    for d in range(len(shape) - 2 if means else 1, len(shape)):
        if not shape[d]:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but "
                f"input has sizes {shape} with dimension {d} being empty"
            )


def _bins(size: int, out: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the start and end of each adaptive window: [floor(i n / m), ceil((i + 1) n / m))."""
    i = np.arange(out)
    return i * size // out, -(-(i + 1) * size // out)


def _taps(size: int, out: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the places in each window, (out, longest), and which of them count: beyond its end a
    window repeats its first place."""
    start, end = _bins(size, out)
    places = start[:, None] + np.arange(int((end - start).max(initial=1)))
    inside = places < end[:, None]
    return np.where(inside, places, start[:, None]), inside


def _adaptive_avg(input: Any, n: int, output_size: Any) -> jax.Array:
    sizes = _adaptive_sizes(input, n, output_size, f"adaptive_avg_pool{n}d")
    x = input.astype(np.float32) if input.dtype.itemsize < 4 else input
    first = input.ndim - n
    for d in range(n):
        axis, size, out = first + d, x.shape[first + d], sizes[d]
        if out == size:
            continue
        if out == 1 and size:
            x = division.mean(x, axis, keepdims=True)
        elif out and size % out == 0:
            parted = x.reshape(*x.shape[:axis], out, size // out, *x.shape[axis + 1 :])
            x = division.mean(parted, axis + 1)
        else:
            # Uneven windows overlap. A product with the matrix of their weights would be as fast,
            # but a NaN or infinity would reach every window: 0 * inf is NaN.
            taps, inside = _taps(size, out)
            shape = (*inside.shape, *(1 for _ in x.shape[axis + 1 :]))
            gathered = jnp.take(x, taps.reshape(-1), axis)
            gathered = gathered.reshape(*x.shape[:axis], *taps.shape, *x.shape[axis + 1 :])
            total = jnp.sum(jnp.where(inside.reshape(shape), gathered, 0), axis + 1)
            counts = np.sum(inside, 1).reshape(shape[0], *shape[2:]).astype(x.dtype)
            x = division.divide(total, jnp.asarray(counts))
    return x.astype(input.dtype)


def _adaptive_max(input: Any, n: int, output_size: Any) -> tuple[Any, ...]:
    """Gather each window (padded by repeating its first place), then fold as max pooling does."""
    sizes = _adaptive_sizes(input, n, output_size, f"adaptive_max_pool{n}d")
    first = input.ndim - n
    spatial = input.shape[first:]
    positions = jnp.arange(math.prod(spatial), dtype=np.int32).reshape(spatial)
    best, index = input, jnp.broadcast_to(positions, input.shape)
    for d in reversed(range(n)):
        axis, size, out = first + d, best.shape[first + d], sizes[d]
        taps, _ = _taps(size, out)  # a place that is repeated can never win a second time
        longest = taps.shape[1]
        best, index = (jnp.take(a, taps.reshape(-1), axis) for a in (best, index))
        best, index = max_along(best, index, axis, (out, longest, longest, 0, 1))
    return best, index.astype(np.int64)


def _register_adaptive(n: int) -> None:
    avg_name, max_name = f"adaptive_avg_pool{n}d", f"adaptive_max_pool{n}d"
    toplevel = ("",) if n == 1 else ()
    rule = of_first_row if n == 1 else of_first

    def pure_avg(input: Input, output_size: _Sizes):
        return _adaptive_avg(input, n, output_size)

    def pure_max(input: Input, output_size: _Sizes):
        return _adaptive_max(input, n, output_size)

    pure_avg.__doc__ = (
        f"Return the means over windows that divide (N, C, …) into ``output_size`` ({n} long)."
    )
    op(
        avg_name,
        namespaces=(*toplevel, *_F),
        method=False,
        needs="nothing",
        grad_name=f"AdaptiveAvgPool{n}DBackward0",
        memory_order=None if n == 3 else rule,
        autocast={"cpu": "float32"} if n == 3 else None,
        python_signature=n > 1,
        one_object=n == 1,
    )(pure_avg)
    indexed = op(
        f"{max_name}_op",
        namespaces=(),
        method=False,
        grad_name=f"AdaptiveMaxPool{n}DBackward0",
        memory_order=rule,
    )(pure_max)

    def functional(input: Tensor, output_size: Any, return_indices: Any = False) -> Any:
        values = indexed(input, output_size)
        return values if return_indices else values[0]

    def with_indices(input: Tensor, output_size: Any, return_indices: Any = False) -> Any:
        return indexed(input, output_size)

    functional.__doc__ = (
        f"Return the maxima over windows that divide (N, C, …) into ``output_size`` ({n})."
    )
    with_indices.__doc__ = (
        "Return the maxima over adaptive windows, and their flat positions (int64)."
    )
    composite(max_name, namespaces=_F, method=False, python_signature=True)(functional)
    composite(f"{max_name}_with_indices", namespaces=_F, method=False)(with_indices)
    if n == 1:
        composite(max_name, method=False)(with_indices)


for _n in (1, 2, 3):
    _register_adaptive(_n)


# -- unpooling -------------------------------------------------------------------------------------


def _check_places(input: Any, indices: Any, size: tuple[int, ...]) -> None:
    shape = "x".join(map(str, size))
    refuse_outside(
        indices,
        0,
        math.prod(size),
        RuntimeError,
        f"Found an invalid max index: {{0}} (output volumes are of size {shape})",
    )


@op(
    "max_unpool_op",
    namespaces=(),
    method=False,
    check=_check_places,
    needs={"input": ["indices"]},
    memory_order=of_first,
    grad_name="MaxUnpoolBackward0",
)
def max_unpool_op(input: Input, indices: Input, size: IntOrInts):
    """Return zeros of spatial ``size`` with ``input`` written at flat ``indices`` of each plane."""
    n = len(size)
    planes = input.shape[: input.ndim - n]
    spatial = input.shape[input.ndim - n :]
    for d in range(input.ndim - n - 1, input.ndim):
        if input.shape[d] == 0:
            raise RuntimeError(
                f"max_unpooling{max(n, 2)}d_forward_out_cpu(): Expected input to have non-zero "
                f"size for non-batch dimensions, but got {list(input.shape)} with dimension {d} "
                "being empty."
            )
    flat = input.reshape(math.prod(planes), math.prod(spatial))
    places = indices.reshape(flat.shape).astype(np.int32)
    rows = jnp.arange(flat.shape[0], dtype=np.int32)[:, None]
    empty = jnp.zeros((flat.shape[0], math.prod(size)), input.dtype)

    @jax.custom_jvp
    def written(values: Any) -> jax.Array:
        return empty.at[rows, places].set(values)

    @written.defjvp
    def _(primals: Any, tangents: Any) -> tuple[Any, ...]:
        # Of several values with one place the last is written, and each gets that place's gradient.
        return written(*primals), empty.at[rows, places].add(tangents[0])

    return written(flat).reshape(*planes, *size)


def _register_unpool(n: int) -> None:
    name = f"max_unpool{n}d"

    def unpool(
        input: Tensor,
        indices: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        output_size: Any = None,
    ) -> Tensor:
        if indices.dtype.name != "int64":
            raise RuntimeError(
                "elements in indices should be type int64 but got: "
                f"{dtypes.scalar_type(indices.dtype)}"
            )
        if input.shape != indices.shape:
            raise RuntimeError(
                f"Expected shape of indices to be same as that of the input tensor "
                f"({list(input.shape)}) but got indices tensor with shape: {list(indices.shape)}"
            )
        kernel = per_dimension(int_or_ints(kernel_size), n, name, "kernel_size")
        strides = stride_of(stride, kernel, n, name)
        pads = per_dimension(int_or_ints(padding), n, name, "padding")
        spatial = tuple(input.shape)[-n:]
        default = tuple(
            (size - 1) * s + k - 2 * p
            for size, s, k, p in zip(spatial, strides, kernel, pads, strict=True)
        )
        size = default if output_size is None else tuple(output_size)[-n:]
        for d, (got, want, s) in enumerate(zip(size, default, strides, strict=True)):
            if not want - s < got < want + s:
                raise ValueError(
                    f'invalid output_size "{tuple(size)}" (dim {d} must be between {want - s} and '
                    f"{want + s})"
                )
        return max_unpool_op(input, indices, size)

    unpool.__doc__ = (
        "Return the partial inverse of max pooling: maxima at their places, zeros elsewhere."
    )
    cast = None if n == 1 else {"cpu": "float32"}
    composite(name, namespaces=_F, method=False, autocast=cast, python_signature=True)(unpool)


for _n in (1, 2, 3):
    _register_unpool(_n)
