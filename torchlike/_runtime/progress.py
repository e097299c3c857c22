"""Says that compiling takes long, on standard error by the log ``torchlike.jit``.

    with progress.told("compiling train_step: 2,310 equations"):
        executable = lowered.compile()

It reads a clock, and changes nothing but what is said.
"""

from __future__ import annotations

import _thread
import logging
import threading
import time
from types import TracebackType

_log = logging.getLogger("torchlike.jit")
#: Seconds until it is said, and then between one time and the next.
first, then = 5.0, 10.0


class told:
    """A context: while it lasts, ``what`` is said with the seconds so far, first after 5."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._ended = threading.Event()

    def __enter__(self) -> None:
        self._began = time.perf_counter()
        # None that `threading` counts: a function that asks how many there are sees its own.
        _thread.start_new_thread(self._tell, ())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ended.set()

    def _tell(self) -> None:
        wait = first
        while not self._ended.wait(wait):
            seconds = time.perf_counter() - self._began
            _log.warning("torchlike.jit: %s, %.0f s so far", self._what, seconds)
            wait = then
