"""``torch.multiprocessing``: Python's own, and ``spawn``.

Imports `_runtime`, the heart and `_extensions`. Begin with ``reductions.py`` (how a tensor travels)
and ``spawn.py``.

A tensor that is sent to another process, as an argument or by a queue or pipe, shares its memory
with the sender: each sees the other's writes (``Tensor.share_memory_``). Its gradient does not go
along.

Differs from PyTorch: "fork" starts Python anew once this process has computed. Where ``import
torch`` means torchlike (``torchlike run``, ``torchlike.install_alias()``) and Python runs with
``-I``, ``-E`` or ``-S``, processes that start it anew raise NotImplementedError.
"""

import multiprocessing as _multiprocessing
from multiprocessing import *  # noqa: F403 - its names are this module's

from torchlike.multiprocessing import reductions
from torchlike.multiprocessing.contexts import Pool, Process, get_context, of_the_present_context
from torchlike.multiprocessing.reductions import init_reductions
from torchlike.multiprocessing.spawn import (
    ENV_VAR_PARALLEL_START,
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

for _name in (
    "Array",
    "Barrier",
    "BoundedSemaphore",
    "Condition",
    "Event",
    "JoinableQueue",
    "Lock",
    "Manager",
    "Queue",
    "RLock",
    "Semaphore",
    "SimpleQueue",
    "Value",
):
    globals()[_name] = of_the_present_context(_name)

init_reductions()

__all__ = [  # noqa: PLE0604
    *_multiprocessing.__all__,
    "ProcessContext",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "init_reductions",
    "reductions",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]


def get_all_sharing_strategies() -> set[str]:
    """Return PyTorch's names of the strategies, which mean the same here: blocks without a name,
    sent as descriptors."""
    return {"file_descriptor", "file_system"}


_strategy = "file_descriptor"


def get_sharing_strategy() -> str:
    """Return the strategy that ``set_sharing_strategy`` set."""
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Remember a strategy, which changes nothing. AssertionError for an unknown one."""
    global _strategy
    if new_strategy not in get_all_sharing_strategies():
        raise AssertionError(f"unknown sharing strategy: {new_strategy}")
    _strategy = new_strategy
