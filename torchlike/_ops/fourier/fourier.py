"""Discrete Fourier transforms: the namespace ``torch.fft``."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core import dtypes, errors
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Input, Int, OptInt, OptStr, Static, Str, require_tensor
from torchlike._ops.checks import scalar_type_of
from torchlike._ops.creation.wrap_result import finish, numpy_dtype
from torchlike._ops.fourier.fourier_order import of_transform, of_transforms
from torchlike._ops.outputs import write_out
from torchlike._ops.shape.shaping import roll
from torchlike._ops.shape.views import shape_arguments
from torchlike._runtime.reference import error_of
from torchlike.tensor import Tensor

#: name -> (the function on one axis, what its input must be, whether n is the size of the result)
_TRANSFORMS = {
    "fft": (jnp.fft.fft, "any", False),
    "ifft": (jnp.fft.ifft, "any", False),
    "rfft": (jnp.fft.rfft, "real", False),
    "irfft": (jnp.fft.irfft, "complex", True),
    "hfft": (jnp.fft.hfft, "complex", True),
    "ihfft": (jnp.fft.ihfft, "real", False),
}
#: The n-dimensional forms: the transform of the last axis, that of the others, which comes first.
_FAMILIES = {
    "fft": ("fft", "fft"),
    "ifft": ("ifft", "ifft"),
    "rfft": ("rfft", "fft"),
    "irfft": ("irfft", "ifft"),
    "hfft": ("hfft", "fft"),
    "ihfft": ("ihfft", "ifft"),
}
_NORMS = (None, "backward", "forward", "ortho")


def _prepared(x: Any, takes: str, name: str) -> jax.Array:
    """Return the input in a dtype that XLA can transform: float32/64 or complex64/128."""
    if x.dtype.itemsize == 2 and x.dtype.kind not in "iu":
        raise error_of(NotImplementedError)(f"Unsupported dtype {scalar_type_of(x)}")
    if x.dtype.kind in "iub":
        x = x.astype(dtypes.get_default_dtype().numpy)
    if takes == "real":
        if x.dtype.kind == "c":
            raise error_of(TypeError)(
                f"{name} expects a real input tensor, but got {scalar_type_of(x)}"
            )
        return x
    if takes == "complex" or x.dtype.kind != "c":
        return x.astype(dtypes.from_numpy_dtype(x.dtype).to_complex().numpy)
    return x


def _one_axis(name: str, x: Any, n: int | None, axis: int, norm: str | None) -> jax.Array:
    fn, takes, sized = _TRANSFORMS[name]
    size = x.shape[axis] if n is None else n
    if sized and n is None:
        size = 2 * (x.shape[axis] - 1)
    if size < 1:
        raise RuntimeError(f"Invalid number of data points ({size}) specified")
    return fn(_prepared(x, takes, name), size, axis, norm or "backward")


def _check_norm(norm: str | None) -> None:
    if norm not in _NORMS:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')


@op(
    "fft_op",
    memory_order=of_transform,
    casts_out="kind",
    namespaces=(),
    method=False,
    needs="nothing",
    grad_name="FftC2CBackward0",
    autocast={"cpu": "float32"},
)
def fft_op(input: Input, kind: Str, n: OptInt, dim: Int, norm: OptStr):
    """Compute one transform along one axis."""
    _check_norm(norm)
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return _one_axis(kind, input, n, errors.wrap_dim(dim, input.ndim), norm)


@op(
    "fftn_op",
    memory_order=of_transforms,
    casts_out="kind",
    namespaces=(),
    method=False,
    needs="nothing",
    grad_name="FftC2CBackward0",
    autocast={"cpu": "float32"},
)
def fftn_op(input: Input, kind: Str, sizes: Static, dims: Static, norm: OptStr):
    """Transform along several axes; -1 in ``sizes`` keeps a size."""
    _check_norm(norm)
    axes, sizes = _axes_and_sizes(input, sizes, dims)
    if not axes and kind not in ("fft", "ifft"):
        raise RuntimeError(f"{kind}n must transform at least one axis")
    if not axes:
        return _prepared(input, _TRANSFORMS[kind][1], kind)
    if _TRANSFORMS[kind][1] == "real" and input.dtype.kind == "c":
        raise error_of(TypeError)(
            f"{kind}n expects a real-valued input tensor, but got {scalar_type_of(input)}"
        )
    last, others = _FAMILIES[kind]
    # Real to complex halves the last axis first; complex to real restores it at the end.
    halves_first = _TRANSFORMS[last][1] == "real"
    order = list(range(len(axes) - 1))
    order = [len(axes) - 1, *order] if halves_first else [*order, len(axes) - 1]
    x = input
    for i in order:
        name = last if i == len(axes) - 1 else others
        x = _one_axis(name, x, sizes[i], axes[i], norm)
    return x


def _axes_and_sizes(x: Any, sizes: Any, dims: Any) -> tuple[list[int], list[int | None]]:
    if dims is None:
        count = x.ndim if sizes is None else len(sizes)
        if count > x.ndim:
            raise RuntimeError(
                f"Got shape with {count} values but input tensor only has {x.ndim} dimensions."
            )
        axes = list(range(x.ndim - count, x.ndim))
    else:
        axes = [errors.wrap_dim(d, x.ndim) for d in dims]
        if len(set(axes)) != len(axes):
            raise RuntimeError("FFT dims must be unique")
    if sizes is None:
        return axes, [None] * len(axes)
    if len(sizes) != len(axes):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    return axes, [None if n == -1 else n for n in sizes]


#: In the lower dtypes there are no transforms on the CPU.
_CAST = {"cpu": "float32"}


def _register(kind: str) -> None:
    says = {
        "fft": "Compute the discrete Fourier transform",
        "ifft": "Compute the inverse of ``fft``",
        "rfft": "Compute ``fft`` of a real input, without the redundant half",
        "irfft": "Compute the inverse of ``rfft``: real, of size ``n`` (2 * (size - 1) by default)",
        "hfft": "Compute ``fft`` of a signal that is Hermitian in time, given by its half: real",
        "ihfft": "Compute the inverse of ``hfft``",
    }[kind]

    def one(
        input: Tensor,
        n: int | None = None,
        dim: int = -1,
        norm: str | None = None,
        *,
        out: Any = None,
    ) -> Tensor:
        return fft_op(input, kind, n, dim, norm, out=out)

    def two(
        input: Tensor,
        s: Any = None,
        dim: Any = (-2, -1),
        norm: str | None = None,
        *,
        out: Any = None,
    ) -> Tensor:
        return many(input, s, dim, norm, out=out)

    def many(
        input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None
    ) -> Tensor:
        sizes = None if s is None else shape_arguments((s,))
        dims = None if dim is None else shape_arguments((dim,))
        return fftn_op(input, kind, sizes, dims, norm, out=out)

    one.__doc__ = f'{says}, along ``dim``. ``norm``: "backward", "forward" or "ortho".'
    two.__doc__ = f"{says}, over two dimensions."
    many.__doc__ = f"{says}, over several dimensions (all by default)."
    composite(kind, namespaces=("fft",), method=False, autocast=_CAST)(one)
    several = None if kind in ("hfft", "ihfft") else _CAST
    composite(f"{kind}2", namespaces=("fft",), method=False, autocast=several)(two)
    composite(f"{kind}n", namespaces=("fft",), method=False, autocast=several)(many)


for _kind in _TRANSFORMS:
    _register(_kind)


def _frequencies(name: str, fn: Any) -> None:
    def function(
        n: int,
        d: float = 1.0,
        *,
        out: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: Any = False,
    ) -> Tensor:
        if n < 0:
            size = n if name == "fftfreq" else n // 2 + 1
            raise RuntimeError(f"Trying to create tensor with negative dimension {size}: [{size}]")
        kind = numpy_dtype(dtype)
        if dtypes.kind_of(kind) not in "fc":
            raise RuntimeError(f"{name} requires a floating point or complex dtype")
        with np.errstate(divide="ignore", invalid="ignore"):  # a spacing of 0
            # Of no samples: no frequencies, or the one of 0 / 0.
            values = fn(n, np.float64(d)) if n else np.full(int(name == "rfftfreq"), np.nan)
        values = values.astype(kind)
        made = finish(jnp.asarray(values), device, requires_grad, layout)
        return write_out(out, made)

    function.__doc__ = (
        f"Return the frequencies of ``{name.removesuffix('freq')}`` of size n, spacing d."
    )
    composite(name, namespaces=("fft",), method=False)(function)


_frequencies("fftfreq", np.fft.fftfreq)
_frequencies("rfftfreq", np.fft.rfftfreq)


def _shift(name: str, offset: Any) -> None:
    def function(input: Tensor, dim: Any = None) -> Tensor:
        require_tensor(input, f"fft_{name}")
        dims = tuple(range(input.dim())) if dim is None else shape_arguments((dim,))
        shifts = tuple(offset(input.shape[errors.wrap_dim(d, input.dim())]) for d in dims)
        return roll(input, shifts, dims) if dims else input.clone()

    function.__doc__ = (
        "Move the zero frequency to the middle." if name == "fftshift" else "Undo ``fftshift``."
    )
    composite(name, namespaces=("fft",), method=False)(function)


_shift("fftshift", lambda n: n // 2)
_shift("ifftshift", lambda n: (n + 1) // 2)
