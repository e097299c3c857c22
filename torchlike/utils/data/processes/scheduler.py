"""Which worker loads what, and in which order it is given out: as in PyTorch, to the last detail.

Jobs go to the workers in turn, ``ahead`` of them for each; one more goes out with each batch that
is given out. Batches are given out in the order of their jobs or (``in_order=False``) as they come.

`torchlike.utils.data.workers` hands jobs out in the same turns where workers are threads, and is no
part of this: there a batch is a future that is waited for, here a message of a process that may
also be late, end before its time, or belong to the pass before.
"""

from __future__ import annotations

import contextlib
import itertools
import signal
import time
import weakref
from collections.abc import Iterator
from typing import Any

from torchlike._utils import ExceptionWrapper
from torchlike.utils.data.processes import messages
from torchlike.utils.data.processes.channel import Closed, ready
from torchlike.utils.data.processes.worker import BATCH, ENDED, ERROR, RESUMED
from torchlike.utils.data.processes.worker_pool import Job, WorkerProcess

#: Seconds after which a worker is asked for that says nothing.
_LOOK = 1.0


class _Task:
    __slots__ = ("kind", "what", "worker")

    def __init__(self, worker: int) -> None:
        self.worker = worker
        self.kind: int | None = None
        self.what: Any = None


class Scheduler:
    """The workers of a loader, for one pass or (``persistent``) for all: an iterator over a pass's
    batches.

    RuntimeError where a worker ends before its time, or nothing comes within ``timeout`` seconds.
    After a batch that could not be loaded the next ones come.
    """

    def __init__(
        self,
        job: Job,
        count: int,
        seed: int,
        *,
        ahead: int,
        in_order: bool,
        timeout: float,
        persistent: bool,
    ) -> None:
        self._ahead, self._in_order, self._timeout = ahead, in_order, timeout
        self._persistent = persistent
        self._workers: list[WorkerProcess] = []
        self._finalizer = weakref.finalize(self, _dismiss, self._workers)
        for place in range(count):
            self._workers.append(job.start(place, count, seed))
        self._begun = False
        self._failed: BaseException | None = None

    @property
    def pids(self) -> list[int]:
        return [worker.pid for worker in self._workers]

    @property
    def is_usable(self) -> bool:
        """Whether another pass can begin."""
        return self._failed is None and self._finalizer.alive

    def begin(self, jobs: Iterator[Any]) -> None:
        """Begin a pass. What was under way of the one before is given up."""
        count = len(self._workers)
        self._come: list[tuple[int, int, int, Any]] = []
        if self._begun:
            self._resume()
        self._begun = True
        self._jobs = jobs
        self._tasks: dict[int, _Task] = {}
        self._sent = self._given = 0
        self._active = [True] * count
        self._loads = [0] * count
        self._turns = itertools.cycle(range(count))
        for _ in range(self._ahead * count):
            self._post()

    def _resume(self) -> None:
        for worker in self._workers:
            worker.post(None, None)
        waiting = set(range(len(self._workers)))
        self._active = [True] * len(self._workers)
        while waiting:
            place, kind, *_ = self._receive()
            if kind == RESUMED:
                waiting.discard(place)

    def _post(self) -> None:
        """Give the next job to the worker whose turn it is."""
        for job in self._jobs:
            place = self._next_place()
            if place is None:
                return
            self._workers[place].post(self._sent, job)
            self._tasks[self._sent] = _Task(place)
            self._loads[place] += 1
            self._sent += 1
            return

    def _next_place(self) -> int | None:
        count = len(self._workers)
        active = sum(self._active)
        for place in itertools.islice(self._turns, count):
            if not self._active[place]:
                continue
            if self._in_order or self._loads[place] < self._ahead * count // active:
                return place
        return None

    def __iter__(self) -> Scheduler:
        return self

    def __next__(self) -> Any:
        if self._failed is not None:
            raise self._failed
        while True:
            task = self._awaited()
            if task is None:
                if not self._persistent:
                    self.close()
                raise StopIteration
            if task.kind is not None:
                del self._tasks[self._given]
                self._given += 1
                return self._result(task)
            place, kind, order, what = self._receive()
            if kind == ENDED:
                self._ended(place)
                continue
            task = self._tasks[order]
            task.kind, task.what = kind, what
            if not self._in_order:
                del self._tasks[order]
                return self._result(task)

    def _awaited(self) -> _Task | None:
        """Skip the tasks of ended workers, and return the one whose batch comes next, or None at
        the end."""
        while self._given < self._sent:
            task = self._tasks.get(self._given)
            if task is not None and (task.kind is not None or self._active[task.worker]):
                return task
            self._tasks.pop(self._given, None)
            self._given += 1
        return None

    def _ended(self, place: int) -> None:
        """Take a worker whose iterable dataset has no more out of the turns; the others take its
        turns."""
        self._active[place] = False
        if not self._persistent:
            _dismiss([self._workers[place]])
        self._post()

    def _result(self, task: _Task) -> Any:
        self._loads[task.worker] -= 1
        self._post()
        if task.kind == BATCH:
            return task.what
        error: Any = task.what
        if isinstance(error, ExceptionWrapper):
            error.reraise()
        raise error

    # -- waiting -----------------------------------------------------------------------------------

    def _receive(self) -> tuple[int, int, int, Any]:
        """Wait for the next message of a worker and return it: the worker's place, the kind, the
        order of the job and the content."""
        late = time.monotonic() + self._timeout if self._timeout else None
        while not self._come:
            left = _LOOK if late is None else min(_LOOK, late - time.monotonic())
            if left < 0:
                self._fail(f"DataLoader timed out after {self._timeout} seconds")
            channels = {
                id(self._workers[i].channel): i for i, here in enumerate(self._active) if here
            }
            found = ready([self._workers[i].channel for i in channels.values()], max(left, 0.0))
            gone = [
                channels[id(channel)] for channel in found if not self._read(channels[id(channel)])
            ]
            if not found:
                gone = [i for i in channels.values() if self._workers[i].code() is not None]
            if gone and not self._come:
                self._fail_for([self._workers[i] for i in gone])
        return self._come.pop(0)

    def _read(self, place: int) -> bool:
        """Take what has come from a worker, and return whether it is still there."""
        worker = self._workers[place]
        try:
            received = worker.channel.received()
        except Closed:
            return False
        for body, descriptors in received:
            self._come.append((place, *self._opened(worker, body, descriptors)))
        return True

    def _opened(self, worker: WorkerProcess, body: bytes, descriptors: list[int]) -> Any:
        try:
            return messages.unpack(body[8:], descriptors, worker.received)
        except Exception as error:  # a class that is not to be found here
            return ERROR, int.from_bytes(body[:8], "little", signed=True), error

    def _fail_for(self, gone: list[WorkerProcess]) -> None:
        pids = ", ".join(str(worker.pid) for worker in gone)
        how = "; ".join(_describe_exit(worker.code(2.0)) for worker in gone)
        self._fail(f"DataLoader worker (pid(s) {pids}) exited unexpectedly ({how})")

    def _fail(self, message: str) -> None:
        self.close()
        self._failed = RuntimeError(message)
        raise self._failed

    def close(self) -> None:
        """End the workers: nobody reads any more."""
        self._finalizer()


def _describe_exit(code: int | None) -> str:
    if code is None:
        return "how is not known"
    if code >= 0:
        return f"with exit code {code}"
    with contextlib.suppress(ValueError):
        code = -code
        return f"killed by signal: {signal.strsignal(code) or signal.Signals(code).name}"
    return f"killed by signal {code}"


def _dismiss(workers: list[WorkerProcess]) -> None:
    """End workers by themselves: each finds its channel closed; one that does not is killed."""
    for worker in workers:
        worker.channel.close()
    for server in {id(worker.server): worker.server for worker in workers}.values():
        server.end([worker.pid for worker in workers if worker.server is server])
