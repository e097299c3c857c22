"""``torchlike bench``: one function, eager, deferred, compiled, by hand in JAX and with PyTorch.

Imports the rest of `porting` alone: the digests of `divergence`, the counts of `plan`, the charts
of reports. Begin with ``turns.py``, which times rows by turns; rows are candidates (``timing.py``)
on a workbench (``workbench.py``), here or in another process: ``on_torchlike.py``,
``on_torch.py``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchlike.porting.bench.report import BenchReport


def bench(
    fn: Callable[..., Any],
    *args: Any,
    jax: Callable[..., Any] | None = None,
    gradients: bool = True,
    rounds: int = 7,
) -> BenchReport:
    """Time a function eager, deferred and compiled, by turns.

    Each row has its turn in each round, so that what else the machine does meets all of them. First
    calls, which compile, are apart. A call with gradients computes those of a weighted sum of all
    results, by the arguments and, of a module, by its parameters. Results are compared with the
    eager ones.

    Args:
      fn: a function or module that changes nothing.
      args: the arguments of a call; tensors of floating point get gradients.
      jax: the same computation in JAX, of arrays; it is compiled by ``jax.jit``.
      gradients: whether calls with gradients are timed, too.
      rounds: how many times each row is timed, for 20 ms or one call.

    Returns:
      a report: it prints as a table, ``rows`` has the times in seconds, and ``as_json``,
      ``write_html`` and ``write_plot`` give the rest. The command ``torchlike bench`` has
      PyTorch's rows as well, where that is installed.

    Raises:
      TypeError: ``fn`` cannot be called.
      ValueError: ``rounds`` is below 1.

    Example:
      >>> report = torchlike.bench(torch.sin, torch.ones(4), gradients=False, rounds=1)
      >>> [row.row for row in report.rows]
      ['eager', 'deferred', 'compiled']
    """
    if not callable(fn):
        raise TypeError(f"bench expects a function or module, not {type(fn).__name__}")
    if rounds < 1:
        raise ValueError(f"rounds must be 1 or more, not {rounds}")
    room = importlib.import_module("torchlike.porting.bench.here")
    return room.bench(fn, args, jax, gradients, rounds)


__all__ = ["bench"]
