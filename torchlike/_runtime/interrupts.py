"""Ctrl-C: it ends a program whenever it comes, unless the program was started not to hear of it.

Python delivers a signal between two instructions, wherever the main thread is. In a callback of the
garbage collector (JAX registers one), a weak reference's callback, a ``__del__`` or a hook of
``os.fork`` it drops what is raised, so that the program runs on. `keep` has such an interruption
come again. What starts in the background of a shell has the signal ignored; so do our processes.

Standard library only: it stands before JAX is imported.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from torchlike._runtime.patches import at_import

#: Seconds until a dropped interruption comes again: the callback that lost it has returned then. If
#: it is lost once more, it comes once more.
_PAUSE = 0.01


def keep() -> None:
    """Have an interruption that Python drops in the main thread come again. Whatever else it drops
    is told as before."""
    told = sys.unraisablehook

    def dropped(what: Any) -> None:
        if _comes_again(what):
            _thread.start_new_thread(_interrupt, ())
        else:
            told(what)

    at_import.INTERRUPTS.replace(sys, "unraisablehook", dropped)


def _comes_again(what: Any) -> bool:
    """True if it is an interruption of the main thread. A program that ends already is let end: its
    exit functions are dropped one by one otherwise."""
    return (
        isinstance(what.exc_value, KeyboardInterrupt)
        and threading.current_thread() is threading.main_thread()
        and not sys.is_finalizing()
        and "atexit" not in (what.err_msg or "")
    )


def _interrupt() -> None:
    """Send this process its interruption again, to the main thread: that is waiting, perhaps."""
    time.sleep(_PAUSE)
    main = threading.main_thread()
    if hasattr(signal, "pthread_kill") and main.ident is not None and main.is_alive():
        signal.pthread_kill(main.ident, signal.SIGINT)
    else:
        _thread.interrupt_main()


def ignored(number: int = signal.SIGINT) -> bool:
    """True if the signal is ignored, as in what a shell starts in the background or by nohup.
    Python leaves it so then, and so do we; None stands for a handler that is not Python's."""
    return signal.getsignal(number) in (signal.SIG_IGN, None)


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Hold interruptions of this thread back for the length of a `with` block: one comes at its
    end. Processes that are started in it hear of none until they call `release`."""
    if os.name != "posix":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def put_off() -> Iterator[None]:
    """Let no interruption end what a `with` block does: one comes shortly after it. Python asks
    between two instructions, whichever thread the system has told, so a mask does not do."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    met: list[Any] = []
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):  # not heard of, or not by Python
        yield
        return
    signal.signal(signal.SIGINT, lambda *what: met.append(what))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if met:
            _thread.start_new_thread(_interrupt, ())


def release() -> None:
    """Hear of interruptions from now on, and of one that has come meanwhile."""
    if os.name == "posix":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
