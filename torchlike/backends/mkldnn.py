"""``torch.backends.mkldnn``: XLA brings its own kernels, and the flags are kept without effect."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from torchlike.backends import frozen

enabled = False
deterministic = False
allow_tf32 = False


def is_available() -> bool:
    return False


def flags(
    enabled: Any = False,
    deterministic: Any = False,
    allow_tf32: Any = True,
    fp32_precision: str = "none",
) -> contextlib.AbstractContextManager[None]:
    """Have the flags at these values in a ``with`` block."""
    return frozen.region(
        globals(),
        {
            "enabled": enabled,
            "deterministic": deterministic,
            "allow_tf32": allow_tf32,
        },
    )


__all__ = ["allow_tf32", "deterministic", "enabled", "flags", "is_available"]

_FLAGS = {"enabled", "deterministic", "allow_tf32"}
sys.modules[__name__].__class__ = frozen.FlagModule
