"""Running what was recorded: nothing is recorded meanwhile."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import jax

from torchlike._core import modes
from torchlike._runtime.jax_private.tracing import trace_state_clean

if TYPE_CHECKING:
    from torchlike._extensions.deferred.queue import Queue

#: The threads that run what was recorded, which have values alone, and whose queue that was.
_running: dict[int, Queue] = {}


class not_recording:
    """``with not_recording():`` what this thread calls is run, and is no part of a trace of JAX's
    that may be under way: what was recorded has values."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue

    def __enter__(self) -> None:
        current, self._thread = modes.current, threading.get_ident()
        self._held = current.queue, current.watcher, self._thread in _running
        current.queue = current.watcher = None
        _running.setdefault(self._thread, self._queue)
        self._outside = nullcontext() if trace_state_clean() else jax.ensure_compile_time_eval()
        self._outside.__enter__()

    def __exit__(self, *exc: Any) -> None:
        self._outside.__exit__(*exc)
        modes.current.queue, modes.current.watcher, was_running = self._held
        if not was_running:
            del _running[self._thread]


def is_running() -> bool:
    """Return whether this thread runs what was recorded."""
    return threading.get_ident() in _running


def queue_that_runs() -> Queue | None:
    """Return the queue whose calls this thread runs, if it does."""
    return _running.get(threading.get_ident())
