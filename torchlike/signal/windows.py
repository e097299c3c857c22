"""``torch.signal.windows``: windows for spectral analysis, symmetric or periodic.

All are computed in float64 on the host and rounded once. Formulas: F. J. Harris, "On the Use of
Windows for Harmonic Analysis with the Discrete Fourier Transform", 1978; A. H. Nuttall, "Some
Windows with Very Good Sidelobe Behavior", 1981; J. F. Kaiser & R. W. Schafer, 1980.

Every function takes the number of points ``M`` and, by keyword, ``sym`` (True: symmetric, for
filters; False: periodic, for spectra), ``dtype``, ``layout``, ``device`` and ``requires_grad``.
ValueError for a negative M, a dtype other than float32 and float64, and parameters out of range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from torchlike._core import dtypes
from torchlike._core.layouts import strided
from torchlike._core.storage import device_array
from torchlike._ops.creation.wrap_result import finish
from torchlike.tensor import Tensor

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def _window(
    name: str,
    M: int,
    values: Callable[[np.ndarray, float], np.ndarray],
    *,
    sym: Any = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: Any = False,
) -> Tensor:
    """Return ``values(index, period)``: the window at 0 … M - 1, where ``period`` is M - 1 or M."""
    kind = dtypes.get_default_dtype() if dtype is None else dtype
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout not in (None, strided):
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if kind not in (dtypes.float32, dtypes.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {kind}")
    if M == 1:
        points = np.ones(1)
    else:
        points = values(np.arange(M, dtype=np.float64), float(M - 1 if sym else M))
    return finish(device_array(points.astype(kind.numpy)), device, requires_grad, layout)


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, **options: Any
) -> Tensor:
    """Return ``exp(-|n - center| / tau)``; the center is the middle unless given (periodic
    only)."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    return _window(
        "exponential",
        M,
        lambda n, period: np.exp(-np.abs(n - (period / 2 if center is None else center)) / tau),
        sym=sym,
        **options,
    )


def cosine(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Return ``sin(pi (n + 1/2) / M)``: half a period of a sine."""
    return _window(
        "cosine", M, lambda n, period: np.sin(np.pi * (n + 0.5) / (period + 1)), sym=sym, **options
    )


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **options: Any) -> Tensor:
    """Return ``exp(-((n - middle) / std) ** 2 / 2)``."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return _window(
        "gaussian",
        M,
        lambda n, period: np.exp(-(((n - period / 2) / std) ** 2) / 2),
        sym=sym,
        **options,
    )


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **options: Any) -> Tensor:
    """Return ``I0(beta sqrt(1 - ((n - middle) / middle) ** 2)) / I0(beta)``."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def values(n: np.ndarray, period: float) -> np.ndarray:
        at = 2 * n / period - 1
        return np.i0(beta * np.sqrt(np.maximum(1 - at * at, 0))) / np.i0(beta)

    return _window("kaiser", M, values, sym=sym, **options)


def bartlett(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Return a triangle with 0 at its ends."""
    return _window(
        "bartlett", M, lambda n, period: 1 - np.abs(2 * n / period - 1), sym=sym, **options
    )


def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, **options: Any) -> Tensor:
    """Return ``sum over k of (-1) ** k a[k] cos(2 pi k n / (M - 1))``."""
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    weights = [float(w) for w in a]
    if not weights:
        raise ValueError("Coefficients cannot be empty")

    def values(n: np.ndarray, period: float) -> np.ndarray:
        terms = [(-1) ** k * w * np.cos(2 * np.pi * k * n / period) for k, w in enumerate(weights)]
        return np.sum(terms, 0)

    return _window("general_cosine", M, values, sym=sym, **options)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Any) -> Tensor:
    """Return ``alpha - (1 - alpha) cos(2 pi n / (M - 1))``."""
    return general_cosine(M, a=[alpha, 1 - alpha], sym=sym, **options)


def hamming(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Return ``general_hamming`` with alpha 0.54."""
    return general_hamming(M, sym=sym, **options)


def hann(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Return ``general_hamming`` with alpha 0.5: the raised cosine."""
    return general_hamming(M, alpha=0.5, sym=sym, **options)


def blackman(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Return ``general_cosine`` with coefficients 0.42, 0.5, 0.08."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **options)


def nuttall(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Return ``general_cosine`` with the four coefficients of Nuttall's minimum sidelobe window."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, **options)
