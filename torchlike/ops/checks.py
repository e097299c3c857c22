"""Checks that many op families share, in PyTorch's words."""

from __future__ import annotations

from typing import Any

from torchlike import dtypes


def scalar_type_of(x: Any) -> str:
    """PyTorch's internal name of an array's dtype ("Float", "Long")."""
    return dtypes.scalar_type(dtypes.from_numpy_dtype(x.dtype))


def floats_only(x: Any, kernel: str) -> None:
    """NotImplementedError naming PyTorch's kernel unless ``x`` is real floating point."""
    if x.dtype not in dtypes.DIFFERENTIABLE or x.dtype.kind == "c":
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_type_of(x)}'")


def numbers_only(x: Any, kernel: str) -> None:
    """NotImplementedError naming PyTorch's kernel for bools and complex numbers."""
    if x.dtype.kind in "bc":
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_type_of(x)}'")
