"""DistributedSampler: each process's share of a data set."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from torchlike._core import devices
from torchlike._ops.random.random import randperm
from torchlike.distributed import groups
from torchlike.random import Generator
from torchlike.utils.data.sampler import Sampler, T_co

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[T_co]):
    """Every ``num_replicas``-th index, from ``rank`` on; call ``set_epoch`` to shuffle anew.

    Args:
      num_replicas, rank: of the processes, by default those of the world.
      drop_last: leave out what does not divide evenly, instead of repeating some.

    ValueError without ``num_replicas`` and ``rank`` before ``init_process_group``, and for a rank
    outside of them.
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        num_replicas = groups.get_world_size() if num_replicas is None else num_replicas
        rank = groups.get_rank() if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.epoch = 0
        self.drop_last, self.shuffle, self.seed = drop_last, shuffle, seed
        n = len(dataset)
        if drop_last and n % num_replicas != 0:
            self.num_samples = math.ceil((n - num_replicas) / num_replicas)
        else:
            self.num_samples = math.ceil(n / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        n = len(self.dataset)
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = randperm(n, generator=generator, device=devices.CPU).tolist()
        else:
            indices = list(range(n))
        if self.drop_last:
            indices = indices[: self.total_size]
        elif indices:
            missing = self.total_size - n
            indices += (indices * math.ceil(missing / n))[:missing]
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Shuffle by ``seed + epoch`` from now on."""
        self.epoch = epoch
