"""Whether a thread waits for others, and what is done for it then."""

from __future__ import annotations

import contextlib
import dis
import multiprocessing.synchronize
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType

#: Seconds after which a batch counts as one that may wait.
_PATIENCE = 0.5
_LOCKS = frozenset((threading.__file__, multiprocessing.synchronize.__file__))


@contextlib.contextmanager
def helped(help: Callable[[], None]) -> Iterator[None]:
    """Run a `with` block, and call ``help`` once, in another thread, when the block is found to
    wait for a lock, semaphore, condition or barrier."""
    ended, thread = threading.Event(), threading.get_ident()

    def watch() -> None:
        while not ended.wait(_PATIENCE):
            frame = sys._current_frames().get(thread)
            if frame is not None and _waits(frame):
                help()
                return

    watcher = threading.Thread(target=watch, name="torchlike-waiting", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _waits(frame: FrameType) -> bool:
    """True if a thread whose innermost frame is this one is in a function of locks, or calls the
    ``acquire`` of one, which has no frame."""
    if frame.f_code.co_filename in _LOCKS:
        return True
    name = None
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset >= frame.f_lasti:
            break
        if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            name = instruction.argval
    return name == "acquire"
