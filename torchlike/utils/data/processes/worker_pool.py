"""The fork server as its user sees it: started once in a process, asked for workers."""

from __future__ import annotations

import contextlib
import os
import pickle
import resource
import socket
import subprocess
import sys
import threading
import time
import traceback
import warnings
from multiprocessing.util import spawnv_passfds
from typing import Any

import torchlike
from torchlike._runtime import interrupts, platforms
from torchlike.utils.data.processes import messages, server, worker
from torchlike.utils.data.processes.channel import Channel, Closed, pair
from torchlike.utils.data.processes.shared_memory_pool import Received

#: Seconds for a new Python to import what workers need.
_PATIENCE = 120.0
#: A process that holds more than this is not copied: the server would hold it as long.
_MOST_TO_COPY = 1 << 30

_lock = threading.Lock()
_current: WorkerServer | None = None
#: Modules that compute when they are imported: the server leaves them to the workers.
_spoiling: set[str] = set()


class WorkerServer:
    """The server of this process."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._lock = threading.RLock()
        self._pids: list[int] = []
        self._codes: dict[int, int] = {}
        self._channel, theirs = pair()
        preloaded = ["torchlike.as_torch"] if sys.modules.get("torch") is torchlike else []
        begun = self._fork if _may_be_copied() else self._start
        self.pid = begun(theirs, preloaded)

    def _fork(self, theirs: socket.socket, preloaded: list[str]) -> int:
        """Start the server as a copy of this process, which has imported everything and computed
        nothing, and return its process id."""
        sys.stdout.flush()
        sys.stderr.flush()
        with interrupts.deferred(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of threads that wait, which NumPy's libraries have
            pid = os.fork()
            if pid == 0:
                try:
                    server.serve(theirs.detach(), preloaded)
                except BaseException:
                    traceback.print_exc()
                finally:
                    os._exit(0)
        theirs.close()
        return pid

    def _start(self, theirs: socket.socket, preloaded: list[str]) -> int:
        number = theirs.fileno()
        code = (
            f"import os, sys; sys.path[:] = {sys.path!r}; os.environ['JAX_PLATFORMS'] = 'cpu'; "
            "from torchlike.utils.data.processes.server import serve; "
            f"serve({number}, {preloaded!r})"
        )
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        command = [sys.executable, *flags, "-c", code]
        with interrupts.deferred():
            pid = spawnv_passfds(os.fsencode(sys.executable), command, [number])
        theirs.close()
        return pid

    @property
    def is_ours(self) -> bool:
        """Whether this process started it, not one that this is a fork of."""
        return self._owner == os.getpid()

    def fork(self, request: dict[str, Any], descriptors: list[int]) -> int:
        """Start a worker and return its pid. Raises Closed where the server has ended, _Spoiled
        where it cannot."""
        with self._lock:
            self._channel.send(pickle.dumps(request), descriptors)
            late = time.monotonic() + _PATIENCE
            while not self._pids:
                if not self._read(max(0.0, late - time.monotonic())):
                    raise Closed
            return self._pids.pop()

    def end(self, pids: list[int]) -> None:
        """Have these workers end by themselves, or be killed a little later."""
        with self._lock, contextlib.suppress(Closed):
            self._channel.post(pickle.dumps({"end": pids}))

    def code(self, pid: int, seconds: float = 0) -> int | None:
        """Return how a worker ended, or None where it has not, within ``seconds``."""
        with self._lock, contextlib.suppress(Closed):
            until = time.monotonic() + seconds
            while self._read(max(0.0, until - time.monotonic()) if pid not in self._codes else 0):
                continue
        return self._codes.get(pid)

    def _read(self, seconds: float) -> bool:
        """Take what the server says, if it says something within ``seconds``."""
        found = self._channel.wait(seconds)
        for body, _ in found:
            message = pickle.loads(body)
            if "spoiled" in message:
                raise _Spoiled(message["spoiled"])
            if "started" in message:
                # The system gives out the numbers of processes that have ended again.
                self._codes.pop(message["started"], None)
                self._pids.append(message["started"])
            else:
                self._codes[message["ended"]] = message["code"]
        return bool(found)

    def __del__(self) -> None:
        self._channel.close()


class _Spoiled(Exception):
    """The server has imported something that computes."""


def _may_be_copied() -> bool:
    """Return whether a fork of this process is a good server: it has computed nothing, has no
    threads that a fork would miss, and holds little."""
    unit = 1 if sys.platform == "darwin" else 1024
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return (
        not platforms.started()
        and threading.active_count() == 1
        and held < _MOST_TO_COPY
        and threading.current_thread() is threading.main_thread()
    )


def begin() -> None:
    """Start a server before the first worker is asked for, unless there is one."""
    with _lock:
        _get()


def _get() -> WorkerServer:
    global _current
    if _current is None or not _current.is_ours:
        _current = WorkerServer()
    return _current


def _drop() -> None:
    global _current
    _current = None  # it ends when its last worker has


class WorkerProcess:
    """A worker process: what it is sent, and what comes from it."""

    def __init__(self, server: WorkerServer, channel: Channel, pid: int) -> None:
        self.server, self.channel, self.pid = server, channel, pid
        self.received = Received()

    def post(self, order: int | None, index: Any) -> None:
        """Have a batch loaded; ``order`` None: begin a new pass."""
        freed = []
        with contextlib.suppress(IndexError):
            while True:
                freed.append(self.received.freed.popleft())
        body, descriptors, keep, _ = messages.pack((order, freed, index))
        self.channel.post(body, descriptors)
        del keep

    def code(self, seconds: float = 0) -> int | None:
        """Return how the worker has ended, or None where it has not, within ``seconds``."""
        return self.server.code(self.pid, seconds)


class Job:
    """What workers do, packed once for all of them.

    Raises what ``pickle`` does for a dataset that cannot be pickled.
    """

    def __init__(self, task: dict[str, Any]) -> None:
        self._body, self._descriptors, self._keep, modules = messages.pack(task)
        self._modules = sorted(modules)

    def start(self, place: int, count: int, seed: int) -> WorkerProcess:
        """Start a worker that does the job."""
        with _lock:
            for _ in range(3):
                try:
                    return self._start(_get(), place, count, seed)
                except _Spoiled as error:
                    _spoiling.update(*error.args)
                    _drop()
                except Closed:
                    _drop()
        raise RuntimeError("DataLoader's fork server does not start: its errors stand above")

    def _start(self, server: WorkerServer, place: int, count: int, seed: int) -> WorkerProcess:
        channel, theirs = pair()
        request = {
            "place": place,
            "count": count,
            "seed": seed,
            "job": self._body,
            "modules": [m for m in self._modules if m not in _spoiling],
            "surroundings": worker.surroundings(),
        }
        try:
            pid = server.fork(request, [theirs.fileno(), *_outputs(), *self._descriptors])
        except BaseException:
            channel.close()
            raise
        finally:
            theirs.close()
        return WorkerProcess(server, channel, pid)


def _outputs() -> tuple[int, int]:
    """Return the descriptors that workers print to."""
    for descriptor in (1, 2):
        try:
            os.fstat(descriptor)
        except OSError:  # closed
            null = os.open(os.devnull, os.O_RDWR)
            return null, null
    return 1, 2
