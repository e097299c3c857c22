"""Processes that run one function, and the errors of those that fail."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torchlike._runtime.environment_variables import SECRET
from torchlike._runtime.interrupts import ignored
from torchlike._runtime.parents import ends_with_parent
from torchlike._runtime.rendezvous import secret
from torchlike.multiprocessing._child_processes import refuse_strangers
from torchlike.multiprocessing.contexts import get_context

#: With this in the environment and "forkserver", processes start at once, as in PyTorch.
ENV_VAR_PARALLEL_START = "TORCH_MP_PARALLEL_START"


class ProcessException(Exception):
    """A process failed."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """Its function raised."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg, error_index, error_pid)


class ProcessExitedException(ProcessException):
    """It ended with a code other than 0, or by a signal."""

    def __init__(
        self,
        msg: str,
        error_index: int,
        error_pid: int,
        exit_code: int,
        signal_name: str | None = None,
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _run(
    fn: Callable[..., Any], i: int, args: tuple[Any, ...], error_file: str, known: str
) -> None:
    """Call the function in the new process, and write its error into a file. ``known`` is the
    secret of the processes that were started together."""
    os.environ[SECRET.name] = known
    ends_with_parent(by=signal.SIGTERM if ignored() else signal.SIGINT)
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass  # the parent was interrupted too, and says so
    except Exception:
        with open(error_file, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        sys.exit(1)


class ProcessContext:
    """Processes that were started together."""

    def __init__(self, processes: list[Any], error_files: list[str]) -> None:
        self.processes, self.error_files = processes, error_files
        self.sentinels = {p.sentinel: i for i, p in enumerate(processes)}

    def pids(self) -> list[int]:
        """Return the numbers of the processes."""
        return [int(p.pid) for p in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait; True when all have ended. When one fails, the others are ended (after
        ``grace_period`` seconds) and its error is raised."""
        if not self.sentinels:
            return True
        failed = None
        for sentinel in multiprocessing.connection.wait(list(self.sentinels), timeout):
            i = self.sentinels.pop(sentinel)  # type: ignore[call-overload]
            self.processes[i].join()
            if self.processes[i].exitcode != 0:
                failed = i
                break
        if failed is None:
            return not self.sentinels
        deadline = time.monotonic() + (grace_period or 0)
        for p in self.processes:
            p.join(max(0.0, deadline - time.monotonic()))
        for end in ("terminate", "kill"):
            for p in self.processes:
                if p.is_alive():
                    getattr(p, end)()
                p.join(30)
        self._raise(failed)
        return True

    def _raise(self, i: int) -> None:
        process, file = self.processes[i], Path(self.error_files[i])
        if file.exists() and file.stat().st_size:
            text = pickle.loads(file.read_bytes())
            raise ProcessRaisedException(
                f"\n\n-- Process {i} terminated with the following error:\n{text}", i, process.pid
            )
        code = process.exitcode
        if code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"<Unknown signal {-code}>"
            raise ProcessExitedException(
                f"process {i} terminated with signal {name}", i, process.pid, code, name
            )
        raise ProcessExitedException(
            f"process {i} terminated with exit code {code}", i, process.pid, code
        )


class SpawnContext(ProcessContext):
    """The processes of ``spawn``."""


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> Any:
    """Run ``fn(i, *args)`` in ``nprocs`` processes; None once all have ended, or, without
    ``join``, their context.

    ProcessRaisedException or ProcessExitedException for the first that fails; NotImplementedError
    where ``import torch`` means torchlike in this process and would not in the new ones.
    """
    refuse_strangers("torch.multiprocessing.start_processes", start_method)
    context = get_context(start_method)
    processes, files = [], []
    known = secret.for_spawned(nprocs)
    for i in range(nprocs):
        descriptor, name = tempfile.mkstemp(prefix="torchlike-errorfile-", suffix=".pickle")
        os.close(descriptor)
        process: Any = context.Process(target=_run, args=(fn, i, args, name, known), daemon=daemon)
        process.start()
        processes.append(process)
        files.append(name)
    made = SpawnContext(processes, files)
    if not join:
        return made
    try:
        while not made.join():
            continue
    finally:
        for name in files:
            Path(name).unlink(missing_ok=True)
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> Any:
    """Do ``start_processes`` by starting Python anew.

    NotImplementedError where ``import torch`` means torchlike in this process: in one that starts
    anew it would not.
    """
    refuse_strangers("torch.multiprocessing.spawn", "spawn")
    if start_method != "spawn":
        warnings.warn(
            f"This method only supports start_method=spawn (got: {start_method}).\nTo use a "
            "different start_method use:\n\t\t torch.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
