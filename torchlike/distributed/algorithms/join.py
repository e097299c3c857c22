"""``Join``: training with inputs that end earlier in some processes than in others.

A process that has no more input takes part in the others' collectives with zeros, until all have
ended; then each object that is joined makes its processes equal.
"""

from __future__ import annotations

import abc
import warnings
from types import TracebackType
from typing import Any, NamedTuple

from torchlike._core.devices import device
from torchlike._ops.creation.from_data import tensor
from torchlike.distributed import collectives
from torchlike.distributed.groups import ProcessGroup, member
from torchlike.distributed.works import Work


class JoinHook:
    """What a process without input does for one joined object."""

    #: How many processes have input in this iteration.
    active: int = 0

    def main_hook(self) -> None:
        """Do nothing; what a subclass has here runs once for each iteration of the others."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Do nothing; what a subclass has here runs when all have ended. ``is_last_joiner``: this
        process was among the last."""


class _Config(NamedTuple):
    enable: bool
    throw_on_early_termination: bool
    is_first_joinable: bool


class Joinable(abc.ABC):
    """Something that ``Join`` can join: its collectives can be shadowed."""

    @abc.abstractmethod
    def __init__(self) -> None:
        self._join_config = _Config(False, False, False)

    @abc.abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the hook of a process that has no input left."""

    @property
    @abc.abstractmethod
    def join_device(self) -> device:
        """Where its collectives are."""

    @property
    @abc.abstractmethod
    def join_process_group(self) -> ProcessGroup:
        """The group that they are in."""


class Join:
    """``with Join([ddp, optimizer]): for batch in data: …``

    Raises:
        ValueError: nothing to join, or objects of different process groups.
        RuntimeError: with ``throw_on_early_termination``, in all processes, once one has ended.
    """

    def __init__(
        self,
        joinables: list[Any],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        self._enable, self._throws = enable, throw_on_early_termination
        self._joinables = joinables
        groups = {id(member(j.join_process_group)) for j in joinables}
        if len(groups) > 1:
            raise ValueError("Using join context manager with multiple process groups")
        self._group = member(joinables[0].join_process_group)
        for i, joinable in enumerate(joinables):
            joinable._join_config = _Config(enable, throw_on_early_termination, i == 0)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        type: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._enable or type:
            return
        is_last = True
        iterations = 0
        while True:
            active = tensor([0.0])
            collectives.all_reduce(active, group=self._group)
            if active.item() == 0:
                break
            if self._throws:
                self._notify_to_terminate()
            is_last = False
            for hook in self._hooks:
                hook.active = int(active.item())
                hook.main_hook()
            iterations += 1
            if iterations == 1000:
                warnings.warn(
                    "Detected uneven input skew of greater than 1000. This means that rank "
                    f"{self._group.rank()} has at least 1000 fewer inputs than others."
                )
        for hook in self._hooks:
            hook.post_hook(is_last)

    def _notify_to_terminate(self) -> None:
        collectives.all_reduce(tensor([1.0]), group=self._group)
        raise RuntimeError(f"Rank {self._group.rank()} exhausted all inputs.")

    @staticmethod
    def notify_join_context(joinable: Any) -> Work | None:
        """Say that this process has input: a joined object calls it before its collectives. None
        outside of the context, and for all but its first object."""
        config = getattr(joinable, "_join_config", None)
        if config is None or not config.enable or not config.is_first_joinable:
            return None
        group = joinable.join_process_group
        work = collectives.all_reduce(tensor([1.0]), group=group, async_op=True)
        if config.throw_on_early_termination:
            ended = tensor([0.0])
            collectives.all_reduce(ended, group=group)
            if ended.item():
                raise RuntimeError(
                    "Detected at least one rank that exhausted inputs. Throwing across all ranks."
                )
        return work
