"""Streams, events and graphs of GPUs: XLA orders work by its data, and compiles whole steps."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from torchlike._compat import streams
from torchlike._runtime import pending
from torchlike.cuda._device import is_available, require


class Stream(streams.Stream):
    """The stream of a GPU. RuntimeError without one."""

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        if not is_available():
            raise RuntimeError("torch.cuda.Stream requires CUDA support")
        super().__init__("cuda" if device is None else device, priority=priority)

    cuda_stream = 0

    def record_event(self, event: Any = None) -> Any:
        found = Event(enable_timing=True) if event is None else event
        found.record(self)
        return found


ExternalStream = Stream


class Event(streams.Event):
    """A point in a GPU's work. RuntimeError without a GPU."""

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None:
        if not is_available():
            raise RuntimeError("Tried to instantiate dummy base class Event")
        super().__init__("cuda", enable_timing=enable_timing)


def current_stream(device: Any = None) -> Stream:
    """Return the GPU's one stream. AssertionError without a GPU."""
    require()
    return Stream(device)


default_stream = current_stream


@contextlib.contextmanager
def stream(stream: Any) -> Iterator[None]:
    """Run a ``with`` block on a stream: nothing changes."""
    yield


StreamContext = stream


def set_stream(stream: Any) -> None:
    """Do nothing: there is one stream."""


def synchronize(device: Any = None) -> None:
    """Wait until all work on the devices is done. AssertionError without a GPU."""
    require()
    pending.wait()


_GRAPHS = (
    "torch.cuda.{}: a recorded CUDA graph is one backend's. Use instead: torchlike.jit, which "
    "compiles a whole step into one executable."
)


class CUDAGraph:
    """NotImplementedError when made; RuntimeError without a GPU. Use torchlike.jit."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not is_available():
            raise RuntimeError("Tried to instantiate dummy base class CUDAGraph")
        raise NotImplementedError(_GRAPHS.format("CUDAGraph"))


class graph:
    """NotImplementedError when made; RuntimeError without a GPU. Use torchlike.jit."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not is_available():
            raise RuntimeError("torch.cuda.Stream requires CUDA support")
        raise NotImplementedError(_GRAPHS.format("graph"))


def make_graphed_callables(*args: Any, **kwargs: Any) -> Any:
    """Raise NotImplementedError: use torchlike.jit."""
    raise NotImplementedError(_GRAPHS.format("make_graphed_callables"))


def graph_pool_handle() -> Any:
    """Raise NotImplementedError; RuntimeError without a GPU."""
    if not is_available():
        raise RuntimeError("Tried to instantiate dummy base class _graph_pool_handle")
    raise NotImplementedError(_GRAPHS.format("graph_pool_handle"))


def is_current_stream_capturing() -> bool:
    """Return False: no CUDA graph is ever recorded."""
    return False
