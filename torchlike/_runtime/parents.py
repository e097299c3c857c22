"""Processes that end when the one that started them does."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def ends_with_parent(parent: int | None = None, by: signal.Signals = signal.SIGKILL) -> None:
    """Have the kernel send this process a signal when its parent ends (on Linux; elsewhere
    nothing). One whose ``parent`` has ended already gets it now."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, by, 0, 0, 0)
        if parent is not None and os.getppid() != parent:
            os.kill(os.getpid(), by)
