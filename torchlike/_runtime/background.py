"""Work for a thread in the background: compiling what later calls will want.

    task = background.submit(compile_it, "train_step")
    ...
    executable = task.result()     # waits, if need be

XLA's compiler lets go of Python's lock and has threads of its own, so there is one thread, which
does one task after the other while the program runs on. Which call takes a result is for the
caller to decide beforehand, never by whether it is there already: results would depend on timing.

The thread is no daemon. A process that ends in the midst of XLA's compiler would crash, so it waits
for the one task that is under way; those that are not begun by then never are.
"""

from __future__ import annotations

import collections
import contextlib
import threading
import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from torchlike._runtime.patches import at_import

T = TypeVar("T")


class BackgroundTask(Generic[T]):
    """Work that is done once, by the thread or by who waits for it first.

    Attributes:
      name: what it is for, in messages.
    """

    def __init__(self, work: Callable[[], T], name: str) -> None:
        self.name = name
        self._work: Callable[[], T] | None = work
        self._result: list[T] = []
        self._error: BaseException | None = None
        self._begun = threading.Lock()
        self._done = threading.Event()

    @property
    def is_done(self) -> bool:
        """True once there is a result or an error. No result of a program may depend on it."""
        return self._done.is_set()

    def result(self) -> T:
        """Return what the work returned, or raise what it raised. Work that the thread has not
        begun is done here: it may stand behind much else."""
        self.run()
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._result[0]

    def run(self) -> None:
        """Do the work, unless somebody has begun it."""
        if not self._begun.acquire(blocking=False):
            return
        assert self._work is not None
        try:
            self._result.append(self._work())
        except BaseException as error:
            self._error = error
        self._work = None  # what it holds may be large
        self._done.set()

    def cancel(self) -> None:
        """Leave the work undone, unless somebody has begun it: who waits for it gets an error."""
        if self._begun.acquire(blocking=False):
            self._error, self._work = RuntimeError(f"{self.name} was cancelled"), None
            self._done.set()

    def begin_again(self) -> None:
        """Let the work be done by who waits for it: in a forked process, which has the task and not
        the thread that has begun it."""
        if not self.is_done:
            self._begun, self._done = threading.Lock(), threading.Event()


class _WorkingThread:
    """The thread, which lives while there is work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: collections.deque[BackgroundTask[Any]] = collections.deque()
        self._is_running = False

    def add(self, task: BackgroundTask[Any]) -> None:
        with self._lock:
            self._waiting.append(task)
            if self._is_running:
                return
            self._is_running = True
        # Where no thread can be had, or the process ends, who waits for a task does it.
        with contextlib.suppress(RuntimeError):
            threading.Thread(target=self._run, name="torchlike.background").start()
            return
        self._is_running = False

    def _next(self) -> BackgroundTask[Any] | None:
        with self._lock:
            if self._waiting and threading.main_thread().is_alive():
                return self._waiting.popleft()
            self._waiting.clear()
            self._is_running = False
            return None

    def _run(self) -> None:
        while (task := self._next()) is not None:
            task.run()


_worker = _WorkingThread()
#: Those that may not be done, for a forked process.
_tasks: weakref.WeakSet[BackgroundTask[Any]] = weakref.WeakSet()


def submit(work: Callable[[], T], name: str) -> BackgroundTask[T]:
    """Have ``work`` done in the background, behind what was submitted before, and return the task.

    The work runs in another thread: it must take no part in the program's state, and hold no array
    that the program may give up meanwhile.
    """
    task = BackgroundTask(work, name)
    _tasks.add(task)
    _worker.add(task)
    return task


def _in_child() -> None:
    global _worker
    _worker = _WorkingThread()
    for task in list(_tasks):
        task.begin_again()


at_import.FORKS.at_fork(_in_child)
