"""``torch.multiprocessing``: Python's own, and ``spawn``.

Tensors are sent to another process by value: there is no memory shared between processes.

Differs from PyTorch: where ``import torch`` means torchlike (``torchlike run``,
``torchlike.install_alias()``) and Python runs with ``-I``, ``-E`` or ``-S``, processes that start
it anew ("spawn", "forkserver") raise NotImplementedError.
"""

import multiprocessing as _multiprocessing
from multiprocessing import *  # noqa: F403 - its names are this module's

from torchlike.multiprocessing.contexts import Pool, Process, get_context
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

__all__ = [*_multiprocessing.__all__, "ProcessContext", "ProcessExitedException",  # noqa: PLE0604
           "ProcessRaisedException", "SpawnContext", "get_all_sharing_strategies",
           "get_sharing_strategy", "set_sharing_strategy", "spawn", "start_processes"]  # fmt: skip


def get_all_sharing_strategies() -> set[str]:
    """PyTorch's names; none of them is used."""
    return {"file_descriptor", "file_system"}


_strategy = "file_descriptor"


def get_sharing_strategy() -> str:
    """What ``set_sharing_strategy`` set."""
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Accepted, and remembered: tensors are sent by value. AssertionError for an unknown one."""
    global _strategy
    if new_strategy not in get_all_sharing_strategies():
        raise AssertionError(f"unknown sharing strategy: {new_strategy}")
    _strategy = new_strategy
