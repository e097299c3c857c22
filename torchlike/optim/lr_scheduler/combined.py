"""Several schedules on one optimizer: one after the other, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from torchlike.optim.lr_scheduler.base import LRScheduler, put, values_of
from torchlike.optim.lr_scheduler.plateau import ReduceLROnPlateau
from torchlike.optim.optimizer import Optimizer


class _Combined(LRScheduler):
    _schedulers: Any

    def _check(self, optimizer: Any, schedulers: Sequence[Any], what: str) -> None:
        name = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(f"{name} expects at least one scheduler{what}, but got no scheduler.")
        optimizer = optimizer or schedulers[0].optimizer
        for i, s in enumerate(schedulers):
            if not hasattr(s, "optimizer"):
                raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
            if isinstance(s, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires "
                    "additional kwargs to be specified when calling `step`, but got one at index "
                    f"{i} in the given schedulers sequence."
                )
            if optimizer != s.optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got "
                    f"scheduler {type(s).__name__} at index {i} has {s.optimizer}, which is "
                    f"different from {type(optimizer).__name__}."
                )
        self.optimizer = optimizer

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes but the optimizer, and the states of the schedules."""
        state = super().state_dict()
        del state["_schedulers"]
        state["_schedulers"] = [s.state_dict() for s in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state, and the states of the schedules."""
        self.__dict__.update({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for own, saved in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            own.load_state_dict(saved)


class SequentialLR(_Combined):
    """One schedule until the first milestone, the next until the second, …"""

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[Any],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        self._check(optimizer, schedulers, "")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than "
                f"the number of milestone points, but got number of schedulers {len(schedulers)} "
                f"and the number of milestones to be equal to {len(milestones)}"
            )
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch = last_epoch + 1
        # Each schedule took its first step when it was made: only the first may have.
        for group in self.optimizer.param_groups:
            put(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = self._schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Put the schedules one epoch back, combined ones as well."""
        of = self if sched is None else sched
        if hasattr(of, "_schedulers"):
            for s in of._schedulers:
                self.recursive_undo(s)
        elif hasattr(of, "last_epoch"):
            of.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Advance by one epoch."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        now = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            now._update_lr(0)
        else:
            now.step()
        self._last_lr = now.get_last_lr()


class ChainedScheduler(_Combined):
    """All schedules step, each from the rate the one before left."""

    def __init__(self, schedulers: Sequence[Any], optimizer: Optimizer | None = None) -> None:
        self._check(optimizer, schedulers, " to be chained")
        self._schedulers = schedulers
        self._last_lr = values_of(schedulers[-1].optimizer, "lr")

    def step(self) -> None:  # type: ignore[override]
        """Advance by one epoch."""
        for s in self._schedulers:
            s.step()
        self._last_lr = values_of(self._schedulers[-1].optimizer, "lr")
