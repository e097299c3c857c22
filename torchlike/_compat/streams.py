"""``torch.Stream`` and ``torch.Event``: order and time on a device.

XLA orders work by its data, so there is one stream a device, and waiting between streams is done
already. An event's time is the host's, after the device has finished what was asked of it.
"""

from __future__ import annotations

import time
from typing import Any

from torchlike._core import devices
from torchlike._runtime import pending


class Stream:
    """The stream of a device; also a context manager, which changes nothing."""

    def __init__(self, device: Any = None, *, priority: int = 0, **_: Any) -> None:
        self._device = devices.resolve(device)

    @property
    def device(self) -> devices.device:
        """Where it runs."""
        return self._device

    device_type = property(lambda self: self._device.type)
    device_index = property(lambda self: -1 if self._device.index is None else self._device.index)
    stream_id = 0

    def query(self) -> bool:
        """Wait, and return True: JAX does not say what is still running."""
        self.synchronize()
        return True

    def synchronize(self) -> None:
        """Wait until all work is done."""
        pending.wait()

    def wait_stream(self, stream: Any) -> None:
        """Do nothing: there is one stream."""

    def wait_event(self, event: Any) -> None:
        """Do nothing: work is ordered by its data."""

    def record_event(self, event: Any = None) -> Any:
        """Record an event, a new one by default, and give it."""
        found = Event(self._device, enable_timing=True) if event is None else event
        found.record(self)
        return found

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exc: object) -> None:
        return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self._device == other._device

    def __hash__(self) -> int:
        return hash((Stream, self._device))

    def __repr__(self) -> str:
        return (
            f"torch.Stream device_type={self.device_type}, device_index={self.device_index}, "
            f"stream_id={self.stream_id}"
        )


class Event:
    """A point in a device's work, and its time."""

    def __init__(
        self,
        device: Any = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
    ) -> None:
        self._device = devices.resolve(device)
        self._timing = enable_timing
        self._time: float | None = None

    @property
    def device(self) -> devices.device:
        """Where it was made."""
        return self._device

    event_id = 0

    def record(self, stream: Any = None) -> None:
        """Note the time, once everything asked for so far is done."""
        pending.wait()
        self._time = time.perf_counter()

    def query(self) -> bool:
        """Return whether the event was reached: always True, as recording waits for that."""
        return True

    def synchronize(self) -> None:
        """Wait until it was reached: recording did."""

    def wait(self, stream: Any = None) -> None:
        """Do nothing: work is ordered by its data."""

    def elapsed_time(self, end_event: Event) -> float:
        """Return the milliseconds until another event. ValueError unless both were recorded with
        timing."""
        if not (self._timing and end_event._timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._time is None or end_event._time is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end_event._time - self._time) * 1e3

    def __repr__(self) -> str:
        index = -1 if self._device.index is None else self._device.index
        return (
            f"torch.Event device_type={self._device.type}, device_index={index}, "
            f"event_flag=0, event_id={self.event_id}"
        )
