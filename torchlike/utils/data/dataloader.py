"""DataLoader: batches of a dataset, in the order PyTorch's would come."""

from __future__ import annotations

import functools
import itertools
import multiprocessing
import multiprocessing.context
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Generic, cast

from torchlike.utils.data.collate import default_collate, default_convert
from torchlike.utils.data.dataset import IterableDataset, T_co
from torchlike.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    draw_seed,
)
from torchlike.utils.data.workers import Crew, method_of
from torchlike.utils.data.workers import get_worker_info as get_worker_info

#: What the samplers are made of, or are.
_FIXED = frozenset(
    ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
)


class _InfiniteConstantSampler(Sampler[None]):
    """Stands for the order of a dataset that has its own."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class _Batches:
    """One pass over a loader, as long as what says which rows come when. After a batch that could
    not be loaded the next ones come."""

    def __init__(self, loader: DataLoader[Any], batches: Iterator[Any], jobs: Any) -> None:
        self._loader = loader
        self._batches = batches
        self._jobs = jobs
        self._count = 0

    def __iter__(self) -> _Batches:
        return self

    def __next__(self) -> Any:
        batch = next(self._batches)
        self._count += 1
        said = self._loader._said_length
        if said is not None and self._count > said:
            self._loader._warn_of_length(said, self._count)
        return batch

    def __len__(self) -> int:
        return len(self._jobs)


class _Groups:
    """The samples of an iterable dataset in lists of a size, the last one shorter or left out."""

    def __init__(self, dataset: Any, size: int, drop_last: bool) -> None:
        self._samples = iter(dataset)
        self._size = size
        self._drop_last = drop_last

    def __iter__(self) -> _Groups:
        return self

    def __next__(self) -> list[Any]:
        group = list(itertools.islice(self._samples, self._size))
        if not group or (self._drop_last and len(group) < self._size):
            raise StopIteration
        return group


class _MultiProcessingDataLoaderIter(_Batches):
    """An iterator over batches that processes load; there is none."""


#: PyTorch's names, for scripts that ask what kind of iterator they have.
_BaseDataLoaderIter = _SingleProcessDataLoaderIter = _Batches
_collate_fn_t = Callable[[list[Any]], Any]


def _check_context(context: Any, num_workers: int) -> None:
    if context is None:
        return
    if not num_workers:
        raise ValueError("multiprocessing_context can only be used with multi-process loading "
                         f"(num_workers > 0), but got num_workers={num_workers}")  # fmt: skip
    known = multiprocessing.get_all_start_methods()
    if isinstance(context, str) and context not in known:
        raise ValueError("multiprocessing_context option should specify a valid start method in "
                         f"{known!r}, but got multiprocessing_context={context!r}")  # fmt: skip
    if not isinstance(context, (str, multiprocessing.context.BaseContext)):
        raise TypeError("multiprocessing_context option should be a valid context object or a "
                        "string specifying the start method, but got "
                        f"multiprocessing_context={context}")  # fmt: skip


class DataLoader(Generic[T_co]):
    """Iterates over a dataset in batches. What they are made of cannot be set afterwards.

    A seed gives PyTorch's order: the draws from the generator are PyTorch's, call for call.

    Differs from PyTorch: ``num_workers`` are threads of this process (``workers``), which load
    batches ahead in order; a dataset that draws from Python's or NumPy's generators is loaded in
    the calling thread, with each worker's streams. What its attributes refer to is shared.
    ``pin_memory``, ``timeout`` and ``multiprocessing_context`` have no effect.
    """

    _initialized = False
    #: The length of an iterable dataset that ``len`` was told.
    _said_length: int | None = None

    def __init__(
        self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None,
        sampler: Any = None, batch_sampler: Any = None, num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None, pin_memory: bool = False,
        drop_last: bool = False, timeout: float = 0, worker_init_fn: Any = None,
        multiprocessing_context: Any = None, generator: Any = None, *,
        prefetch_factor: int | None = None, persistent_workers: bool = False,
        pin_memory_device: str = "", in_order: bool = True,
    ) -> None:  # fmt: skip
        if num_workers < 0:
            raise ValueError(
                "num_workers option should be non-negative; use num_workers=0 to disable "
                "multiprocessing."
            )
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError("prefetch_factor option could only be specified in multiprocessing."
                             "let num_workers > 0 to enable multiprocessing, otherwise set "
                             "prefetch_factor to None.")  # fmt: skip
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        _check_context(multiprocessing_context, num_workers)
        iterable = isinstance(dataset, IterableDataset)
        if iterable:
            for option, value in (("shuffle", shuffle or None), ("sampler", sampler),
                                  ("batch_sampler", batch_sampler)):  # fmt: skip
                if value is not None:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {option} option, "
                        f"but got {option}={value}"
                    )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, "
                                 "shuffle, sampler, and drop_last")  # fmt: skip
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually "
                             "exclusive with drop_last")  # fmt: skip
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
        self._crew: Crew | None = None
        if sampler is None and iterable:
            sampler = _InfiniteConstantSampler()
        elif sampler is None:
            sampler = (
                RandomSampler(dataset, generator=generator) if shuffle
                else SequentialSampler(dataset)
            )  # fmt: skip
        if batch_sampler is None and batch_size is not None:
            batch_sampler = BatchSampler(cast(Any, sampler), batch_size, drop_last)
        self.sampler: Any = sampler
        self.batch_sampler: Any = batch_sampler
        batched = batch_size is not None or batch_sampler is not None
        self.collate_fn = collate_fn or (default_collate if batched else default_convert)
        self._initialized = True

    def __setattr__(self, name: str, value: Any) -> None:
        """ValueError for what the samplers were made of."""
        if self._initialized and name in _FIXED:
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(name, value)

    def __len__(self) -> int:
        if self._iterable:
            n = self._said_length = len(self.dataset)
            if self.batch_size is None:
                return n
            return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
        return len(self._index_sampler)

    def __iter__(self) -> Iterator[Any]:
        jobs = self._index_sampler
        if self.num_workers:
            crew, ahead = self._workers(), self.prefetch_factor or 2
            if self._iterable:
                batches = crew.iterate(self._iterate, ahead)
            else:
                batches = crew.load(self._fetch, iter(jobs), ahead)
            return _Batches(self, batches, jobs)
        draw_seed(self.generator)  # PyTorch draws the workers' base seed here, workers or not
        if self._iterable:
            batches = self._iterate(self.dataset)
        else:
            batches = map(functools.partial(self._fetch, self.dataset), jobs)
        return _Batches(self, batches, jobs)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        """What says which rows come when."""
        return self.batch_sampler if self._auto_collation else self.sampler

    def _warn_of_length(self, said: int, fetched: int) -> None:
        more = (
            " With several workers each of them may give all samples: share them out by "
            "get_worker_info()." if self.num_workers else ""
        )  # fmt: skip
        warnings.warn(
            f"Length of IterableDataset {self.dataset} was reported to be {said} (when accessing "
            f"len(dataloader)), but {fetched} samples have been fetched.{more}",
            UserWarning,
            stacklevel=3,
        )

    def _workers(self) -> Crew:
        """New workers; persistent ones are those of the first pass, and draw no seed again."""
        if self._crew is not None:
            return self._crew
        seed = draw_seed(self.generator)
        crew = Crew(self.dataset, self.num_workers, seed, self.worker_init_fn)
        if self.persistent_workers:
            self._crew = crew
        return crew

    def _fetch(self, dataset: Any, index: Any) -> Any:
        collate = method_of(dataset, self.collate_fn, self.dataset)
        if not self._auto_collation:
            return collate(dataset[index])
        many = getattr(dataset, "__getitems__", None)
        samples = many(index) if many is not None else [dataset[i] for i in index]
        return collate(samples)

    def _iterate(self, dataset: Any) -> Iterator[Any]:
        size = self.batch_size
        collate = method_of(dataset, self.collate_fn, self.dataset)
        return map(collate, dataset if size is None else _Groups(dataset, size, self.drop_last))
