"""Telling glibc to keep large blocks instead of giving them back at every free.

Results of 128 KiB and more are mapped afresh by default, and faulted in page by page each time.
With the blocks kept, ``exp`` of a 16 MB tensor takes 0.74 instead of 3.3 ms, and ``x + 1`` on
100 MB 4.3 instead of 25 ms (two x86-64 cores). The price: the process keeps its peak memory.

Not while programs are being compiled. What a compilation leaves in the heap for good lies between
the large blocks of that time, and the holes between such pins fit nothing afterwards. So from a
compilation until half a second has passed without one, large blocks are mapped by themselves. An
eager GPT step (8 layers, 16×256 tokens): peak 1,106 MB with the blocks always kept, 855 so (820
after two seconds, 890 to 950 after a quarter), both at 1.38 s of CPU time from the third step on
(PyTorch 696). Measured on that step and turned down:

- blocks from 1 or 4 MiB always mapped: 709 MB, but 2.8 s; with huge pages (the environment variable
  ``GLIBC_TUNABLES=glibc.malloc.hugetlb=1``) 704 MB and 1.8 s, ``x + 1`` on 16 MB 2.2 ms, not 0.5;
- blocks from 8, 16 or 32 MiB mapped: 1,020 to 1,160 MB;
- no thread caches: no gain.

A thread other than the first has heaps of 64 MiB, and glibc gives back one that becomes empty: a
jitted GPT step with 60 MB of temporary memory took 30 or 23 ms by whether something else lay in it.
Kept (``M_TOP_PAD`` of that size) it takes 23, a chain of ops on 28 MB 10.5 and not 13 ms, and the
eager step above has a peak of 925 MB. A larger block fits no such heap and is mapped anew each
time, unless it is the memory of an earlier result, see _runtime/recycling.py.

Two arenas and one for each processor that XLA uses: Python's thread, the ones that compute, and
those that compile. With two in all, those that compile share one by chance of which came first
(6,000 waits for its lock and 890 ms for the first step of an LSTM, not 400 and 730), and jitted
steps take 1.02 to 1.07 of the time; with one, ``a + b`` on 64×64 takes 12 µs and not 7. As many as
glibc likes, eight a processor, take as long as these and more memory (a peak of 980 to 1,020 MB).

Python's own collector of cyclic garbage is told to leave alone what exists by then (``gc.freeze``):
modules and JAX's tables, some 400,000 objects, which a full collection walks through in 75 to
100 ms, mostly in the midst of a first step, and without them in 5.
"""

from __future__ import annotations

import ctypes
import gc
import os
import threading
import time
from collections.abc import Callable

from jax import monitoring

from torchlike._runtime import recycling, xla_flags
from torchlike._runtime.environment_variables import ALLOCATOR

# The parameters of mallopt(3) in glibc's malloc.h.
_M_TRIM_THRESHOLD = -1
_M_TOP_PAD = -2
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8

_NEVER_TRIM = -1
_GIB = 1 << 30
_MIB = 1 << 20
#: Heaps of other threads are of 64 MiB; this is more than can be free in one.
WHOLE_HEAP = 65 * _MIB

#: The event by which JAX tells of a compiled program, or one found in the persistent cache.
_COMPILED = "/jax/core/compile/backend_compile_duration"
#: Seconds without a compilation after which large blocks are kept again.
_QUIET = 0.5


def tune_allocator() -> bool:
    """Keep freed memory in the process, for large tensors' sake. Call it before any computation.

    Ops that gave large results before do not get the memory of earlier ones, and objects that are
    cyclic garbage already stay for good.
    ``TORCHLIKE_ALLOCATOR=system`` in the environment leaves everything as it is.

    Returns:
        True when the allocator took the settings; False where there is no glibc, or on request.

    Example:
        >>> import subprocess, sys
        >>> code = "import torchlike; print(torchlike.tune_allocator() in (True, False))"
        >>> subprocess.run([sys.executable, "-c", code], capture_output=True).stdout
        b'True\\n'
    """
    if ALLOCATOR.get():
        return False
    recycling.enable()
    gc.freeze()
    if not _is_glibc():
        return False
    mallopt = ctypes.CDLL(None).mallopt
    mallopt.argtypes = (ctypes.c_int, ctypes.c_int)
    mallopt.restype = ctypes.c_int

    def keep() -> bool:
        # Older versions of glibc refuse a threshold above 32 MiB.
        return bool(mallopt(_M_MMAP_THRESHOLD, _GIB) or mallopt(_M_MMAP_THRESHOLD, 32 * _MIB))

    kept = keep()
    trim = mallopt(_M_TRIM_THRESHOLD, _NEVER_TRIM)
    pad = mallopt(_M_TOP_PAD, WHOLE_HEAP)
    arenas = mallopt(_M_ARENA_MAX, arena_count())
    if kept:
        _while_compiling(lambda: mallopt(_M_MMAP_THRESHOLD, _MIB), keep)
    return bool(kept and trim and pad and arenas)


def arena_count() -> int:
    """Return the number of arenas that threads share."""
    return 2 + xla_flags.cpu_threads()


class _Compiling:
    """Calls ``begin`` at a compilation and ``end`` when there has been none for a while."""

    def __init__(self, begin: Callable[[], object], end: Callable[[], object]) -> None:
        self._begin, self._end = begin, end
        self._lock = threading.Lock()
        self._last = 0.0
        self._running = False

    def __call__(self, event: str, duration_secs: float, **_: object) -> None:
        """Note the end of a compilation, as JAX's listener, and start the thread that waits for the
        last one."""
        if event != _COMPILED:
            return
        with self._lock:
            self._last = time.monotonic()
            if not self._running:
                self._running = True
                self._begin()
                threading.Thread(target=self._wait, name="allocator", daemon=True).start()

    def _wait(self) -> None:
        while True:
            with self._lock:
                left = self._last + _QUIET - time.monotonic()
                if left <= 0:
                    self._running = False
                    self._end()
                    return
            time.sleep(left)


_compiling: _Compiling | None = None


def _while_compiling(begin: Callable[[], object], end: Callable[[], object]) -> None:
    """Listen to JAX's compilations; once a process."""
    global _compiling
    if _compiling is None:
        _compiling = _Compiling(begin, end)
        monitoring.register_event_duration_secs_listener(_compiling)


def _is_glibc() -> bool:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") is not None
    except (AttributeError, ValueError):
        return False
