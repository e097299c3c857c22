"""Processes, pools and contexts: the standard library's, which start no stranger to torchlike.

A context starts every process, those of its pools and executors among them, by its ``Process``.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.context as standard
import sys
from collections.abc import Callable
from typing import Any

from torchlike.multiprocessing._child_processes import refuse_strangers


class Process(multiprocessing.Process):
    """A process of the default start method.

    Raises:
        NotImplementedError: on ``start()``, where ``torch`` would be another package in it.
    """

    def start(self) -> None:
        refuse_strangers("torch.multiprocessing.Process", multiprocessing.get_start_method())
        super().start()


class SpawnProcess(standard.SpawnProcess):
    """A process that starts Python anew. NotImplementedError on ``start()``, as of ``Process``."""

    def start(self) -> None:
        refuse_strangers("torch.multiprocessing.Process", "spawn")
        super().start()


class SpawnContext(standard.SpawnContext):
    """The standard library's, with processes that are refused where they would be strangers."""

    Process = SpawnProcess

    def Manager(self) -> Any:
        """A manager keeps what it is given and runs no code of the script: never refused."""
        return multiprocessing.get_context("spawn").Manager()


_OWN: dict[str, Any] = {"spawn": SpawnContext()}

if sys.platform != "win32":

    class ForkServerProcess(standard.ForkServerProcess):
        """A copy of a server that starts Python anew. NotImplementedError as of ``Process``."""

        def start(self) -> None:
            refuse_strangers("torch.multiprocessing.Process", "forkserver")
            super().start()

    class ForkServerContext(standard.ForkServerContext):
        """The standard library's, with processes that are refused where they would be strangers."""

        Process = ForkServerProcess

        def Manager(self) -> Any:
            """As of ``SpawnContext``."""
            return multiprocessing.get_context("forkserver").Manager()

    _OWN["forkserver"] = ForkServerContext()


def get_context(method: str | None = None) -> Any:
    """The context of a start method, or of the present one. ValueError for an unknown one."""
    context = multiprocessing.get_context(method)
    return _OWN.get(context.get_start_method(), context)


def Pool(
    processes: int | None = None, initializer: Callable[..., object] | None = None,
    initargs: Any = (), maxtasksperchild: int | None = None,
) -> Any:  # fmt: skip
    """A pool of processes of the default start method; refused as ``Process`` is."""
    return get_context().Pool(processes, initializer, initargs, maxtasksperchild)
