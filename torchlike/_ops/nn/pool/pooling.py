"""Pooling. Maxima without ``reduce_window``, whose gradient is six times slower on XLA's CPU.

Max pooling runs one dimension after the other: the maximum of a row, then of the row maxima. Each
step folds over the window with ``jnp.where``, so the gradient goes to one winner, the first in
row-major order (and the last NaN), as PyTorch's does. It works in channels-last order, like the
convolutions before and after it (``_ops/nn/conv/``). Windows side by side have a derivative of
their own (`max_of_tiles`).
"""

from __future__ import annotations

import functools
import math
import operator
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import dtypes
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Bool, Input, IntOrInts, Kind, OptInt, require_tensor
from torchlike._ops import checks
from torchlike._ops.checks import floats_only, numbers_only
from torchlike._ops.elementwise import division
from torchlike._ops.memory_order import of_first, of_first_row
from torchlike._ops.nn.conv.ops import int_or_ints
from torchlike._ops.unfused import unfused
from torchlike.tensor import Tensor

_F = ("nn.functional",)
_COUNT = {1: "one int", 2: "two ints", 3: "three ints"}
#: A stride: None or () means the kernel's size.
_Stride = Annotated[Any, Kind("int or tuple of ints", int_or_ints, optional=True)]


# -- arguments -------------------------------------------------------------------------------------


def per_dimension(value: Any, n: int, op_name: str, argument: str) -> tuple[int, ...]:
    """Return one value for each of n spatial dimensions, from one for all or a list of n."""
    return checks.per_dimension(
        value, n, f"{op_name}: {argument} must either be a single int, or a tuple of {_COUNT[n]}"
    )


def stride_of(stride: Any, kernel: tuple[int, ...], n: int, name: str) -> tuple[int, ...]:
    return kernel if stride is None or stride == () else per_dimension(stride, n, name, "stride")


def _check_window(
    x: Any, n: int, name: str, kernel: Any, stride: Any, padding: Any, dilation: Any
) -> None:
    """Refuse a pool's geometry in PyTorch's words; the 1-D max pool has its own."""
    no_channels = x.ndim > n and not x.shape[x.ndim - n - 1]
    if name == "max_pool1d":
        if x.ndim not in (2, 3) or no_channels:
            raise RuntimeError(
                "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size "
                f"for input, but got:{list(x.shape)}"
            )
        for what, (value,) in (("kernel_size", kernel), ("stride", stride), ("dilation", dilation)):
            if value <= 0:
                raise RuntimeError(
                    f"max_pool1d() {what} must be greater than zero, but got {value}"
                )
        if padding[0] < 0:
            raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {padding[0]}")
        if padding[0] > kernel[0] // 2:
            raise RuntimeError(
                "max_pool1d() padding should be at most half of kernel size, but got "
                f"padding={padding[0]} and kernel_size={kernel[0]}"
            )
        return
    if name == "avg_pool1d" and x.ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {x.ndim}-dimensional tensor for argument #1 "
            "'self' (while checking arguments for avg_pool1d)"
        )
    if x.ndim not in (n + 1, n + 2) or no_channels:
        raise RuntimeError(f"non-empty {n + 1}D or {n + 2}D (batch mode) tensor expected for input")
    if any(s == 0 for s in stride):
        raise RuntimeError("stride should not be zero")
    if any(k <= 0 for k in kernel) or any(s < 0 for s in stride):
        raise RuntimeError(
            "kernel size should be greater than zero, but got " + _named("k", kernel)
        )
    if any(d <= 0 for d in dilation):
        raise RuntimeError(
            "dilation should be greater than zero, but got " + _named("dilation", dilation)
        )
    for p, k, d in zip(reversed(padding), reversed(kernel), reversed(dilation), strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > ((k - 1) * d + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, "
                f"kernel_size={k} and dilation={d}"
            )


def _named(prefix: str, values: Any) -> str:
    letters = "THW"[3 - len(values) :]
    return " ".join(f"{prefix}{letter}: {v}" for letter, v in zip(letters, values, strict=True))


def _output_size(
    size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> int:
    """Return how many windows fit; with ``ceil_mode`` also one that starts inside and ends
    outside."""
    reach = size + 2 * padding - dilation * (kernel - 1) - 1
    out = (reach + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (out - 1) * stride >= size + padding:
        out -= 1
    return out


def _output_sizes(
    x: Any,
    n: int,
    name: str,
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
) -> tuple[int, ...]:
    spatial = x.shape[x.ndim - n :]
    out = tuple(
        _output_size(*sizes, ceil_mode)
        for sizes in zip(spatial, kernel, stride, padding, dilation, strict=True)
    )
    if min(out) < 1:
        if name == "max_pool1d":
            raise RuntimeError(f"max_pool1d() Invalid computed output size: {out[0]}")
        planes = x.shape[x.ndim - n - 1]
        # avg_pool1d is computed as a 2-D pool of height 1, and its message says so.
        given = "x".join(map(str, (planes, *((1,) if n == 1 else ()), *spatial)))
        got = "x".join(map(str, (planes, *((1,) if n == 1 else ()), *out)))
        raise RuntimeError(
            f"Given input size: ({given}). Calculated output size: ({got}). Output size is too "
            "small"
        )
    return out


# -- maxima ----------------------------------------------------------------------------------------


def _lowest(dtype: Any) -> float:
    return -jnp.inf if dtype.kind not in "iu" else np.iinfo(dtype).min


def _window_slices(x: Any, axis: int, geometry: tuple[int, ...], fill: Any) -> list[Any]:
    """Return for each tap of the kernel the elements that it sees along ``axis``.

    geometry: (output size, kernel, stride, padding, dilation) of that dimension.
    """
    out, kernel, stride, padding, dilation = geometry
    size = x.shape[axis]
    if kernel == stride and padding == 0 and dilation == 1 and out * kernel <= size:
        # Windows side by side: a reshape, whose gradient is no scatter and no padding.
        cut = lax.slice_in_dim(x, 0, out * kernel, axis=axis)
        parted = cut.reshape(*x.shape[:axis], out, kernel, *x.shape[axis + 1 :])
        return [lax.index_in_dim(parted, k, axis + 1, keepdims=False) for k in range(kernel)]
    high = max((out - 1) * stride + (kernel - 1) * dilation + 1 - padding - size, 0)
    if padding or high:
        pads = [(0, 0, 0)] * x.ndim
        pads[axis] = (padding, high, 0)
        x = lax.pad(x, jnp.asarray(fill).astype(x.dtype), pads)
    return [
        lax.slice_in_dim(x, k * dilation, k * dilation + (out - 1) * stride + 1, stride, axis)
        for k in range(kernel)
    ]


def _beats(value: Any, best: Any) -> jax.Array:
    """Return whether each later element of a window takes the place of the best so far: larger, or
    NaN."""
    better = value > best
    return better | jnp.isnan(value) if value.dtype in dtypes.DIFFERENTIABLE else better


def max_along(x: Any, index: Any, axis: int, geometry: tuple[int, ...]) -> tuple[Any, Any]:
    """Fold one dimension; ``index`` (flat positions, or None) follows its winner."""
    values = _window_slices(x, axis, geometry, _lowest(x.dtype))
    best = values[0]
    places: Any = None if index is None else _window_slices(index, axis, geometry, -1)
    where: Any = None if places is None else places[0]
    for k in range(1, len(values)):
        better = _beats(values[k], best)
        if places is not None:
            # Padding is no candidate, even against a window of -inf.
            better = (better | (where < 0)) & (places[k] >= 0)
        best = jnp.where(better, values[k], best)
        if places is not None:
            where = jnp.where(better, places[k], where)
    return best, where


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def max_of_tiles(x: Any, kernel: tuple[int, ...]) -> jax.Array:
    """Return the maximum of each window of ``x``, (N, out, kernel, out, kernel, …, C) -> (N, out,
    out, C).

    The derivative of the fold would be a chain of selections, one for each tap. This one asks once
    which tap won: on 32 images of 32 channels, 28x28, kernel 2, backward takes 0.64 instead of 0.95
    ms between channels-first neighbours, 0.24 instead of 0.34 between channels-last ones.
    """
    return _winners(x, kernel)[0]


def _winners(x: Any, kernel: tuple[int, ...]) -> tuple[Any, Any]:
    """Return the maximum of each window, and which tap it is: the first maximum, or the last
    NaN."""
    tap: Any = np.float32(0)
    step = 1
    for d in reversed(range(len(kernel))):
        axis = 2 * d + 2
        values = [lax.index_in_dim(x, k, axis, keepdims=False) for k in range(kernel[d])]
        taps = [
            (lax.index_in_dim(tap, k, axis, keepdims=False) if tap.ndim else tap) + k * step
            for k in range(kernel[d])
        ]
        x, tap = values[0], jnp.broadcast_to(taps[0], values[0].shape)
        for value, number in zip(values[1:], taps[1:], strict=True):
            better = _beats(value, x)
            x, tap = jnp.where(better, value, x), jnp.where(better, number, tap)
        step *= kernel[d]
    return x, tap


@max_of_tiles.defjvp
def _(kernel: tuple[int, ...], primals: Any, tangents: Any) -> tuple[Any, Any]:
    best, _ = _winners(primals[0], kernel)
    # Fused with what follows, the search would be repeated for each tap.
    tap = unfused(lambda x: _winners(x, kernel)[1], primals[0])
    shape = [s for k in kernel for s in (1, k)]
    taps = np.arange(math.prod(kernel), dtype=np.float32).reshape(*shape, 1)
    spread = tuple(2 * d + 2 for d in range(len(kernel)))
    won = jnp.expand_dims(tap, spread) == taps
    return best, jnp.sum(jnp.where(won, tangents[0], 0), spread)


def _max_pool(
    input: Any,
    n: int,
    name: str,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    with_index: bool,
) -> Any:
    kernel = per_dimension(kernel_size, n, name, "kernel_size")
    stride = stride_of(stride, kernel, n, name)
    padding = per_dimension(padding, n, name, "padding")
    dilation = per_dimension(dilation, n, name, "dilation")
    _check_window(input, n, name, kernel, stride, padding, dilation)
    if n == 1 and not with_index:
        floats_only(input, "max_pool1d_impl")
    numbers_only(input, name)
    out = _output_sizes(input, n, name, kernel, stride, padding, dilation, ceil_mode)
    channels = input.ndim - n - 1
    spatial = input.shape[channels + 1 :]
    best: Any = jnp.moveaxis(input, channels, -1)
    side_by_side = kernel == stride and not any(padding) and set(dilation) == {1}
    covered = [o * k for o, k in zip(out, kernel, strict=True)]
    if side_by_side and not with_index and all(map(operator.le, covered, spatial)):
        tiles = best.reshape(-1, *spatial, input.shape[channels])
        tiles = tiles[(slice(None), *map(slice, covered))]
        sizes = (s for pair in zip(out, kernel, strict=True) for s in pair)
        tiles = tiles.reshape(tiles.shape[0], *sizes, tiles.shape[-1])
        best = max_of_tiles(tiles, kernel).reshape(*best.shape[:channels], *out, best.shape[-1])
        return jnp.moveaxis(best, -1, channels)
    index: Any = None
    if with_index:
        positions = jnp.arange(math.prod(spatial), dtype=np.int32).reshape(*spatial, 1)
        index = jnp.broadcast_to(positions, best.shape)
    for d in reversed(range(n)):
        geometry = (out[d], kernel[d], stride[d], padding[d], dilation[d])
        best, index = max_along(best, index, channels + d, geometry)
    best = jnp.moveaxis(best, -1, channels)
    return (best, jnp.moveaxis(index, -1, channels).astype(np.int64)) if with_index else best


def _of_recorded_row(result: Any, operands: Any, spec: Any, statics: Any) -> None:
    """Set the memory order of a recorded row: PyTorch's max_pool1d is one of images only where it
    is recorded or asked for indices."""
    if result.requires_grad:
        of_first_row(result, operands, spec, statics)


def _register_max_pool(n: int) -> None:
    name = f"max_pool{n}d"
    grad_name = {
        1: "SqueezeBackward1",
        2: "MaxPool2DWithIndicesBackward0",
        3: "MaxPool3DWithIndicesBackward0",
    }[n]

    def pure(
        input: Input,
        kernel_size: IntOrInts,
        stride: _Stride = None,
        padding: IntOrInts = 0,
        dilation: IntOrInts = 1,
        ceil_mode: Bool = False,
    ):
        return _max_pool(input, n, name, kernel_size, stride, padding, dilation, ceil_mode, False)

    def pure_with_indices(
        input: Input,
        kernel_size: IntOrInts,
        stride: _Stride = None,
        padding: IntOrInts = 0,
        dilation: IntOrInts = 1,
        ceil_mode: Bool = False,
    ):
        return _max_pool(input, n, name, kernel_size, stride, padding, dilation, ceil_mode, True)

    pure.__doc__ = f"""Return the maximum of each window over {n} dimension{"s" if n > 1 else ""}.

    input: (N, C, …) or (C, …). The gradient goes to the first maximum of a window.
    """
    pure_with_indices.__doc__ = (
        "Return the maxima, and their flat positions in the input's plane (int64)."
    )
    plain = op(
        f"{name}_op",
        namespaces=(),
        method=False,
        grad_name=grad_name,
        memory_order=_of_recorded_row if n == 1 else of_first,
        autocast={2: {"xla": "low"}, 3: {"cpu": "float32"}}.get(n),
    )(pure)
    top = ("",) if n == 1 else ()
    indexed = op(
        f"{name}_with_indices",
        namespaces=top,
        method=False,
        grad_name=grad_name,
        memory_order=of_first_row if n == 1 else of_first,
    )(pure_with_indices)
    _register_max_pool_calls(name, plain, indexed, pure.__doc__, pure_with_indices.__doc__)


def _register_max_pool_calls(
    name: str, plain: Any, indexed: Any, text: str, text_with_indices: str
) -> None:
    """Register the ways in which PyTorch calls the two ops, each with its text."""

    def toplevel(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> Tensor:
        return plain(input, kernel_size, stride, padding, dilation, ceil_mode)

    def with_indices(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> tuple[Tensor, Tensor]:
        return indexed(input, kernel_size, stride, padding, dilation, ceil_mode)

    def functional(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        chosen = indexed if return_indices else plain
        return chosen(input, kernel_size, stride, padding, dilation, ceil_mode)

    toplevel.__doc__ = functional.__doc__ = text
    with_indices.__doc__ = text_with_indices
    composite(name, method=False)(toplevel)
    composite(name, namespaces=_F, method=False, python_signature=True)(functional)
    composite(f"{name}_with_indices", namespaces=_F, method=False)(with_indices)


# -- means -----------------------------------------------------------------------------------------


def _sum_windows(x: Any, n: int, out: Any, kernel: Any, stride: Any, padding: Any) -> jax.Array:
    first = x.ndim - n
    for d in reversed(range(n)):
        parts = _window_slices(x, first + d, (out[d], kernel[d], stride[d], padding[d], 1), 0)
        x = parts[0]
        for part in parts[1:]:
            x = x + part
    return x


def _window_counts(
    size: int, out: int, kernel: int, stride: int, padding: int, include_pad: bool
) -> np.ndarray:
    """Return how many elements each window of one dimension counts, padding included or not."""
    start = np.arange(out) * stride - padding
    end = np.minimum(start + kernel, size + padding)
    if not include_pad:
        start, end = np.maximum(start, 0), np.minimum(end, size)
    return end - start


def means_only(x: Any, kernel: str) -> None:
    """Refuse, with NotImplementedError naming PyTorch's kernel, integers other than int64, the only
    ones that its average pooling takes."""
    if x.dtype != np.int64:
        floats_only(x, kernel)


def _avg_pool(
    input: Any,
    n: int,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> jax.Array:
    name = f"avg_pool{n}d"
    kernel = per_dimension(kernel_size, n, name, "kernel_size")
    stride = stride_of(stride, kernel, n, name)
    padding = per_dimension(padding, n, name, "padding")
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    _check_window(input, n, name, kernel, stride, padding, (1,) * n)
    means_only(input, "avg_pool3d_out_frame" if n == 3 else "avg_pool2d")
    out = _output_sizes(input, n, name, kernel, stride, padding, (1,) * n, ceil_mode)
    x = input.astype(np.float32) if input.dtype.itemsize < 4 else input
    total = _sum_windows(x, n, out, kernel, stride, padding)
    if divisor is not None:
        counts: Any = divisor
    else:
        counts = np.ones((), np.int64)
        spatial = input.shape[input.ndim - n :]
        for sizes in zip(spatial, out, kernel, stride, padding, strict=True):
            counts = counts[..., None] * _window_counts(*sizes, count_include_pad)
        if (counts == counts.flat[0]).all():
            counts = int(counts.flat[0])
    if x.dtype.kind in "iu":
        return lax.div(total, jnp.broadcast_to(jnp.asarray(counts, total.dtype), total.shape))
    return division.divide(total, jnp.asarray(counts, total.dtype)).astype(input.dtype)


@op(namespaces=("", *_F), method=False, needs="nothing", memory_order=of_first_row, one_object=True)
def avg_pool1d(
    input: Input,
    kernel_size: IntOrInts,
    stride: _Stride = None,
    padding: IntOrInts = 0,
    ceil_mode: Bool = False,
    count_include_pad: Bool = True,
):
    """Return the mean of each window of (N, C, L) or (C, L)."""
    return _avg_pool(input, 1, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


@op(
    namespaces=_F,
    method=False,
    needs="nothing",
    grad_name="AvgPool2DBackward0",
    memory_order=of_first,
)
def avg_pool2d(
    input: Input,
    kernel_size: IntOrInts,
    stride: _Stride = None,
    padding: IntOrInts = 0,
    ceil_mode: Bool = False,
    count_include_pad: Bool = True,
    divisor_override: OptInt = None,
):
    """Return the mean of each window of (N, C, H, W) or (C, H, W); ``divisor_override`` divides
    instead of the window's count."""
    return _avg_pool(
        input, 2, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


@op(
    namespaces=_F,
    method=False,
    needs="nothing",
    grad_name="AvgPool3DBackward0",
    autocast={"cpu": "float32"},
)
def avg_pool3d(
    input: Input,
    kernel_size: IntOrInts,
    stride: _Stride = None,
    padding: IntOrInts = 0,
    ceil_mode: Bool = False,
    count_include_pad: Bool = True,
    divisor_override: OptInt = None,
):
    """Return the mean of each window of (N, C, D, H, W) or (C, D, H, W)."""
    return _avg_pool(
        input, 3, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def _register_lp_pool(n: int) -> None:
    name = f"lp_pool{n}d"
    avg = (avg_pool1d, avg_pool2d, avg_pool3d)[n - 1]

    def lp_pool(
        input: Tensor,
        norm_type: float,
        kernel_size: Any,
        stride: Any = None,
        ceil_mode: Any = False,
    ) -> Tensor:
        require_tensor(input, name)
        sizes = per_dimension(int_or_ints(kernel_size), n, name, "kernel_size")
        powers = avg(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
        summed = powers.sign() * powers.abs().relu() * math.prod(sizes)
        return summed.pow(1.0 / norm_type)

    lp_pool.__doc__ = "Return ``sum(x ** p) ** (1 / p)`` of each window."
    composite(name, namespaces=_F, method=False, python_signature=True)(lp_pool)


for _n in (1, 2, 3):
    _register_max_pool(_n)
    _register_lp_pool(_n)
