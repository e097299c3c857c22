"""``torch.__config__``: what the numbers are computed with."""

from __future__ import annotations

from importlib.metadata import version

import jax

from torchlike._compat import settings

__all__ = ["parallel_info", "show"]


def show() -> str:
    """Return the versions of JAX and XLA's library, and the backend."""
    return (
        f"torchlike computes with:\n  - JAX {jax.__version__}\n  - jaxlib {version('jaxlib')}\n"
        f"  - backend: {jax.default_backend()}\n"
    )


def parallel_info() -> str:
    """Return the numbers of threads that the settings ask for, as text."""
    return (
        f"Parallel:\n\tget_num_threads() : {settings.get_num_threads()}\n"
        f"\tget_num_interop_threads() : {settings.get_num_interop_threads()}\n"
    )
