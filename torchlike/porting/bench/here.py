"""``torchlike.bench``: functions that are at hand, timed in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike.porting.bench.on_torchlike import rows as rows_of
from torchlike.porting.bench.report import BenchReport
from torchlike.porting.bench.turns import measure
from torchlike.porting.bench.workbench import LocalWorkbench


def bench(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    jax: Callable[..., Any] | None,
    gradients: bool,
    rounds: int,
) -> BenchReport:
    """Time a function's rows."""
    workbench = LocalWorkbench(lambda sizes: rows_of(fn, args, jax, gradients))
    title = getattr(fn, "__qualname__", type(fn).__qualname__)
    return BenchReport(title, *measure([workbench], rounds=rounds))
