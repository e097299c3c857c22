"""Datasets: what can be indexed or iterated."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from torchlike._core import devices
from torchlike._ops.random.random import randperm
from torchlike.tensor import Tensor

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """A collection of examples: subclass it with ``__getitem__`` and ``__len__``.

    ``a + b`` gives the examples of both.

    Example:
      >>> class Squares(torch.utils.data.Dataset):
      ...     def __len__(self):
      ...         return 4
      ...
      ...     def __getitem__(self, index):
      ...         return torch.tensor(index**2)
      >>> [int(x) for x in torch.utils.data.DataLoader(Squares())]
      [0, 1, 4, 9]
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[T_co]) -> ConcatDataset[T_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """Subclass with ``__iter__``."""

    def __add__(self, other: Any) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Give rows of tensors of equal length, as tuples. AssertionError for lengths that differ.

    Example:
      >>> data = torch.utils.data.TensorDataset(torch.arange(3), torch.zeros(3, 2))
      >>> data[1]
      (tensor(1), tensor([0., 0.]))
    """

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensors[0].size(0) != t.size(0) for t in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class ConcatDataset(Dataset[T_co]):
    """Several datasets one after the other."""

    def __init__(self, datasets: Iterable[Dataset[T_co]]) -> None:
        self.datasets: list[Any] = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        before = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][index - before]


class ChainDataset(IterableDataset[T_co]):
    """Several iterable datasets one after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(map(_iterable, self.datasets))

    def __len__(self) -> int:
        return sum(len(_iterable(d)) for d in self.datasets)


def _iterable(dataset: Any) -> Any:
    """Return a part of a chain. Raises AssertionError for a dataset that is to be indexed."""
    if not isinstance(dataset, IterableDataset):
        raise AssertionError("ChainDataset only supports IterableDataset")
    return dataset


class Subset(Dataset[T_co]):
    """The rows of a dataset at given indices."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices
        kind = type(self)
        if kind.__getitem__ is not Subset.__getitem__ and kind.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{kind.__name__} overrides __getitem__ but not __getitems__. When subclassing "
                "Subset and overriding __getitem__, you must also override __getitems__, which "
                "DataLoader reads batches by: "
                "return [self.__getitem__(idx) for idx in indices]"
            )

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """Return a batch of rows, by the dataset's own ``__getitems__`` where it has one."""
        rows = [self.indices[i] for i in indices]
        many: Any = getattr(self.dataset, "__getitems__", None)
        if not callable(many):
            return [self.dataset[i] for i in rows]
        found: Any = many(rows)
        return found

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Any, lengths: Sequence[float], generator: Any = None
) -> list[Subset[Any]]:
    """Split a dataset into disjoint random subsets of given lengths, or of given fractions that sum
    to 1.

    ValueError when the lengths do not sum to the dataset's.

    Example:
      >>> parts = torch.utils.data.random_split(range(10), [0.8, 0.2])
      >>> [len(part) for part in parts]
      [8, 2]
    """
    n = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for i, f in enumerate(lengths):
            if not 0 <= f <= 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        sizes = [math.floor(n * f) for f in lengths]
        for i in range(n - sum(sizes)):
            sizes[i % len(sizes)] += 1
        lengths = sizes
    if sum(lengths) != n:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = randperm(n, generator=generator, device=devices.CPU).tolist()
    ends = list(itertools.accumulate(int(k) for k in lengths))
    return [Subset(dataset, order[e - int(k) : e]) for e, k in zip(ends, lengths, strict=True)]
