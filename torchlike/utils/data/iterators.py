"""One pass over a loader, by the calling thread or by workers.

The classes are made with a loader and read from it what PyTorch's read: libraries call them with
objects of their own that have a loader's attributes and are none.
"""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

from torchlike.utils.data.fetch import ByIndex, IterableFetcher, method_of
from torchlike.utils.data.processes import worker_pool
from torchlike.utils.data.processes.scheduler import Scheduler
from torchlike.utils.data.sampler import draw_seed
from torchlike.utils.data.workers import ThreadPool

#: Whether a process can be copied.
HAS_PROCESSES = hasattr(os, "fork")

#: The context in which workers are threads; PyTorch has no such one.
THREAD = "thread"


class _DatasetKind:
    """How a loader's dataset is read: by index, or from its iterator."""

    Map = 0
    Iterable = 1


class _BaseDataLoaderIter:
    """One pass over a loader, as long as what says which rows come when. After a batch that could
    not be loaded the next ones come."""

    _batches: Iterator[Any]

    def __init__(self, loader: Any) -> None:
        # A loader keeps the iterator of persistent workers, which would otherwise keep each other.
        self._loader = weakref.ref(loader) if loader.persistent_workers else lambda: loader
        self._index_sampler = loader._index_sampler
        self._indices = iter(self._index_sampler)
        self._count = 0

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def __next__(self) -> Any:
        batch = next(self._batches)
        self._count += 1
        loader = self._loader()
        said = None if loader is None else loader._IterableDataset_len_called
        if loader is not None and said is not None and self._count > said:
            _warn_of_length(loader, said, self._count)
        return batch

    def __len__(self) -> int:
        return len(self._index_sampler)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """One that loads a batch when it is asked for."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        draw_seed(loader.generator)  # PyTorch draws the workers' base seed here, workers or not
        if loader._dataset_kind == _DatasetKind.Iterable:
            self._batches = _Fetching(loader).stream(loader.dataset)
        else:
            by_index = ByIndex(loader.dataset, loader.collate_fn, loader._auto_collation)
            self._batches = map(by_index, self._indices)


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """One over batches that workers load: processes, or threads where those are meant or nothing
    else is left."""

    _scheduler: Scheduler | None = None

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        threads = getattr(loader, "_thread_pool", None)
        if threads is None:
            seed = draw_seed(loader.generator)
            self._scheduler = _processes(loader, seed)
            if self._scheduler is not None:
                self._scheduler.begin(self._indices)
                self._batches = self._scheduler
                return
            threads = ThreadPool(loader.dataset, loader.num_workers, seed, loader.worker_init_fn)
            if loader.persistent_workers:
                loader._thread_pool = threads
        fetching, ahead = _Fetching(loader), loader.prefetch_factor or 2
        if loader._dataset_kind == _DatasetKind.Iterable:
            self._batches = threads.iterate(fetching.stream, ahead)
        else:
            self._batches = threads.load(fetching.by_index, self._indices, ahead)

    @property
    def by_processes(self) -> bool:
        return self._scheduler is not None

    def goes_on(self) -> bool:
        """Begin another pass and return True, unless the workers can serve no other."""
        if self._scheduler is None or not self._scheduler.is_usable:
            return False
        self._scheduler.begin(iter(self._index_sampler))
        self._count = 0
        return True


class _Fetching:
    """What loads for a loader from a copy of its dataset."""

    def __init__(self, loader: Any) -> None:
        self._dataset, self._collate = loader.dataset, loader.collate_fn
        self._batched, self._drop_last = loader._auto_collation, loader.drop_last
        self._size = loader.batch_size if self._batched else None

    def by_index(self, dataset: Any, index: Any) -> Any:
        """Return the batch of an index, or of a list of them."""
        collate = method_of(dataset, self._collate, self._dataset)
        return ByIndex(dataset, collate, self._batched)(index)

    def stream(self, dataset: Any) -> Iterator[Any]:
        """Return an iterator over the batches of an iterable dataset."""
        collate = method_of(dataset, self._collate, self._dataset)
        return IterableFetcher(dataset, collate, self._size, self._drop_last)


def _warn_of_length(loader: Any, said: int, fetched: int) -> None:
    more = (
        " With several workers each of them may give all samples: share them out by "
        "get_worker_info()."
        if loader.num_workers
        else ""
    )
    warnings.warn(
        f"Length of IterableDataset {loader.dataset} was reported to be {said} (when accessing "
        f"len(dataloader)), but {fetched} samples have been fetched.{more}",
        UserWarning,
        stacklevel=3,
    )


def _processes(loader: Any, seed: int) -> Scheduler | None:
    """Start a loader's worker processes, or return None where workers are to be threads."""
    context = loader.multiprocessing_context
    if context == THREAD or not HAS_PROCESSES:
        return None
    batched = loader._auto_collation
    task = {
        "dataset": loader.dataset,
        "collate": loader.collate_fn,
        "start": loader.worker_init_fn,
        "iterable": loader._dataset_kind == _DatasetKind.Iterable,
        "batched": batched,
        "size": loader.batch_size if batched else None,
        "drop_last": loader.drop_last,
        "filters": warnings.filters,
    }
    try:
        job = worker_pool.Job(task)
    except Exception as error:  # whatever an object says that is to be pickled
        method = (
            context if context is None or isinstance(context, str) else context.get_start_method()
        )
        if method not in (None, "fork"):
            raise
        warnings.warn(
            "DataLoader's workers are threads, which take turns in Python code: for processes "
            f"the dataset, collate_fn and worker_init_fn must be pickled, and they cannot be "
            f"({type(error).__name__}: {error}). Open files and the like in the worker, when "
            'they are first used, or say multiprocessing_context="thread".',
            RuntimeWarning,
            stacklevel=4,
        )
        return None
    return Scheduler(
        job,
        loader.num_workers,
        seed,
        ahead=loader.prefetch_factor or 2,
        in_order=loader.in_order,
        timeout=loader.timeout,
        persistent=loader.persistent_workers,
    )
