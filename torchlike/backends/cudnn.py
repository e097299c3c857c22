"""``torch.backends.cudnn``: ``allow_tf32`` says how many bits convolutions of float32 keep on
accelerators; the other flags are accepted, without effect."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from torchlike._compat.settings import (
    get_float32_convolution_precision,
    set_float32_convolution_precision,
)
from torchlike.backends import frozen
from torchlike.cuda import is_available

benchmark = False
deterministic = True  # XLA's own choice, whatever the flag says
enabled = True
allow_tf32 = True
benchmark_limit = 10


def version() -> None:
    """Return None: there is no cuDNN of ours to ask."""


def flags(
    enabled: Any = False,
    benchmark: Any = False,
    benchmark_limit: int = 10,
    deterministic: Any = False,
    allow_tf32: Any = True,
    fp32_precision: str = "none",
    depthwise_kernel: str = "auto",
) -> contextlib.AbstractContextManager[None]:
    """Have the flags at these values in a ``with`` block."""
    return frozen.region(
        globals(),
        {
            "enabled": enabled,
            "benchmark": benchmark,
            "benchmark_limit": benchmark_limit,
            "deterministic": deterministic,
            "allow_tf32": allow_tf32,
        },
    )


def _on_set(name: str, value: Any) -> None:
    if name == "allow_tf32":
        set_float32_convolution_precision("high" if value else "highest")


class _Convolutions:
    """``torch.backends.cudnn.conv``, whose ``fp32_precision`` is ``allow_tf32`` in other words."""

    @property
    def fp32_precision(self) -> str:
        return "ieee" if get_float32_convolution_precision() == "highest" else "tf32"

    @fp32_precision.setter
    def fp32_precision(self, value: str) -> None:
        if value not in ("none", "ieee", "tf32"):
            raise RuntimeError(f"Unknown precision: {value}")
        sys.modules[__name__].allow_tf32 = value == "tf32"  # pyright: ignore[reportAttributeAccessIssue]


conv = _Convolutions()

__all__ = [
    "allow_tf32",
    "benchmark",
    "benchmark_limit",
    "conv",
    "deterministic",
    "enabled",
    "flags",
    "is_available",
    "version",
]

_FLAGS = {"enabled", "benchmark", "deterministic", "allow_tf32"}
sys.modules[__name__].__class__ = frozen.FlagModule
