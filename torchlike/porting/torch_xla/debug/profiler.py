"""``torch_xla.debug.profiler``, usually ``xp``: JAX's profiler."""

from __future__ import annotations

import atexit
import threading
from typing import Any

import jax

from torchlike.porting.torch_xla._absent import absent

__getattr__ = absent("torch_xla.debug.profiler")

#: Set where the process ends before a trace does.
_ended = threading.Event()


def start_server(port: int, only_on_master: bool = True) -> object:
    """Start a server that TensorBoard's profiler asks; it lives as long as what is returned."""
    return jax.profiler.start_server(port)


def trace(
    service_addr: str,
    logdir: str,
    duration_ms: int = 1000,
    num_tracing_attempts: int = 3,
    timeout_s: int = 120,
    delay_ms: int = 0,
    interactive: Any = "",
) -> None:
    """Record this process for ``duration_ms`` milliseconds, for TensorBoard, into ``logdir``."""
    if not _ended.wait(delay_ms / 1000):
        with jax.profiler.trace(logdir):
            _ended.wait(duration_ms / 1000)


def trace_detached(*args: Any, **kwargs: Any) -> None:
    """Do `trace` in a thread while the script goes on; it ends with the script at the latest."""
    thread = threading.Thread(target=trace, args=args, kwargs=kwargs, daemon=True)
    thread.start()
    atexit.register(_end, thread)


def _end(thread: threading.Thread) -> None:
    _ended.set()
    thread.join()


class StepTrace(jax.profiler.StepTraceAnnotation):
    """``with StepTrace("train", step_num=3):`` a step's region in a trace."""


class Trace(jax.profiler.TraceAnnotation):
    """``with Trace("forward"):`` a region in a trace."""
