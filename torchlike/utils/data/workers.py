"""DataLoader's workers: in this process, with the numbers and the dataset of a process each.

A worker of PyTorch's is a process: it has its own streams of random numbers, seeded by its place,
and its own copy of the dataset. Here it is a thread. PyTorch's stream can be a thread's own;
Python's and NumPy's belong to the process. So the first batch is loaded in the caller's thread with
the worker's streams in the process's place. Where that has drawn from Python's or NumPy's, all
batches are loaded so, one after another when they are asked for, and the numbers are those of
PyTorch's workers; else threads load the others ahead.

For processes the turns are `torchlike.utils.data.processes.scheduler`'s, which says why there are
two.
"""

from __future__ import annotations

import contextlib
import random
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np

from torchlike.random.engine import Engine
from torchlike.random.generator import drawing_from
from torchlike.utils.data.dataset import Dataset
from torchlike.utils.data.fetch import method_of
from torchlike.utils.data.waiting import helped

Outcomes = Iterator["Future[Any]"]


@dataclass
class WorkerInfo:
    """What ``get_worker_info()`` gives: which of how many, its seed, its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


class _Here(threading.local):
    info: WorkerInfo | None = None


_here = _Here()
_process: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Return the worker that loads in this process or thread, or None outside of workers."""
    return _here.info or _process


def this_process_is(info: WorkerInfo) -> None:
    """Make all threads of this process count as that worker."""
    global _process
    _process = info


def numpy_seeds(place: int, base_seed: int) -> np.ndarray:
    """Return the numbers that seed NumPy's generator in a worker."""
    parts = [place, base_seed & 0xFFFFFFFF, base_seed >> 32]
    return np.random.SeedSequence(parts).generate_state(4)


def _copied(dataset: Any) -> Any:
    """Return a copy of a dataset whose attributes can be set without the others seeing it, as after
    a fork.

    By hand: ``copy.copy`` asks the new object for methods, which datasets that pass on what they
    have not (``__getattr__``) answer by asking for their own attributes, without end.
    """
    if not isinstance(dataset, Dataset):
        return dataset
    new = object.__new__(type(dataset))
    new.__dict__.update(dataset.__dict__)
    return new


class WorkerContext:
    """One worker: its streams and its dataset."""

    def __init__(self, place: int, count: int, base_seed: int, dataset: Any) -> None:
        self.info = WorkerInfo(place, count, base_seed + place, _copied(dataset))
        self.engine = Engine(self.info.seed & (1 << 64) - 1)
        self._python = random.Random(self.info.seed).getstate()
        self._numpy: Any = np.random.RandomState(numpy_seeds(place, base_seed)).get_state()

    @contextlib.contextmanager
    def in_charge(self) -> Iterator[None]:
        """Run a `with` block as in the worker's process."""
        python, numpy, info = random.getstate(), np.random.get_state(), _here.info
        random.setstate(self._python)
        np.random.set_state(self._numpy)
        _here.info = self.info
        try:
            with drawing_from(self.engine):
                yield
        finally:
            self._python, self._numpy = random.getstate(), np.random.get_state()
            _here.info = info
            random.setstate(python)
            np.random.set_state(numpy)

    def drawn(self) -> tuple[Any, ...]:
        """Return the states of Python's and NumPy's random streams."""
        _, key, *rest = self._numpy
        return self._python, key.tobytes(), rest

    def call(self, load: Callable[[Any, Any], Any], job: Any) -> Any:
        """Run a job in a thread of the worker's own."""
        _here.info = self.info
        with drawing_from(self.engine):
            return load(self.info.dataset, job)


_DRAWS_AND_WAITS = (
    "DataLoader's workers are threads that wait for each other and draw from Python's or NumPy's "
    "generator, of which a process has one: make what they wait for by torch.multiprocessing, so "
    "that workers are processes"
)


class _Threads:
    """A thread for each worker, and what they load, in the order of the jobs."""

    def __init__(self, workers: list[WorkerContext], load: Any) -> None:
        self._workers, self._load = workers, load
        self._turn = 0
        self.loading: deque[Future[Any]] = deque()

    def __enter__(self) -> None:
        self._pools = contextlib.ExitStack()
        self._threads = [self._pools.enter_context(ThreadPoolExecutor(1)) for _ in self._workers]

    def __exit__(self, *error: Any) -> None:
        for future in self.loading:
            future.cancel()
        self._pools.close()

    def begin_all(self, jobs: Any) -> None:
        """Take all jobs out of a queue or a list, and have the workers do them in turn."""
        for job in jobs:
            self._turn = (self._turn + 1) % len(self._threads)
            worker = self._workers[self._turn]
            self.loading.append(self._threads[self._turn].submit(worker.call, self._load, job))
        jobs.clear()


class ThreadPool:
    """The workers of a loader as threads, for one pass or (persistent) for all."""

    def __init__(self, dataset: Any, count: int, base_seed: int, start: Any) -> None:
        self.workers = [WorkerContext(i, count, base_seed, dataset) for i in range(count)]
        for worker in self.workers:
            if start is None:
                break
            with worker.in_charge():
                method_of(worker.info.dataset, start, dataset)(worker.info.id)

    def load(self, load: Callable[[Any, Any], Any], jobs: Iterator[Any], ahead: int) -> Any:
        """Iterate over ``load(dataset, job)`` of each job, in order; jobs are asked for ``ahead``,
        as PyTorch's loader does from its beginning."""
        waiting: deque[Any] = deque()
        for _, job in zip(range(ahead * len(self.workers)), jobs, strict=False):
            waiting.append(job)
        return map(_result, self._loaded(load, jobs, waiting))

    # What follows yields batches with their errors inside: a generator that raises has ended, and
    # the batches after one that failed would be lost.

    def _loaded(self, load: Any, jobs: Iterator[Any], waiting: deque[Any]) -> Outcomes:
        if not waiting:
            return
        first, job = self.workers[0], waiting.popleft()
        before = first.drawn()
        threads = _Threads(self.workers, load)
        with threads:
            with first.in_charge(), helped(lambda: threads.begin_all(waiting)):
                batch = _attempt(load, first.info.dataset, job)
            if first.drawn() == before:
                yield from self._by_threads(threads, jobs, waiting, batch)
                return
            if threads.loading:
                raise RuntimeError(_DRAWS_AND_WAITS)
        yield from self._in_turn(load, jobs, waiting, batch)

    def _in_turn(self, load: Any, jobs: Iterator[Any], waiting: deque[Any], batch: Any) -> Outcomes:
        turn = 0
        while True:
            waiting.extend(_next(jobs))
            yield batch
            if not waiting:
                return
            turn = (turn + 1) % len(self.workers)
            worker = self.workers[turn]
            with worker.in_charge():
                batch = _attempt(load, worker.info.dataset, waiting.popleft())

    def _by_threads(
        self, threads: _Threads, jobs: Iterator[Any], waiting: deque[Any], batch: Any
    ) -> Outcomes:
        threads.begin_all(waiting)
        threads.begin_all(_next(jobs))
        yield batch
        while threads.loading:
            batch = threads.loading.popleft()
            wait((batch,))
            threads.begin_all(_next(jobs))
            yield batch

    def iterate(self, batches: Callable[[Any], Iterator[Any]], ahead: int) -> Iterator[Any]:
        """Iterate over the batches of each worker's dataset, one of each in turn.

        A worker at its end gets no more turns, but those that were given ahead are not taken over.
        """
        return map(_result, self._iterated(batches, ahead))

    def _iterated(self, batches: Callable[[Any], Iterator[Any]], ahead: int) -> Outcomes:
        count = len(self.workers)
        made: list[Any] = [None] * count
        turns = deque(list(range(count)) * ahead)
        last = count - 1
        ended: set[int] = set()
        while turns:
            i = turns.popleft()
            if i in ended:
                continue
            with self.workers[i].in_charge():
                if made[i] is None:
                    made[i] = batches(self.workers[i].info.dataset)
                found = _attempt(next, made[i], _END)
            if ended_here := found.exception() is None and found.result() is _END:
                ended.add(i)
            if len(ended) < count:
                last = next(
                    j for k in range(1, count + 1) if (j := (last + k) % count) not in ended
                )
                turns.append(last)
            if not ended_here:
                yield found


#: The former name: loaders that were pickled with their threads have it.
Crew = ThreadPool

#: What an iterator gives at its end.
_END = object()


def _attempt(function: Callable[..., Any], *args: Any) -> Future[Any]:
    """Call a function and return a future of what it gives or raises."""
    outcome: Future[Any] = Future()
    try:
        outcome.set_result(function(*args))
    except Exception as error:
        outcome.set_exception(error)
    return outcome


def _result(outcome: Future[Any]) -> Any:
    return outcome.result()


def _next(iterator: Iterator[Any]) -> list[Any]:
    """Return the next item of an iterator in a list, or an empty list at its end."""
    for item in iterator:
        return [item]
    return []
