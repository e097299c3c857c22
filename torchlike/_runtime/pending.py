"""Work that devices were asked for and have not finished.

JAX gives results out before they are computed, on the CPU too, and has no call that waits for all
of them. Two ways together do:

- A *fence*: a tiny program on each device. A device ends the programs of one thread in the order
  in which they were asked for, so what that thread asked for before is done when the fence is,
  also where nobody holds the result any more (7 us).
- The arrays that are alive, whichever thread asked for them (2 us an array).

What escapes both: a result that nothing refers to any more and that another thread asked for, or
that is spread over several devices.
"""

from __future__ import annotations

import functools
import threading
import time
from typing import Any

import jax
import numpy as np

from torchlike._runtime import device_memory, late_checks, platforms
from torchlike._runtime.provided import Signal

about_to_wait = Signal("this thread is about to wait for all work that it asked for")


@functools.cache
def _fence_of(device: Any) -> Any:
    """Compile a tiny program for a device and return a function that runs it and returns its
    result. It is compiled beforehand: a function of ``jax.jit`` would become part of a trace that
    is under way."""
    zero = jax.device_put(np.zeros((), np.float32), device)
    compiled = jax.jit(lambda x: x + 1).lower(zero).compile()
    return functools.partial(compiled, zero)


def _devices() -> list[Any]:
    """Return the devices that tensors can be on: those of JAX's default backend, and the CPU."""
    found = jax.local_devices()
    return found if platforms.cpu_is_default() else [*found, platforms.cpu_device()]


def _alive() -> list[Any]:
    return [a for p in {d.platform for d in _devices()} for a in jax.live_arrays(p)]


def fence() -> None:
    """Wait for the programs that this thread asked for."""
    about_to_wait()
    jax.effects_barrier()
    for result in [_fence_of(d)() for d in _devices()]:
        result.block_until_ready()


def wait() -> None:
    """Return when all work asked of all devices is done; raise where a check of values failed."""
    fence()
    for array in _alive():
        try:
            array.block_until_ready()
        except RuntimeError as error:
            # Another thread may give an array's memory to a program at any moment.
            if not array.is_deleted():
                raise device_memory.out_of_memory(error, [array]) from None
    late_checks.look(wait=True)


def time_when_done() -> float:
    """Wait until all work is done and return ``time.perf_counter()``.

    Looking through the arrays that are alive takes time itself. Where it finds them all computed,
    and no other thread could have asked for any, the time is that before it.
    """
    fence()
    fenced = time.perf_counter()
    # With one thread alone: asking a deleted array whether it is ready ends the process.
    if threading.active_count() == 1 and all(a.is_deleted() or a.is_ready() for a in _alive()):
        return fenced
    wait()
    return time.perf_counter()
