"""For which platform a program is traced: the one place that lowerings ask.

Lowerings that work around XLA's CPU backend (sums of shifted images, conditionals against fusion)
belong in programs for it and in no other. NumPy, which evaluates the first calls of a form, gets
the plain formulation, and so do accelerators.

A program is for the platform that JAX runs on, unless a region says otherwise::

    with targets.platform("tpu"):
        lowered = jax.jit(step).trace(*avals).lower(lowering_platforms=("tpu",))

`PORTABLE` is the target of a program that several platforms share: it has no workaround at all.
Within a region, JAX's caches of traced and compiled functions are for this target alone. Products
of float32 in programs for an accelerator get the bits that the user's switches ask for
(`float32`), operation by operation; the CPU always uses all of them, so programs for it say
nothing and are the same whatever the switches say.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import jax

from torchlike._runtime import platforms

#: The target of a program for several platforms at once.
PORTABLE = "portable"
#: JAX's names of platforms, by what users and JAX's parts call them.
_NAMES = {
    "cpu": "cpu",
    "tpu": "tpu",
    "gpu": "gpu",
    "cuda": "gpu",
    "rocm": "gpu",
    PORTABLE: PORTABLE,
}


class _Target(threading.local):
    is_numpy = False
    platform: str | None = None
    partitions: int | None = None


_current = _Target()
#: What JAX's caches are asked with besides shapes: the target and the precisions, where they are
#: not those of a process on the CPU.
_in_cache_keys = jax.make_user_context(None)


class numpy:
    """``with numpy():`` what is traced inside is evaluated by NumPy."""

    def __enter__(self) -> None:
        self._previous = _current.is_numpy
        _current.is_numpy = True

    def __exit__(self, *exc: object) -> None:
        _current.is_numpy = self._previous


class platform:
    """``with platform("tpu"):`` what is traced inside is compiled for that platform.

    ``partitions`` says over how many devices XLA will partition it; what is not said is what this
    process has. ValueError for a platform other than "cpu", "gpu" (also "cuda", "rocm"), "tpu" and
    `PORTABLE`.
    """

    def __init__(self, name: str, partitions: int | None = None) -> None:
        if name not in _NAMES:
            raise ValueError(f"unknown platform {name!r}: one of {', '.join(map(repr, _NAMES))}")
        self._name, self._partitions = _NAMES[name], partitions

    def __enter__(self) -> None:
        self._previous = _current.platform, _current.partitions
        _current.platform, _current.partitions = self._name, self._partitions
        self._keys = _in_cache_keys((self._name, self._partitions, *float32.key()))
        self._keys.__enter__()

    def __exit__(self, *exc: object) -> None:
        self._keys.__exit__(*exc)
        _current.platform, _current.partitions = self._previous


def name() -> str:
    """Return the platform that what is being traced is for: "cpu", "gpu", "tpu" or `PORTABLE`."""
    return _current.platform or jax.default_backend()


def partitions() -> int:
    """Return the number of devices over which XLA may partition what is being traced."""
    return _current.partitions or jax.device_count()


def is_numpy() -> bool:
    """Return whether what is being traced is evaluated by NumPy."""
    return _current.is_numpy


def is_cpu() -> bool:
    """Return whether what is being traced runs on the CPU, by XLA or by NumPy."""
    return name() == "cpu"


def is_xla_cpu() -> bool:
    """Return whether what is being traced is compiled by XLA for the CPU."""
    return not _current.is_numpy and is_cpu()


def is_accelerator() -> bool:
    """Return whether what is being traced is compiled by XLA for a GPU or a TPU, and for nothing
    else."""
    return not _current.is_numpy and name() in ("gpu", "tpu")


def runs_on_cpu() -> bool:
    """Return whether the programs that this process runs by itself are for the CPU, whatever is
    being traced."""
    return jax.default_backend() == "cpu"


# -- precision of float32 --------------------------------------------------------------------------

#: PyTorch's names -> JAX's, from most to fewest bits.
PRECISIONS = {"highest": "highest", "high": "high", "medium": "default"}


class Float32:
    """How many bits products of float32 keep on accelerators, in PyTorch's words.

    Attributes:
      products: "highest" (all of them: PyTorch's default), "high" (TF32 or three bfloat16) or
        "medium" (the device's fastest).
      convolutions: the same; "high" at first, because PyTorch allows cuDNN TF32 by default.
    """

    def __init__(self) -> None:
        self.products = "highest"
        self.convolutions = "high"

    def key(self) -> tuple[str, str]:
        return self.products, self.convolutions

    def set(self, **precisions: str) -> None:
        """Set attributes, for programs that are traced from now on."""
        before = self.key()
        for kind, precision in precisions.items():
            setattr(self, kind, precision)
        if self.key() != before and not platforms.only_cpu():
            # Compiled for other precisions, an accelerator's programs are others.
            _in_cache_keys.set_global(None if runs_on_cpu() else self.key())


float32 = Float32()


def _says_precision() -> bool:
    return not _current.is_numpy and not is_cpu()


def precise(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate ``function``, which JAX traces, with the precision that PyTorch's switches ask for
    in each of its products, in programs for accelerators."""

    @functools.wraps(function)
    def traced(*args: Any) -> object:
        if not _says_precision():
            return function(*args)
        with _precision(float32.products):
            return function(*args)

    return traced


def convolving(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate ``function`` with the precision of convolutions in its products."""

    @functools.wraps(function)
    def traced(*args: Any, **kwargs: Any) -> object:
        if not _says_precision():
            return function(*args, **kwargs)
        with _precision(float32.convolutions):
            return function(*args, **kwargs)

    return traced


def _precision(said: str) -> AbstractContextManager[Any]:
    return jax.default_matmul_precision(PRECISIONS[said])
