# Made by `python -m tools.generate` from the registry. Do not edit.
from builtins import bool as _bool, bytes as _bytes, complex as _complex, dict as _dict, float as _float, int as _int, list as _list, object as _object, set as _set, str as _str, tuple as _tuple, type as _type
from torchlike._core.devices import device as _device
from torchlike._core.dtypes import dtype as _dtype
from torchlike._core.layouts import layout as _layout, memory_format as _memory_format
from torchlike._core.size import Size as _Size
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from torchlike.random import Generator as Generator
from torchlike.tensor import Tensor as Tensor

Number = _bool | _int | _float | _complex

def fft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: _str | None = None, *, out: Any = None) -> Tensor:
    """Compute the discrete Fourier transform, along ``dim``. ``norm``: "backward", "forward" or "ortho"."""

def fft2(input: Tensor, s: Any = None, dim: Any = ..., norm: _str | None = None, *, out: Any = None) -> Tensor:
    """Compute the discrete Fourier transform, over two dimensions."""

def fftfreq(n: _int, d: _float = 1.0, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False) -> Tensor:
    """Return the frequencies of ``fft`` of size n, spacing d."""

def fftn(input: Tensor, s: Any = None, dim: Any = None, norm: _str | None = None, *, out: Any = None) -> Tensor:
    """Compute the discrete Fourier transform, over several dimensions (all by default)."""

def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Move the zero frequency to the middle."""

def hfft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: _str | None = None, *, out: Any = None) -> Tensor:
    """Compute ``fft`` of a signal that is Hermitian in time, given by its half: real, along ``dim``. ``norm``: "backward", "forward" or "ortho"."""

def hfft2(input: Tensor, s: Any = None, dim: Any = ..., norm: _str | None = None, *, out: Any = None) -> Tensor:
    """Compute ``fft`` of a signal that is Hermitian in time, given by its half: real, over two dimensions."""

def hfftn(input: Tensor, s: Any = None, dim: Any = None, norm: _str | None = None, *, out: Any = None) -> Tensor:
    """Compute ``fft`` of a signal that is Hermitian in time, given by its half: real, over several dimensions (all by default)."""

def ifft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: _str | None = None, *, out: Any = None) -> Tensor:
    """Compute the inverse of ``fft``, along ``dim``. ``norm``: "backward", "forward" or "ortho"."""

def ifft2(input: Tensor, s: Any = None, dim: Any = ..., norm: _str | None = None, *, out: Any = None) -> Tensor:
    """Compute the inverse of ``fft``, over two dimensions."""

def ifftn(input: Tensor, s: Any = None, dim: Any = None, norm: _str | None = None, *, out: Any = None) -> Tensor:
    """Compute the inverse of ``fft``, over several dimensions (all by default)."""

def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Undo ``fftshift``."""

def ihfft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: _str | None = None, *, out: Any = None) -> Tensor:
    """Compute the inverse of ``hfft``, along ``dim``. ``norm``: "backward", "forward" or "ortho"."""

def ihfft2(input: Tensor, s: Any = None, dim: Any = ..., norm: _str | None = None, *, out: Any = None) -> Tensor:
    """Compute the inverse of ``hfft``, over two dimensions."""

def ihfftn(input: Tensor, s: Any = None, dim: Any = None, norm: _str | None = None, *, out: Any = None) -> Tensor:
    """Compute the inverse of ``hfft``, over several dimensions (all by default)."""

def irfft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: _str | None = None, *, out: Any = None) -> Tensor:
    """Compute the inverse of ``rfft``: real, of size ``n`` (2 * (size - 1) by default), along ``dim``. ``norm``: "backward", "forward" or "ortho"."""

def irfft2(input: Tensor, s: Any = None, dim: Any = ..., norm: _str | None = None, *, out: Any = None) -> Tensor:
    """Compute the inverse of ``rfft``: real, of size ``n`` (2 * (size - 1) by default), over two dimensions."""

def irfftn(input: Tensor, s: Any = None, dim: Any = None, norm: _str | None = None, *, out: Any = None) -> Tensor:
    """Compute the inverse of ``rfft``: real, of size ``n`` (2 * (size - 1) by default), over several dimensions (all by default)."""

def rfft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: _str | None = None, *, out: Any = None) -> Tensor:
    """Compute ``fft`` of a real input, without the redundant half, along ``dim``. ``norm``: "backward", "forward" or "ortho"."""

def rfft2(input: Tensor, s: Any = None, dim: Any = ..., norm: _str | None = None, *, out: Any = None) -> Tensor:
    """Compute ``fft`` of a real input, without the redundant half, over two dimensions."""

def rfftfreq(n: _int, d: _float = 1.0, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False) -> Tensor:
    """Return the frequencies of ``rfft`` of size n, spacing d."""

def rfftn(input: Tensor, s: Any = None, dim: Any = None, norm: _str | None = None, *, out: Any = None) -> Tensor:
    """Compute ``fft`` of a real input, without the redundant half, over several dimensions (all by default)."""
