"""Which library of CUDA or ROCm PyTorch asks for linear algebra: kept where a build of PyTorch
without CUDA keeps it, refused where that refuses it. XLA chooses for itself."""

from __future__ import annotations

import enum
from typing import Any, TypeVar


class _LinalgBackend(enum.Enum):
    Default = 0
    Cusolver = 1
    Magma = 2


class _BlasBackend(enum.Enum):
    Default = 0
    Cublas = 1
    Cublaslt = 2
    Ck = 3


class _ROCmFABackend(enum.Enum):
    Default = 0
    AOTriton = 1
    Ck = 2


_LINALG = {
    "default": _LinalgBackend.Default,
    "cusolver": _LinalgBackend.Cusolver,
    "magma": _LinalgBackend.Magma,
}
_BLAS = {
    "default": _BlasBackend.Default,
    "cublas": _BlasBackend.Cublas,
    "hipblas": _BlasBackend.Cublas,
    "cublaslt": _BlasBackend.Cublaslt,
    "hipblaslt": _BlasBackend.Cublaslt,
    "ck": _BlasBackend.Ck,
}
_ROCM = {
    "default": _ROCmFABackend.Default,
    "aotriton": _ROCmFABackend.AOTriton,
    "ck": _ROCmFABackend.Ck,
}
#: What a build without CUDA has not.
_ABSENT = {
    _LinalgBackend.Cusolver: "cuSOLVER",
    _LinalgBackend.Magma: "MAGMA",
    _BlasBackend.Cublaslt: "cuBLASLt",
    _BlasBackend.Ck: "CK",
}
_rocm = _ROCmFABackend.Default

_E = TypeVar("_E", bound=enum.Enum)


def _chosen(given: Any, names: dict[str, _E]) -> _E:
    if isinstance(given, str):
        if given not in names:
            raise RuntimeError(f"Unknown input value. Choose from: {', '.join(names)}.")
        found = names[given]
    elif isinstance(given, type(names["default"])):
        found = given
    else:
        raise RuntimeError("Unknown input value type.")
    if found in _ABSENT:
        raise RuntimeError(
            f"Cannot set preferred backend to {_ABSENT[found]} if PyTorch has not been compiled "
            f"with {_ABSENT[found]}."
        )
    return found


def preferred_linalg_library(backend: Any = None) -> _LinalgBackend:
    """Return the default, the only one there is: RuntimeError for "cusolver", "magma" and unknown
    ones."""
    if backend is not None:
        _chosen(backend, _LINALG)
    return _LinalgBackend.Default


def preferred_blas_library(backend: Any = None) -> _BlasBackend:
    """Return cublas, PyTorch's answer without CUDA: RuntimeError for "cublaslt", "ck", unknown
    ones."""
    if backend is not None:
        _chosen(backend, _BLAS)
    return _BlasBackend.Cublas


def preferred_rocm_fa_library(backend: Any = None) -> _ROCmFABackend:
    """Keep which attention of ROCm is preferred, without effect, and return it. RuntimeError for
    unknown ones."""
    global _rocm
    if backend is not None:
        _rocm = _chosen(backend, _ROCM)
    return _rocm


def is_ck_sdpa_available() -> bool:
    """Return False."""
    return False
