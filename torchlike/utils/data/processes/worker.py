"""A worker: a process that loads batches until nobody wants any more."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import signal
import socket
import sys
import types
import warnings
from typing import Any

import numpy as np

from torchlike._core import dtypes
from torchlike._runtime import interrupts
from torchlike._runtime.first_calls.program import host
from torchlike._runtime.first_calls.settings import settings
from torchlike._utils import ExceptionWrapper
from torchlike.random import manual_seed
from torchlike.utils.data import collate
from torchlike.utils.data.fetch import ByIndex, IterableFetcher
from torchlike.utils.data.processes import messages
from torchlike.utils.data.processes.channel import Channel, Closed
from torchlike.utils.data.processes.shared_memory_pool import SharedMemoryPool
from torchlike.utils.data.workers import WorkerInfo, numpy_seeds, this_process_is

#: Messages of a worker's: its place in the order, then one of these, then what belongs to it.
BATCH, ERROR, ENDED, RESUMED = range(4)


def surroundings() -> dict[str, Any]:
    """Return the settings that a worker takes over from the process that asks for it, in plain
    types."""
    main = sys.modules.get("__main__")
    return {
        "folder": os.getcwd(),
        "environment": dict(os.environ),
        "path": list(sys.path),
        "argv": list(sys.argv),
        "dtype": dtypes.get_default_dtype().name,
        "main": getattr(main, "__file__", None),
        "mode": settings.mode,
        # By which a manager of multiprocessing's, that a dataset holds, knows its processes.
        "authkey": bytes(multiprocessing.current_process().authkey),
    }


def _apply_surroundings(surroundings: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # the folder may be gone
        os.chdir(surroundings["folder"])
    os.environ.clear()
    os.environ.update(surroundings["environment"])
    os.environ["PJRT_NPROC"] = "1"  # the workers share the cores
    multiprocessing.current_process().authkey = surroundings["authkey"]
    sys.path[:], sys.argv[:] = surroundings["path"], surroundings["argv"]
    main = types.ModuleType("__main__")
    if surroundings["main"] is not None:
        main.__file__ = surroundings["main"]
    sys.modules["__main__"] = main
    dtypes.set_default_dtype(getattr(dtypes, surroundings["dtype"]))
    # What NumPy makes stays NumPy's, whatever its size, and XLA need not start.
    settings.mode, settings.host_bytes = surroundings["mode"], sys.maxsize
    settings.xla_is_dear = 20
    host().is_default = True


def _ignored(number: int, frame: Any) -> None:
    """Take no notice. (A function, which programs that a dataset starts do not inherit.)"""


def leave_interruptions() -> None:
    """Ignore Ctrl-C, which reaches all processes of a terminal: the process that has the loop
    decides what it means."""
    if not interrupts.ignored():
        signal.signal(signal.SIGINT, _ignored)
    interrupts.release()


def _seed(place: int, base_seed: int) -> None:
    random.seed(base_seed + place)
    manual_seed(base_seed + place)
    np.random.seed(numpy_seeds(place, base_seed))


def run(end: socket.socket, request: dict[str, Any], descriptors: list[int]) -> None:
    """Load batches; ends when the channel is closed."""
    leave_interruptions()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    channel = Channel(end)
    place = request["place"]
    _apply_surroundings(request["surroundings"])
    _seed(place, request["seed"])
    with contextlib.closing(channel), contextlib.suppress(Closed):
        _Worker(channel, place, request["count"], request["seed"]).work(request["job"], descriptors)


class _Worker:
    def __init__(self, channel: Channel, place: int, count: int, seed: int) -> None:
        self._channel, self._place, self._count, self._seed = channel, place, count, seed
        self._pool = SharedMemoryPool()
        self._load: Any = None
        #: Whether this pass over an iterable dataset has ended; what is asked ahead is left.
        self._ended = False
        collate.allocate = self._pool.allocate

    def work(self, job: bytes, descriptors: list[int]) -> None:
        error = None
        try:
            task = messages.unpack(job, descriptors, private=True)
            del job
            filters: Any = warnings.filters
            filters[:] = task["filters"]
            info = WorkerInfo(self._place, self._count, self._seed + self._place, task["dataset"])
            this_process_is(info)
            if task["start"] is not None:
                task["start"](self._place)
        except Exception:
            error = self._wrapped()
            task = {}
        while True:
            for message in self._channel.wait():
                order, freed, index = messages.unpack(*message)
                self._pool.freed(freed)
                if order is None:  # a new pass
                    self._load, self._ended = None, False
                    self._send(RESUMED, -1, None)
                    continue
                if error is not None:
                    self._send(ERROR, order, error)
                elif not self._ended:
                    self._do(task, order, index)

    def _do(self, task: dict[str, Any], order: int, index: Any) -> None:
        try:
            if self._load is None:
                self._load = self._loading(task)
            batch = self._load(index)
        except StopIteration:
            if not task["iterable"]:
                self._send(ERROR, order, self._wrapped())
            else:
                self._ended = True
                self._send(ENDED, order, None)
        except Exception:
            self._send(ERROR, order, self._wrapped())
        else:
            self._send(BATCH, order, batch)

    def _loading(self, task: dict[str, Any]) -> Any:
        if task["iterable"]:
            return IterableFetcher(
                task["dataset"], task["collate"], task["size"], task["drop_last"]
            )
        return ByIndex(task["dataset"], task["collate"], task["batched"])

    def _send(self, kind: int, order: int, what: Any) -> None:
        try:
            body, descriptors, keep, _ = messages.pack((kind, order, what), self._pool)
        except Exception:
            error = (ERROR, order, self._wrapped())
            body, descriptors, keep, _ = messages.pack(error, self._pool)
        self._channel.send(order.to_bytes(8, "little", signed=True) + body, descriptors)
        del keep

    def _wrapped(self) -> ExceptionWrapper:
        return ExceptionWrapper(where=f"in DataLoader worker process {self._place}")
