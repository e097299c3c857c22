"""When parameters are averaged."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from torchlike.distributed.algorithms.model_averaging import utils
from torchlike.distributed.groups import ProcessGroup, member

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager(ABC):
    """A group (None: the world), and how often ``average_parameters`` was called: ``step``."""

    def __init__(self, process_group: ProcessGroup | None = None) -> None:
        self.process_group = member(process_group)
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Iterable[Any]) -> None:
        """Average them, if it is time."""


class PeriodicModelAverager(ModelAverager):
    """Averages at every ``period``-th call from the ``warmup_steps``-th on, which is the first.

    ValueError for a period below 1 or a negative ``warmup_steps``.
    """

    def __init__(
        self, period: int, warmup_steps: int = 0, process_group: ProcessGroup | None = None
    ) -> None:
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warnings.warn(
                "When period is 1, no need to use model averaging because the communication cost "
                "of all-reducing parameters will be no less than the cost of all-reducing "
                "gradients by DistributedDataParallel in the backward pass. Therefore, only "
                "DistributedDataParallel should be used for this case.",
                stacklevel=2,
            )
        self.period, self.warmup_steps = period, warmup_steps

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Average parameters, or those of an optimizer's groups, where it is time to; those without
        a gradient stay as they are."""
        since = self.step - self.warmup_steps
        if since >= 0 and since % self.period == 0:
            utils.average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
