"""Samplers: in which order a dataset's rows are read."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

from torchlike._core import devices, dtypes
from torchlike._ops.creation.filled import empty
from torchlike._ops.creation.from_data import as_tensor
from torchlike._ops.random.choices import multinomial
from torchlike._ops.random.random import randint, randperm
from torchlike.random.generator import Generator

T_co = TypeVar("T_co", covariant=True)


def draw_seed(generator: Any = None) -> int:
    """Draw a non-negative 64-bit seed from a generator (two words)."""
    return int(
        empty((), dtype=dtypes.int64, device=devices.CPU).random_(generator=generator).item()
    )


class Sampler(Generic[T_co]):
    """Subclass with ``__iter__`` over indices (and ``__len__``)."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """0, 1, 2, …"""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """A random order; with ``replacement``, independent draws."""

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Any = None,
    ) -> None:
        if not isinstance(replacement, bool):
            raise TypeError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        total = self.num_samples  # of an empty source 0: there is nothing to draw
        if not isinstance(total, int) or total <= 0:
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples={total}"
            )

    @property
    def num_samples(self) -> int:
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n, total = len(self.data_source), self.num_samples
        generator = self.generator
        if generator is None:
            generator = Generator().manual_seed(draw_seed())
        if self.replacement:
            for _ in range(total // 32):
                yield from randint(0, n, (32,), generator=generator, device=devices.CPU).tolist()
            yield from randint(
                0, n, (total % 32,), generator=generator, device=devices.CPU
            ).tolist()
            return
        for _ in range(total // n if n else 0):
            yield from randperm(n, generator=generator, device=devices.CPU).tolist()
        # PyTorch always permutes once more, for the part of a pass that may be left.
        yield from randperm(n, generator=generator, device=devices.CPU).tolist()[
            : total % n if n else 0
        ]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Given indices in a random order."""

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in randperm(len(self.indices), generator=self.generator, device=devices.CPU).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn by weights."""

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Any = None,
    ) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples={num_samples}"
            )
        if not isinstance(replacement, bool):
            raise ValueError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        held = as_tensor(weights, dtype=dtypes.float64)
        if held.dim() != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(held.shape)}"
            )
        self.weights = held
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Another sampler's indices in lists of ``batch_size``."""

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size}"
            )
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        n = len(self.sampler)  # type: ignore[arg-type]
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
