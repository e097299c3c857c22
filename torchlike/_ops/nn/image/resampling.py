"""Resampling: interpolate, grid_sample, affine_grid.

``interpolate`` works one dimension after the other. Where each output position reads from is known
when the op is compiled, so it is a constant table; the gradient is a scatter with known places.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import dtypes, errors
from torchlike._core.dispatch.registry import NAMESPACES, composite, op
from torchlike._core.dispatch.schema import Bool, Input, Ints, Static, Str
from torchlike._core.errors import check_count
from torchlike._ops.checks import floats_only, scalar_type_of
from torchlike._ops.memory_order import of_first
from torchlike._ops.nn.image.byte_resampling import resampled_bytes
from torchlike._ops.nn.image.kept_sizes import goes_in_pixels, two_directions
from torchlike.tensor import Tensor

_F = ("nn.functional",)
_MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"
_DIMS_OF = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}


# -- tables of one dimension -----------------------------------------------------------------------


def _real(x: Any) -> type[np.floating[Any]]:
    """Return the dtype of source positions: PyTorch computes them in float32 for narrower inputs
    too."""
    return np.float64 if x.dtype == np.float64 else np.float32


def _scale(size: int, out: int, factor: float | None, align_corners: bool, real: Any) -> Any:
    if align_corners:
        return real(size - 1) / real(out - 1) if out > 1 else real(0)
    return real(1 / factor) if factor else real(size) / real(out)


def _linear_positions(
    size: int, out: int, scale: Any, align_corners: bool, real: Any
) -> np.ndarray:
    at = np.arange(out, dtype=real)
    return at * scale if align_corners else (at + real(0.5)) * scale - real(0.5)


def _cubic_weights(t: Any) -> list[Any]:
    """Return the weights of Keys' cubic convolution (a = -0.75) at distances 1 + t, t, 1 - t, 2 -
    t."""
    a = -0.75

    def near(x: Any) -> Any:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Any) -> Any:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _weighted_taps(x: Any, axis: int, taps: list[tuple[Any, Any]]) -> jax.Array:
    """Return ``sum(weight * x[index])`` along an axis."""
    shape = [1] * x.ndim
    shape[axis] = -1
    parts = [jnp.take(x, i, axis) * jnp.asarray(w, x.dtype).reshape(shape) for i, w in taps]
    return sum(parts[1:], parts[0])


def _nearest(
    x: Any, axis: int, out: int, factor: float | None, exact: bool, real: Any = np.float32
) -> jax.Array:
    size = x.shape[axis]
    if out % size == 0 and (factor is None or factor == out // size):
        return jnp.repeat(x, out // size, axis)  # its gradient is a sum, no scatter
    scale = _scale(size, out, factor, False, real)
    at = np.arange(out, dtype=real) + (real(0.5) if exact else real(0))
    places = (at * scale).astype(np.float32).astype(np.int64)  # PyTorch cuts by floorf
    return jnp.take(x, np.minimum(places, size - 1), axis)


def _nearest_of_kernels(
    x: Any, axis: int, out: int, factor: float | None, exact: bool, in_pixels: bool
) -> jax.Array:
    """Resample to the nearest element as PyTorch's kernels do it: backward, and forward where that
    goes ``in_pixels``, steps are float32, and "nearest" asks for no factor where the size is kept
    or doubled."""
    doubled = not exact and out in (x.shape[axis], 2 * x.shape[axis])

    def pixels(x: Any) -> jax.Array:
        return _nearest(x, axis, out, None if doubled else factor, exact)

    if in_pixels or not (x.dtype == np.float64 or (doubled and factor)):
        return pixels(x)
    return two_directions(lambda x: _nearest(x, axis, out, factor, exact, _real(x)), pixels, x)


def _linear(x: Any, axis: int, out: int, factor: float | None, align_corners: bool) -> jax.Array:
    size, real = x.shape[axis], _real(x)
    if out == size:
        return x  # whatever the factor is
    scale = _scale(size, out, factor, align_corners, real)
    at = np.maximum(_linear_positions(size, out, scale, align_corners, real), 0)
    low = np.minimum(at.astype(np.int64), size - 1)
    t = at - low.astype(real)
    return _weighted_taps(x, axis, [(low, 1 - t), (np.minimum(low + 1, size - 1), t)])


def _cubic(x: Any, axis: int, out: int, factor: float | None, align_corners: bool) -> jax.Array:
    size, real = x.shape[axis], _real(x)
    scale = _scale(size, out, factor, align_corners, real)
    at = _linear_positions(size, out, scale, align_corners, real)
    low = np.floor(at).astype(np.int64)
    weights = _cubic_weights(at - low)
    taps = [(np.clip(low + k - 1, 0, size - 1), w) for k, w in enumerate(weights)]
    return _weighted_taps(x, axis, taps)


def _antialiased(
    x: Any, axis: int, out: int, factor: float | None, align_corners: bool, cubic: bool
) -> jax.Array:
    """Resample by a filter as wide as the step."""
    size = x.shape[axis]
    scale = float(_scale(size, out, factor, align_corners, np.float64))
    stretch = max(scale, 1.0)
    radius = (2.0 if cubic else 1.0) * stretch
    centre = scale * (np.arange(out) + 0.5)
    low = np.maximum((centre - radius + 0.5).astype(np.int64), 0)
    high = np.minimum((centre + radius + 0.5).astype(np.int64), size)
    at = np.arange(size)
    distance = np.abs((at - centre[:, None] + 0.5) / stretch)
    if cubic:
        a = -0.5
        near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
        far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
        weights = np.where(distance < 1, near, np.where(distance < 2, far, 0))
    else:
        weights = np.maximum(1 - distance, 0)
    weights = np.where((at >= low[:, None]) & (at < high[:, None]), weights, 0)
    weights /= weights.sum(1, keepdims=True)
    # Gathered rather than multiplied by the whole matrix, where 0 * inf would be NaN everywhere.
    reach = low[:, None] + np.arange(int((high - low).max()))
    inside = reach < high[:, None]
    taps = np.where(inside, reach, low[:, None])
    shares = np.take_along_axis(weights, taps, 1)
    shape = (*taps.shape, *(1 for _ in x.shape[axis + 1 :]))
    found = jnp.take(x, taps.reshape(-1), axis)
    found = found.reshape(*x.shape[:axis], *taps.shape, *x.shape[axis + 1 :])
    found = jnp.where(inside.reshape(shape), found, 0) * jnp.asarray(shares, x.dtype).reshape(shape)
    return jnp.sum(found, axis + 1)


# -- interpolate -----------------------------------------------------------------------------------


@op(
    "interpolate_op",
    namespaces=(),
    method=False,
    needs="nothing",
    memory_order=of_first,
    grad_name="UpsampleBackward0",
    autocast={"cuda": "float32"},
)
def interpolate_op(
    input: Input,
    size: Ints,
    factors: Static,
    mode: Str,
    align_corners: Bool,
    antialias: Bool,
    in_pixels: Bool,
):
    """Resample (N, C, …) to a spatial ``size``; ``factors``: the scale factors given, or None.

    ``in_pixels``: which of its kernels for "nearest" PyTorch takes (kept_sizes.py).
    """
    spatial = input.shape[2:]
    if min(size) <= 0 or min(spatial) <= 0:
        letters = "DHW"[3 - len(size) :]
        given, wanted = (
            ", ".join(f"{letter}: {n}" for letter, n in zip(letters, sizes, strict=True))
            for sizes in (spatial, size)
        )
        conjunction = " and" if len(size) == 1 else ""
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({given}){conjunction}"
            f" output ({wanted})"
        )
    if not input.shape[1]:
        raise RuntimeError(
            f"Non-empty {input.ndim}D data tensor expected but got a tensor with sizes "
            f"{list(input.shape)}"
        )
    kernel = mode.replace("-", "_")
    if input.dtype != np.uint8:
        floats_only(input, f"upsample_{kernel}{len(size)}d_channels_last")
    elif mode in ("trilinear", "linear"):
        floats_only(input, f"upsample_{kernel}")
    elif mode in ("bilinear", "bicubic"):
        return resampled_bytes(input, size, factors, align_corners, mode == "bicubic", antialias)
    x: Any = input
    if dtypes.is_half(x.dtype):  # the gradient of "nearest", too, is a sum
        x = x.astype(np.float32)
    if mode == "bicubic" and not antialias and size == spatial and set(factors) - {None, 1.0}:
        x = two_directions(
            lambda x: _resampled(x, size, factors, mode, align_corners, False, in_pixels),
            lambda x: x,
            x,
        )
    else:
        x = _resampled(x, size, factors, mode, align_corners, antialias, in_pixels)
    return x.astype(input.dtype)


def _resampled(
    x: Any,
    size: Any,
    factors: Any,
    mode: str,
    align_corners: bool,
    antialias: bool,
    in_pixels: bool,
) -> jax.Array:
    """Resample one spatial dimension after the other."""
    for d, (out, factor) in enumerate(zip(size, factors, strict=True)):
        axis = d + 2
        if mode.startswith("nearest"):
            x = _nearest_of_kernels(x, axis, out, factor, mode == "nearest-exact", in_pixels)
        elif antialias:
            x = _widened(x, axis, out, factor, align_corners, mode == "bicubic")
        elif mode == "bicubic":
            x = _cubic(x, axis, out, factor, align_corners)
        else:
            x = _linear(x, axis, out, factor, align_corners)
    return x


def _widened(
    x: Any, axis: int, out: int, factor: float | None, align_corners: bool, cubic: bool
) -> jax.Array:
    """Resample by a filter as wide as the step; a size that is kept is copied, forward alone."""

    def filtered(x: Any) -> jax.Array:
        return _antialiased(x, axis, out, factor, align_corners, cubic)

    if out != x.shape[axis]:
        return filtered(x)
    return two_directions(lambda x: x, filtered, x) if factor and factor != 1 else x


def _mode_error(ndim: int, mode: str) -> NotImplementedError:
    return NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the modes: "
        f"{_MODES} (got {mode})"
    )


def _per_dimension(value: Any, n: int, input: Tensor, name: str) -> list[Any]:
    if isinstance(value, Tensor):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        return [value] * n
    if len(value) != n:
        what, format_of = (
            ("output size of", "(N, C, d1, d2, ...,dK) format and output size in (o1, o2, ...,oK)")
            if name == "size"
            else (
                "scale_factor of shape",
                "(N, C, d1, d2, ...,dK) format and scale_factor in (s1, s2, ...,sK)",
            )
        )
        subject = "output" if name == "size" else "scale_factor"
        raise ValueError(
            f"Input and {subject} must have the same number of spatial dimensions, but got input "
            f"with spatial dimensions of {list(input.shape[2:])} and {what} {tuple(value)}. Please "
            f"provide input tensor in {format_of} format."
        )
    return list(value)


def _length(size: Any) -> int:
    """Return one of the sizes given to ``interpolate`` as an int. TypeError for anything else."""
    try:
        return operator.index(size)
    except TypeError:
        raise TypeError(
            "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, "
            f"int], but got size with types {[type(size)]}"
        ) from None


def _factor(factor: Any) -> float:
    """Return one of the scale factors given to ``interpolate`` as a float."""
    if isinstance(factor, str):
        raise TypeError(
            "argument 'scale_factors' must be tuple of floats, but found element of type str"
        )
    factor = float(factor)
    if not abs(factor) < 2.0**63:
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    return factor


@composite(namespaces=_F, method=False, python_signature=True)
def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: Any = False,
) -> Tensor:
    """Resample the spatial dimensions of (N, C, …) to ``size`` or by ``scale_factor``.

    mode: "nearest", "nearest-exact", "area", or "linear" (3-D), "bilinear", "bicubic" (4-D),
    "trilinear" (5-D). ``align_corners`` lays the centres of the corner pixels on one another;
    ``antialias`` widens the filter when shrinking. Errors in PyTorch's words.

    Example:
      >>> x = torch.arange(4.0).view(1, 1, 2, 2)
      >>> torch.nn.functional.interpolate(x, scale_factor=2).shape
      torch.Size([1, 1, 4, 4])
    """
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | "
                "bilinear | bicubic | trilinear"
            )
    elif align_corners is None:
        align_corners = False
    n = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    factors: list[Any] = [None] * max(n, 0)
    if size is not None:
        if recompute_scale_factor:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        sizes = [_length(s) for s in _per_dimension(size, n, input, "size")]
    elif scale_factor is not None:
        factors = [_factor(f) for f in _per_dimension(scale_factor, n, input, "scale_factor")]
        sizes = [math.floor(s * f) for s, f in zip(tuple(input.shape)[2:], factors, strict=True)]
        check_count(sizes)
        if recompute_scale_factor:
            factors = [None] * n
    else:
        raise ValueError("either size or scale_factor should be defined")
    if antialias and not (mode in ("bilinear", "bicubic") and input.dim() == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires "
            "a 4-D tensor as input"
        )
    if mode not in (*_DIMS_OF, "nearest", "nearest-exact", "area") or n not in (1, 2, 3):
        raise _mode_error(input.dim(), mode)
    if mode in _DIMS_OF and _DIMS_OF[mode] != input.dim():
        if mode == "bicubic":
            raise _mode_error(input.dim(), mode)
        raise NotImplementedError(
            f"Got {input.dim()}D input, but {mode} mode needs {_DIMS_OF[mode]}D input"
        )
    if mode == "area":
        return NAMESPACES["nn.functional"][f"adaptive_avg_pool{n}d"](input, sizes)
    in_pixels = mode.startswith("nearest") and goes_in_pixels(input, sizes)
    return interpolate_op(
        input, sizes, tuple(factors), mode, bool(align_corners), antialias, in_pixels
    )


def _register_upsample(name: str, defaults: dict[str, Any]) -> None:
    def upsample(
        input: Tensor, size: Any = None, scale_factor: Any = None, **options: Any
    ) -> Tensor:
        errors.warn_user(
            f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.",
            UserWarning,
        )
        return interpolate(input, size, scale_factor, **{**defaults, **options})

    upsample.__doc__ = "Call ``interpolate`` under its older name (with PyTorch's warning)."
    composite(name, namespaces=_F, method=False)(upsample)


_register_upsample("upsample", {})
_register_upsample("upsample_nearest", {})
_register_upsample("upsample_bilinear", {"mode": "bilinear", "align_corners": True})


# -- grid_sample -----------------------------------------------------------------------------------


def _reflected(at: Any, low2: int, high2: int) -> jax.Array:
    """Reflect positions between ``low2 / 2`` and ``high2 / 2``."""
    if low2 == high2:
        return jnp.zeros_like(at)
    low, span = low2 / 2, (high2 - low2) / 2
    distance = jnp.abs(at - low)
    extra = jnp.fmod(distance, span)
    odd = jnp.floor(distance / span) % 2 == 1
    return jnp.where(odd, span - extra, extra) + low


def _bounded(at: Any, size: int, padding_mode: str, align_corners: bool) -> jax.Array:
    """Bring positions inside, by the padding mode; the gradient is 0 where clipped."""
    if padding_mode == "reflection":
        at = (
            _reflected(at, 0, 2 * (size - 1)) if align_corners else _reflected(at, -1, 2 * size - 1)
        )
    if padding_mode != "zeros":
        at = jnp.where(at <= 0, 0, jnp.where(at >= size - 1, size - 1, at))
    return at


def _read_at(x: Any, places: list[Any]) -> jax.Array:
    """Return ``x[n, :, *places[n]]`` (N, C, positions), zero outside; places are float, whole."""
    spatial = x.shape[2:]
    inside: Any = True
    flat: Any = 0
    for at, size in zip(places, spatial, strict=True):
        inside = inside & (at >= 0) & (at <= size - 1)
        flat = flat * size + jnp.clip(at, 0, size - 1).astype(np.int32)
    planes = x.reshape(*x.shape[:2], -1)
    values = jnp.take_along_axis(planes, flat[:, None, :], 2)
    return jnp.where(inside[:, None, :], values, 0)


def _sample_linear(x: Any, at: list[Any]) -> jax.Array:
    lows = [lax.stop_gradient(jnp.floor(a)) for a in at]
    total: Any = 0
    for corner in itertools.product((0, 1), repeat=len(at)):
        weight: Any = 1
        for bit, a, low in zip(corner, at, lows, strict=True):
            weight = weight * ((a - low) if bit else (low + 1 - a))
        places = [low + bit for bit, low in zip(corner, lows, strict=True)]
        total = total + _read_at(x, places) * weight[:, None, :]
    return total


def _sample_cubic(x: Any, at: list[Any], bound: Callable[[Any, int], Any]) -> jax.Array:
    lows = [lax.stop_gradient(jnp.floor(a)) for a in at]
    weights = [_cubic_weights(a - low) for a, low in zip(at, lows, strict=True)]
    total: Any = 0
    for taps in itertools.product(range(4), repeat=2):
        weight = weights[0][taps[0]] * weights[1][taps[1]]
        places = [
            jnp.floor(bound(low + tap - 1, size))
            for low, tap, size in zip(lows, taps, x.shape[2:], strict=True)
        ]
        total = total + _read_at(x, places) * weight[:, None, :]
    return total


def _check_grid(x: Any, grid: Any, mode: str) -> None:
    if x.ndim not in (4, 5) or x.ndim != grid.ndim:
        wanted = f"{x.ndim}D" if x.ndim in (4, 5) else "4D or 5D"
        raise RuntimeError(
            f"grid_sampler(): expected {wanted} input and grid with same number of dimensions, but "
            f"got input with sizes {list(x.shape)} and grid with sizes {list(grid.shape)}"
        )
    if x.shape[0] != grid.shape[0]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with "
            f"sizes {list(x.shape)} and grid with sizes {list(grid.shape)}"
        )
    if grid.shape[-1] != x.ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {x.ndim - 2} in last dimension, but got "
            f"grid with sizes {list(grid.shape)}"
        )
    for d in range(2, x.ndim):
        if x.shape[d] == 0:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input "
                f"has sizes {list(x.shape)} with dimension {d} being empty"
            )
    if mode == "bicubic" and x.ndim != 4:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if x.dtype != grid.dtype:
        raise RuntimeError(
            f"grid_sampler(): expected input and grid to have same dtype, but input has "
            f"{scalar_type_of(x)} and grid has {scalar_type_of(grid)}"
        )


@op(
    "grid_sample_op",
    namespaces=(),
    method=False,
    grad_name="GridSampler2DBackward0",
    saved_names={"input": "input"},
    autocast={"cpu": "float32", "cuda": "widest"},
)
def grid_sample_op(input: Input, grid: Input, mode: Str, padding_mode: Str, align_corners: Bool):
    """Read ``input`` at the normalised positions of ``grid``."""
    _check_grid(input, grid, mode)
    floats_only(input, "grid_sampler")
    size = (*input.shape[:2], *grid.shape[1:-1])
    if 0 in size:
        return jnp.zeros(size, input.dtype)
    if input.dtype.itemsize == 2:  # 8 bits cannot say between which pixels a position lies
        wide = (input.astype(np.float32), grid.astype(np.float32))
        found = grid_sample_op.spec.fn(*wide, mode, padding_mode, align_corners)
        return found.astype(input.dtype)
    spatial = input.shape[2:]
    flat = grid.reshape(grid.shape[0], -1, grid.shape[-1])
    at = []
    for d, n in enumerate(spatial):
        g = flat[..., len(spatial) - 1 - d]  # the grid lists x first
        at.append((g + 1) / 2 * (n - 1) if align_corners else ((g + 1) * n - 1) / 2)

    def bound(position: Any, size: int) -> jax.Array:
        return _bounded(position, size, padding_mode, align_corners)

    if mode == "bicubic":
        out = _sample_cubic(input, at, bound)
    else:
        at = [bound(a, n) for a, n in zip(at, spatial, strict=True)]
        if mode == "nearest":
            out = _read_at(input, [jnp.round(lax.stop_gradient(a)) for a in at])
        else:
            out = _sample_linear(input, at)
    return out.reshape(size)


def _corners(align_corners: bool | None) -> bool:
    if align_corners is not None:
        return align_corners
    errors.warn_user(
        "Default grid_sample and affine_grid behavior has changed to align_corners=False since "
        "1.3.0. Please specify align_corners=True if the old behavior is desired. See the "
        "documentation of grid_sample for details.",
        UserWarning,
    )
    return False


@composite(namespaces=_F, method=False, python_signature=True)
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Read (N, C, H, W) at positions (N, H', W', 2) in [-1, 1], x first (also 5-D).

    mode: "bilinear", "nearest" or "bicubic" (4-D only); padding_mode: "zeros", "border" or
    "reflection". ValueError for other modes.
    """
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    align_corners = _corners(align_corners)
    return grid_sample_op(input, grid, mode, padding_mode, align_corners)


@op(
    "affine_grid_op",
    namespaces=(),
    method=False,
    needs="nothing",
    grad_name="AffineGridGeneratorBackward0",
)
def affine_grid_op(theta: Input, size: Ints, align_corners: Bool):
    """Return the positions (N, …, n) to which affine maps (N, n, n + 1) send the unit grid."""
    spatial = size[2:]
    axes = []
    for n in spatial:
        steps = np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
        axes.append(steps if align_corners else steps * (n - 1) / n)
    mesh = np.meshgrid(*axes, indexing="ij")
    base = np.stack([*mesh[::-1], np.ones(spatial)], -1).reshape(-1, len(spatial) + 1)
    if theta.shape[0] != size[0]:
        raise RuntimeError(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"{[size[0], len(spatial) + 1]} but got: {[theta.shape[0], len(spatial) + 1]}."
        )
    grid = jnp.matmul(jnp.asarray(base, theta.dtype), jnp.swapaxes(theta, 1, 2))
    return grid.reshape(theta.shape[0], *spatial, len(spatial))


@composite(namespaces=_F, method=False, python_signature=True)
def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """Return the sampling grid of affine maps ``theta`` (N, 2, 3) or (N, 3, 4) for outputs of
    ``size``."""
    align_corners = _corners(align_corners)
    if not theta.dtype.is_floating_point:
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    shape, size = tuple(theta.shape), tuple(size)
    wanted = {4: (2, 3), 5: (3, 4)}.get(len(size))
    if wanted is None:
        raise NotImplementedError(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {size}."
        )
    if len(shape) != 3 or shape[1:] != wanted:
        raise ValueError(
            f"Expected a batch of {wanted[0]}D affine matrices of shape Nx{wanted[0]}x{wanted[1]} "
            f"for size {size}. Got {theta.shape}."
        )
    if align_corners and min(size[2:]) == 1:
        errors.warn_user(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when "
            "align_corners=True. This is not an intended use case of affine_grid. See the "
            "documentation of affine_grid for details.",
            UserWarning,
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return affine_grid_op(theta, size, align_corners)


@composite(method=False)
def affine_grid_generator(theta: Tensor, size: Any, align_corners: Any) -> Tensor:
    """Call ``nn.functional.affine_grid`` without its checks of ``theta``."""
    return affine_grid_op(theta, tuple(size), bool(align_corners))
