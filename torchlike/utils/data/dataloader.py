"""DataLoader: batches of a dataset, in the order PyTorch's would come."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import multiprocessing.context
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, cast

from torchlike._utils import cpu_count
from torchlike.utils.data.collate import default_collate, default_convert
from torchlike.utils.data.dataset import Dataset, IterableDataset, T_co
from torchlike.utils.data.iterators import (
    HAS_PROCESSES,
    THREAD,
    _DatasetKind,
    _MultiProcessingDataLoaderIter,
    _SingleProcessDataLoaderIter,
)
from torchlike.utils.data.iterators import _BaseDataLoaderIter as _BaseDataLoaderIter
from torchlike.utils.data.processes import worker_pool
from torchlike.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
)
from torchlike.utils.data.workers import ThreadPool
from torchlike.utils.data.workers import get_worker_info as get_worker_info

#: What the samplers are made of, or are.
_FIXED = frozenset(
    ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
)


class _InfiniteConstantSampler(Sampler[None]):
    """Stands for the order of a dataset that has its own."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


_collate_fn_t = Callable[[list[Any]], Any]


def _check_workers(
    num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool
) -> None:
    """Raise ValueError in PyTorch's words for what worker processes cannot do."""
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing."
            "let num_workers > 0 to enable multiprocessing, otherwise set "
            "prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_order(iterable: bool, shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    """Raise ValueError in PyTorch's words for two answers to which element comes next."""
    given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
    for option, value in given.items():
        if iterable and value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {option} option, "
                f"but got {option}={value}"
            )
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")


def _check_context(context: Any, num_workers: int) -> None:
    if context is None:
        return
    if not num_workers:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading "
            f"(num_workers > 0), but got num_workers={num_workers}"
        )
    known = [*multiprocessing.get_all_start_methods(), THREAD]
    if isinstance(context, str) and context not in known:
        raise ValueError(
            "multiprocessing_context option should specify a valid start method in "
            f"{known!r}, but got multiprocessing_context={context!r}"
        )
    if not isinstance(context, (str, multiprocessing.context.BaseContext)):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a "
            "string specifying the start method, but got "
            f"multiprocessing_context={context}"
        )


class DataLoader(Generic[T_co]):
    """Iterates over a dataset in batches. What they are made of cannot be set afterwards.

    A seed gives PyTorch's order: the draws from the generator are PyTorch's, call for call.

    Workers are processes that a fork server starts, whatever start method
    ``multiprocessing_context`` names: dataset, ``collate_fn`` and ``worker_init_fn`` are pickled,
    classes and functions of the script among them. Where they cannot be, workers are threads, and a
    warning says so; with "spawn" or "forkserver" it is an error. Batches come back in shared
    memory. docs/data-loading.md.

    Differs from PyTorch: ``multiprocessing_context="thread"`` makes workers threads of the process,
    which share what the dataset's attributes refer to; one that draws from Python's or NumPy's
    generators is then loaded in the calling thread, with each worker's streams. Workers compute on
    the CPU. ``pin_memory`` has no effect, ``is_shared()`` of a batch is False.

    Args:
      dataset: with ``__getitem__`` and ``__len__``, or with ``__iter__``.
      batch_size: examples in a batch; None gives examples one by one.
      shuffle: whether the order is drawn anew for each pass; ``sampler`` or ``batch_sampler`` give
        indices, or lists of them, in its place.
      num_workers: how many processes load; 0 loads when a batch is asked for.
      collate_fn: makes a batch of a list of examples; by default tensors are stacked.
      drop_last: whether a last batch of fewer examples is left out.
      timeout: seconds to wait for a batch of the workers; 0 waits for ever.
      generator: where the order comes from.
      prefetch_factor: batches that each worker has loaded in advance.
      persistent_workers: whether workers stay after a pass.

    Raises:
      ValueError: arguments that exclude each other or are out of range.

    Example:
      >>> data = torch.utils.data.TensorDataset(torch.arange(5), torch.arange(5) * 10)
      >>> for x, y in torch.utils.data.DataLoader(data, batch_size=2):
      ...     print(x.tolist(), y.tolist())
      [0, 1] [0, 10]
      [2, 3] [20, 30]
      [4] [40]
    """

    _initialized = False
    #: The length of an iterable dataset that ``len`` was told.
    _IterableDataset_len_called: int | None = None
    #: Persistent workers that are threads. (A default, as loaders pickled before have none.)
    _thread_pool: ThreadPool | None = None

    def __init__(
        self,
        dataset: Dataset[T_co] | Sequence[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Any = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        _check_context(multiprocessing_context, num_workers)
        iterable = isinstance(dataset, IterableDataset)
        _check_order(iterable, shuffle, sampler, batch_sampler)
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, "
                    "shuffle, sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually "
                "exclusive with drop_last"
            )
        self.dataset: Any = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.persistent_workers = persistent_workers
        self.generator = generator
        self.batch_size = batch_size
        self.drop_last = drop_last
        self._iterable = iterable
        self._iterator: _MultiProcessingDataLoaderIter | None = None
        self.check_worker_number_rationality()
        if num_workers and multiprocessing_context != THREAD and HAS_PROCESSES:
            with contextlib.suppress(OSError):  # told when the first worker is asked for
                worker_pool.begin()
        if sampler is None and iterable:
            sampler = _InfiniteConstantSampler()
        elif sampler is None:
            sampler = (
                RandomSampler(cast(Any, dataset), generator=generator)
                if shuffle
                else SequentialSampler(cast(Any, dataset))
            )
        if batch_sampler is None and batch_size is not None:
            batch_sampler = BatchSampler(cast(Any, sampler), batch_size, drop_last)
        self.sampler: Any = sampler
        self.batch_sampler: Any = batch_sampler
        batched = batch_size is not None or batch_sampler is not None
        self.collate_fn = collate_fn or (default_collate if batched else default_convert)
        self._initialized = True

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse, by ValueError, to set what the samplers were made of."""
        if self._initialized and name in _FIXED:
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(name, value)

    def __len__(self) -> int:
        if self._iterable:
            n = self._IterableDataset_len_called = len(self.dataset)
            if self.batch_size is None:
                return n
            return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
        return len(self._index_sampler)

    def check_worker_number_rationality(self) -> None:
        """Warn where there are more workers than processors."""
        processors = cpu_count()
        if self.num_workers > processors:
            known = hasattr(os, "sched_getaffinity")
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our "
                f"suggested max number of worker in current system is {processors}"
                f"{'' if known else ' (`cpuset` is not taken into account)'}, which is smaller "
                "than what this DataLoader is going to create. Please be aware that excessive "
                "worker creation might get DataLoader running slow or even freeze, lower the "
                "worker number to avoid potential slowness/freeze if necessary.",
                stacklevel=3,
            )

    def __iter__(self) -> Iterator[Any]:
        if not self.num_workers:
            return _SingleProcessDataLoaderIter(self)
        known = self._iterator
        if known is not None and known.goes_on():
            return known
        made = _MultiProcessingDataLoaderIter(self)
        if self.persistent_workers and made.by_processes:
            self._iterator = made
        return made

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        """What says which rows come when."""
        return self.batch_sampler if self._auto_collation else self.sampler

    @property
    def _dataset_kind(self) -> int:
        return _DatasetKind.Iterable if self._iterable else _DatasetKind.Map
