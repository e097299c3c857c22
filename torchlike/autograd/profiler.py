"""``torch.autograd.profiler``: the old place of torch.profiler's regions and profiles."""

from __future__ import annotations

from typing import Any

from torchlike import profiler
from torchlike.profiler import record_function
from torchlike.profiler.events import EventList, FunctionEventAvg

__all__ = ["EventList", "emit_itt", "emit_nvtx", "profile", "record_function"]

#: Refused, as `torchlike._compat.unsupported` says, which puts them here.
emit_itt: Any
emit_nvtx: Any


class profile(profiler.profile):
    """``torch.profiler.profile``, recording everything inside; with ``enabled=False``, nothing.

    Other arguments are accepted.
    """

    def __init__(self, enabled: bool = True, **_: Any) -> None:
        super().__init__(
            schedule=lambda step: (
                profiler.ProfilerAction.RECORD if enabled else profiler.ProfilerAction.NONE
            )
        )

    @property
    def function_events(self) -> EventList:
        """`events()`."""
        return self.events()

    @property
    def self_cpu_time_total(self) -> float:
        """The sum of the times on the host's threads, in microseconds."""
        return self.events().self_cpu_time_total

    def table(self, *args: Any, **kwargs: Any) -> str:
        """Show `events()` in lines; the arguments are those of `EventList.table`."""
        return self.events().table(*args, **kwargs)

    def total_average(self) -> FunctionEventAvg:
        """Return all events as one, named "Total"."""
        return self.events().total_average()

    def __str__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._unread() else self.table()
