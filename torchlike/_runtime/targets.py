"""For what a program is being traced: one place that lowerings ask.

Lowerings that work around XLA's CPU backend (sums of shifted images, conditionals against fusion)
belong in programs for it and in no other. NumPy, which evaluates the first calls of a form, gets
the plain formulation, and so do accelerators.
"""

from __future__ import annotations

import threading

import jax


class _Target(threading.local):
    is_numpy = False


_current = _Target()


class numpy:
    """``with numpy():`` what is traced inside is evaluated by NumPy."""

    def __enter__(self) -> None:
        self._previous = _current.is_numpy
        _current.is_numpy = True

    def __exit__(self, *exc: object) -> None:
        _current.is_numpy = self._previous


def is_numpy() -> bool:
    """Whether what is being traced is evaluated by NumPy."""
    return _current.is_numpy


def is_xla_cpu() -> bool:
    """Whether what is being traced is compiled by XLA for the CPU."""
    return not _current.is_numpy and jax.default_backend() == "cpu"
