"""Windows and short-time Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core import dtypes, modes
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Bool, Input, Int, OptInput, OptInt
from torchlike._ops.creation.wrap_result import finish, numpy_dtype
from torchlike._ops.memory_order import solution_in_columns
from torchlike._ops.nn.image.padding import pad
from torchlike._ops.shape.views import view_as_real
from torchlike.tensor import Tensor

# -- windows ---------------------------------------------------------------------------------------


def _cosines(length: int, *weights: float) -> np.ndarray:
    """Return a sum of cosines over ``length`` points, signs alternating; its ends are symmetric."""
    angle = 2 * np.pi * np.arange(length) / max(length - 1, 1)
    return sum((-1) ** k * w * np.cos(k * angle) for k, w in enumerate(weights))  # type: ignore


def _window(name: str, shape: Callable[..., np.ndarray], *parameters: tuple[str, float]) -> None:
    def function(
        window_length: int,
        periodic: Any = True,
        *args: Any,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: Any = False,
        requires_grad: Any = False,
        **kwargs: Any,
    ) -> Tensor:
        values = dict(parameters)
        values.update(zip(values, args, strict=False))
        unknown = set(kwargs) - set(values)
        if unknown:
            raise TypeError(f"{name}() got an unexpected keyword argument '{unknown.pop()}'")
        values.update(kwargs)
        if window_length < 0:
            raise RuntimeError(
                f"{name} requires non-negative window_length, got window_length={window_length}"
            )
        kind = numpy_dtype(dtype)
        if dtypes.from_numpy_dtype(kind).category != 2:
            raise RuntimeError(f"{name} expects floating point dtypes, got: {kind}")
        if window_length < 2:
            points = np.ones(window_length)
        else:
            # A periodic window is a symmetric one that is one longer, without its last point.
            points = shape(window_length + bool(periodic), **values)[:window_length]
        return finish(jnp.asarray(points.astype(kind)), device, requires_grad, layout)

    function.__doc__ = (
        f"Return the {name.removesuffix('_window')} window, periodic unless told otherwise."
    )
    composite(name, method=False)(function)


_window("hann_window", lambda n: _cosines(n, 0.5, 0.5))
_window(
    "hamming_window",
    lambda n, alpha, beta: _cosines(n, alpha, beta),
    ("alpha", 0.54),
    ("beta", 0.46),
)
_window("blackman_window", lambda n: _cosines(n, 0.42, 0.5, 0.08))
_window("bartlett_window", np.bartlett)
_window("kaiser_window", lambda n, beta: np.kaiser(n, beta), ("beta", 12.0))


# -- stft ------------------------------------------------------------------------------------------


def _padded_window(window: Any, n_fft: int, dtype: Any) -> jax.Array:
    """Return the window centred in ``n_fft`` points."""
    left = (n_fft - window.shape[0]) // 2
    return jnp.pad(window.astype(dtype), (left, n_fft - window.shape[0] - left))


@op(
    "stft_op",
    memory_order=solution_in_columns,
    namespaces=(),
    method=False,
    grad_name="StftBackward0",
    autocast={"cpu": "float32"},
)
def stft_op(input: Input, window: OptInput, n_fft: Int, hop: Int, normalized: Bool, onesided: Bool):
    """Return the Fourier transforms of windowed frames: (batch, time) to (batch, frequency,
    frame)."""
    count = (input.shape[-1] - n_fft) // hop + 1
    at = np.arange(count)[:, None] * hop + np.arange(n_fft)
    frames = input[:, at]
    if window is not None:
        frames = frames * _padded_window(window, n_fft, frames.dtype)
    norm = "ortho" if normalized else "backward"
    transform = jnp.fft.rfft if onesided else jnp.fft.fft
    return jnp.swapaxes(transform(frames, n_fft, -1, norm), -1, -2)


def _check_stft(x: Tensor, n_fft: int, hop: int, win: int, window: Any, name: str) -> None:
    if hop <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < win <= n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft, but got win_length={win}")
    if window is not None and (window.dim() != 1 or window.shape[0] != win):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={win}, but got "
            f"window with size {list(window.shape)}"
        )


@composite(python_signature=True)
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: Any = True,
    pad_mode: str = "reflect",
    normalized: Any = False,
    onesided: Any = None,
    return_complex: Any = None,
    align_to_window: Any = None,
) -> Tensor:
    """Return the short-time Fourier transform: (time,) or (batch, time) to (…, frequency, frame).

    Without ``center``, ``align_to_window`` begins with the window's first element, and not with the
    zeros that fill it up to ``n_fft``. RuntimeError for it with ``center``, and unless
    ``return_complex`` is given for a real input (False gives real and imaginary parts in a last
    dimension).
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    win = n_fft if win_length is None else win_length
    is_complex = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None:
        if not is_complex:
            raise RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will "
                "further require that return_complex=True in a future PyTorch release."
            )
        return_complex = True
    if input.dim() not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, but got {input.dim()}D")
    _check_stft(input, n_fft, hop, win, window, "stft")
    x = input.unsqueeze(0) if input.dim() == 1 else input
    if center:
        if align_to_window is not None:
            raise RuntimeError("stft align_to_window should only be set when center = false")
        x = pad(x.unsqueeze(0), (n_fft // 2, n_fft // 2), pad_mode).squeeze(0)
    elif align_to_window:
        before = (n_fft - win) // 2
        x = pad(x, (before, n_fft - win - before))
    if n_fft <= 0 or n_fft > x.shape[-1]:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {x.shape[-1]}, but got n_fft={n_fft}")
    if onesided is None:
        onesided = not is_complex
    elif onesided and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    found = stft_op(x, window, n_fft, hop, normalized, onesided)
    found = found.squeeze(0) if input.dim() == 1 else found
    if return_complex:
        return found
    return view_as_real(found).clone()


@op("istft_op", namespaces=(), method=False, grad_name="IstftBackward0")
def istft_op(
    input: Input,
    window: OptInput,
    n_fft: Int,
    hop: Int,
    normalized: Bool,
    onesided: Bool,
    start: Int,
    stop: OptInt,
    keep_complex: Bool,
):
    """Add up overlapping frames and divide by the overlapped squares of the window."""
    norm = "ortho" if normalized else "backward"
    spectra = jnp.swapaxes(input, -1, -2)
    if onesided or not keep_complex:
        # A real signal is wanted: the second half of a two-sided spectrum is not looked at.
        frames = jnp.fft.irfft(spectra[..., : n_fft // 2 + 1], n_fft, -1, norm)
    else:
        frames = jnp.fft.ifft(spectra, n_fft, -1, norm)
    real = frames.real.dtype
    if window is not None and window.dtype.kind == "c":
        real = frames.dtype
    weights = jnp.ones((n_fft,), real) if window is None else _padded_window(window, n_fft, real)
    count = frames.shape[-2]
    total = n_fft + hop * (count - 1)
    at = np.arange(count)[:, None] * hop + np.arange(n_fft)
    signal = jnp.zeros((frames.shape[0], total), frames.dtype).at[:, at].add(frames * weights)
    envelope = jnp.zeros((total,), real).at[at].add(jnp.broadcast_to(weights**2, at.shape))
    end = total if stop is None else stop
    signal, envelope = signal[:, start:end], envelope[start:end]
    signal = signal / jnp.where(jnp.abs(envelope) > 1e-11, envelope, 1)
    missing = max(end - total, 0)
    return jnp.pad(signal, ((0, 0), (0, missing)))


@composite()
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: Any = True,
    normalized: Any = False,
    onesided: Any = None,
    length: int | None = None,
    return_complex: Any = False,
) -> Tensor:
    """Return the inverse of ``stft``: (…, frequency, frame) to (…, time)."""
    hop = n_fft // 4 if hop_length is None else hop_length
    win = n_fft if win_length is None else win_length
    if not input.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True."
        )
    _check_stft(input, n_fft, hop, win, window, "istft")
    x = input.unsqueeze(0) if input.dim() == 2 else input
    bins = x.shape[-2]
    onesided = bins != n_fft if onesided is None else onesided
    expected = n_fft // 2 + 1 if onesided else n_fft
    if bins != expected:
        raise RuntimeError(
            f"istft: expected the frequency dimension (3rd to the last) of the input tensor to "
            f"match n_fft / 2 + 1 = {expected} when onesided={onesided}, but got {bins}"
        )
    if not x.numel():
        raise RuntimeError("istft: input tensor cannot be empty.")
    start = n_fft // 2 if center else 0
    total = n_fft + hop * (x.shape[-1] - 1)
    stop = start + length if length is not None else total - (n_fft // 2 if center else 0)
    if window is not None and not _invertible(window, n_fft, hop, x.shape[-1], start, stop):
        raise RuntimeError("istft: window overlap add min: 1, istft requires a nonzero overlap")
    found = istft_op(x, window, n_fft, hop, normalized, onesided, start, stop, return_complex)
    return found.squeeze(0) if input.dim() == 2 else found


def _invertible(window: Tensor, n_fft: int, hop: int, count: int, start: int, stop: int) -> Any:
    """Return whether every sample is covered by the overlapped window (known outside a capture)."""
    if modes.is_capturing():
        return True
    values = np.asarray(window.detach()._read())
    left = (n_fft - len(values)) // 2
    padded = np.pad(values, (left, n_fft - len(values) - left))
    envelope = np.zeros(n_fft + hop * (count - 1), np.result_type(padded, np.float64))
    for i in range(count):
        envelope[i * hop : i * hop + n_fft] += padded**2
    part = envelope[start : min(stop, len(envelope))]
    return bool(np.isfinite(part.sum())) and (part.size == 0 or np.abs(part).min() > 1e-11)
