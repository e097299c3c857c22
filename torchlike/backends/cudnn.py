"""``torch.backends.cudnn``: accepted flags without effect."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from torchlike.cuda import is_available

benchmark = False
deterministic = True  # XLA's own choice, whatever the flag says
enabled = True
allow_tf32 = False
benchmark_limit = 10


def version() -> None:
    """There is no cuDNN of ours to ask."""


@contextlib.contextmanager
def flags(
    enabled: Any = False, benchmark: Any = False, benchmark_limit: int = 10,
    deterministic: Any = False, allow_tf32: Any = True, fp32_precision: str = "none",
    depthwise_kernel: str = "auto",
) -> Iterator[None]:  # fmt: skip
    """A region in which the flags have these values."""
    given = {"enabled": enabled, "benchmark": benchmark, "benchmark_limit": benchmark_limit,
             "deterministic": deterministic, "allow_tf32": allow_tf32}  # fmt: skip
    before = {name: globals()[name] for name in given}
    globals().update(given)
    try:
        yield
    finally:
        globals().update(before)


__all__ = ["allow_tf32", "benchmark", "benchmark_limit", "deterministic", "enabled", "flags",
           "is_available", "version"]  # fmt: skip
