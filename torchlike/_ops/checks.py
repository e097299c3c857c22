"""Checks that many op families share, in PyTorch's words."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from torchlike._core import dtypes


def scalar_type_of(x: Any) -> str:
    """Return PyTorch's internal name of an array's dtype ("Float", "Long")."""
    return dtypes.scalar_type(x.dtype)


def floats_only(x: Any, kernel: str) -> None:
    """Refuse, with NotImplementedError naming PyTorch's kernel, an ``x`` that is not real floating
    point."""
    if x.dtype not in dtypes.DIFFERENTIABLE or x.dtype.kind == "c":
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_type_of(x)}'")


def per_dimension(value: Any, n: int, message: str) -> tuple[int, ...]:
    """Return one int for each of n dimensions, from one for all or a list of n. RuntimeError
    otherwise."""
    if isinstance(value, int):
        return (value,) * n
    if len(value) not in (1, n):
        raise RuntimeError(message)
    return tuple(value) * (n if len(value) == 1 else 1)


def real_only(words: str, error: type[Exception] = NotImplementedError) -> Callable[..., Any]:
    """Decorate a pure function that has no meaning for complex numbers.

    ``words``: the message of the error, or the kernel's name that PyTorch's message gives.
    """

    def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fn)
        def checked(*args: Any, **named: Any) -> Any:
            for x in (*args, *named.values()):
                if getattr(getattr(x, "dtype", None), "kind", "") == "c":
                    kernel = f"\"{words}\" not implemented for '{scalar_type_of(x)}'"
                    raise error(words if " " in words else kernel)
            return fn(*args, **named)

        return checked

    return decorate


def integers_only(kernel: str) -> Callable[..., Any]:
    """Decorate a function of arrays that is for integers: NotImplementedError naming PyTorch's
    kernel for others."""

    def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fn)
        def checked(*arrays: Any) -> jax.Array:
            if arrays[0].dtype.kind not in "iu":
                raise NotImplementedError(
                    f"\"{kernel}\" not implemented for '{scalar_type_of(arrays[0])}'"
                )
            return fn(*arrays)

        return checked

    return decorate


def numbers_only(x: Any, kernel: str) -> None:
    """Refuse, with NotImplementedError naming PyTorch's kernel, bools and complex numbers."""
    if x.dtype.kind in "bc":
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_type_of(x)}'")


def check_mask(mask: Any, name: str) -> None:
    """Refuse a mask that is not bool with a RuntimeError in PyTorch's words."""
    if mask.dtype != np.bool_:
        raise RuntimeError(
            f"{name} only supports boolean masks, but got mask with dtype "
            f"{dtypes.c_name(mask.dtype)}"
        )
