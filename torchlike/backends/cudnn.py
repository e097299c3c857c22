"""``torch.backends.cudnn``: accepted flags without effect."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from torchlike.backends import frozen
from torchlike.cuda import is_available

benchmark = False
deterministic = True  # XLA's own choice, whatever the flag says
enabled = True
allow_tf32 = False
benchmark_limit = 10


def version() -> None:
    """There is no cuDNN of ours to ask."""


def flags(
    enabled: Any = False, benchmark: Any = False, benchmark_limit: int = 10,
    deterministic: Any = False, allow_tf32: Any = True, fp32_precision: str = "none",
    depthwise_kernel: str = "auto",
) -> contextlib.AbstractContextManager[None]:  # fmt: skip
    """A region in which the flags have these values."""
    return frozen.region(globals(), {
        "enabled": enabled, "benchmark": benchmark, "benchmark_limit": benchmark_limit,
        "deterministic": deterministic, "allow_tf32": allow_tf32,
    })  # fmt: skip


__all__ = ["allow_tf32", "benchmark", "benchmark_limit", "deterministic", "enabled", "flags",
           "is_available", "version"]  # fmt: skip

_FLAGS = {"enabled", "benchmark", "deterministic", "allow_tf32"}
sys.modules[__name__].__class__ = frozen.FlagModule
