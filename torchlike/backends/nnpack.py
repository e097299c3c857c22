"""``torch.backends.nnpack``: XLA brings its own kernels, and the flag is kept without effect."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

__all__ = ["flags", "is_available", "set_flags"]

_enabled = True


def is_available() -> bool:
    """Return False: nothing is computed by NNPACK."""
    return False


def set_flags(_enabled: Any) -> tuple[bool]:
    """Keep whether NNPACK may be used; gives what was said before, in a tuple."""
    variables = globals()
    before = (variables["_enabled"],)
    variables["_enabled"] = bool(_enabled)
    return before


@contextlib.contextmanager
def flags(enabled: Any = False) -> Iterator[None]:
    """Have the flag at this value in a ``with`` block."""
    (before,) = set_flags(enabled)
    try:
        yield
    finally:
        set_flags(before)
