"""The fork server: a process that has imported what workers need, computed nothing, and forks them.

A fork of a process that has computed with JAX hangs, and a new Python takes a second to import.
So one other process is there for as long as the first: it becomes a worker by forking, in 10 ms.
It says when one has ended, and how. When the process that it serves ends, however that ends, the
server's socket closes: it ends the workers, and itself.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pickle
import select
import signal
import socket
import sys
import time
import traceback
from typing import Any

import jax

from torchlike._runtime import platforms
from torchlike._runtime.parents import ends_with_parent
from torchlike.utils.data.processes import worker
from torchlike.utils.data.processes.channel import Channel, Closed

#: Seconds that workers have to end by themselves once nobody reads what they load.
GRACE = 5.0
_LAST_GRACE = 2.0


def serve(descriptor: int, modules: list[str]) -> None:
    """Fork workers on request until the other end of the socket closes."""
    _settle()
    _import(modules)
    server = _Server(Channel(socket.socket(fileno=descriptor)))
    try:
        server.run()
    except Closed:
        server.finish()


def _settle() -> None:
    jax.config.update("jax_platforms", "cpu")  # accelerators belong to the process with the loop
    worker.leave_interruptions()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    gc.freeze()  # what is there now is never garbage: forks leave its pages alone


def _import(modules: list[str]) -> None:
    for name in modules:
        # What cannot be imported is told by the worker, which needs it.
        with contextlib.suppress(Exception):
            importlib.import_module(name)


class _Server:
    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._workers: set[int] = set()
        #: When those that should have ended are killed.
        self._deadlines: dict[int, float] = {}
        self._woken, wakes = os.pipe()
        for end in (self._woken, wakes):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, worker._ignored)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)

    def run(self) -> None:
        while True:
            left = min(self._deadlines.values(), default=None)
            wait = None if left is None else max(0.0, left - time.monotonic())
            select.select([self._channel, self._woken], [], [], wait)
            with contextlib.suppress(BlockingIOError):
                os.read(self._woken, 4096)
            self._bury()
            self._kill_late()
            for body, descriptors in self._channel.received():
                self._answer(pickle.loads(body), descriptors)

    def _answer(self, request: dict[str, Any], descriptors: list[int]) -> None:
        if "end" in request:
            late = time.monotonic() + GRACE
            self._deadlines.update({pid: late for pid in request["end"] if pid in self._workers})
            return
        sys.path[:] = request["surroundings"]["path"]
        _import(request["modules"])
        if platforms.started():  # one of them computes when it is imported: forks would hang
            self._channel.send(pickle.dumps({"spoiled": request["modules"]}))
            for d in descriptors:
                os.close(d)
            return
        here = os.getpid()
        pid = os.fork()
        if pid == 0:
            _become_worker(here, request, descriptors)
        self._workers.add(pid)
        for d in descriptors:
            os.close(d)
        self._channel.send(pickle.dumps({"started": pid}))

    def _bury(self) -> None:
        while self._workers:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._workers.discard(pid)
            self._deadlines.pop(pid, None)
            self._channel.send(
                pickle.dumps({"ended": pid, "code": os.waitstatus_to_exitcode(status)})
            )

    def _kill_late(self) -> None:
        now = time.monotonic()
        for pid, late in list(self._deadlines.items()):
            if late <= now:
                os.kill(pid, signal.SIGKILL)
                del self._deadlines[pid]

    def finish(self) -> None:
        """Wait for the workers to end, and kill those that are left: nobody is served any more."""
        late = time.monotonic() + _LAST_GRACE
        while self._workers and time.monotonic() < late:
            self._bury()
            select.select([self._woken], [], [], 0.05)
            with contextlib.suppress(BlockingIOError):
                os.read(self._woken, 4096)
        for pid in self._workers:
            os.kill(pid, signal.SIGKILL)


def _become_worker(parent: int, request: dict[str, Any], descriptors: list[int]) -> None:
    """Load batches in the new process, and end without what a Python does at its end, which belongs
    to the process that was copied."""
    code = 1
    try:
        ends_with_parent(parent)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        end, out, err, *others = descriptors
        for number, own in ((out, 1), (err, 2)):
            os.dup2(number, own)
            os.close(number)
        worker.run(socket.socket(fileno=end), request, others)
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
