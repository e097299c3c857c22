"""``torch.autograd.profiler``: the old place of torch.profiler's regions and profiles."""

from __future__ import annotations

from typing import Any

from torchlike import profiler
from torchlike._compat.unsupported import Gap, raising
from torchlike.profiler import record_function
from torchlike.profiler.events import EventList

__all__ = ["EventList", "emit_nvtx", "profile", "record_function"]

_EVENTS = Gap("profiles are JAX's", "torch.profiler.profile")
emit_nvtx: Any = raising("autograd.profiler.emit_nvtx", _EVENTS)


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
