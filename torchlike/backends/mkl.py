"""``torch.backends.mkl``: XLA brings its own kernels."""

from __future__ import annotations

from typing import Any

VERBOSE_OFF = 0
VERBOSE_ON = 1


def is_available() -> bool:
    """Return False: nothing is computed by MKL."""
    return False


class verbose:
    """A region in which MKL would say what it does: nothing is said."""

    def __init__(self, enable: Any) -> None:
        self.enable = enable

    def __enter__(self) -> verbose:
        return self

    def __exit__(self, *exc: object) -> None:
        return None
