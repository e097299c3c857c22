"""A process that ends when the one that started it does."""

from __future__ import annotations

import ctypes
import signal
import sys

_PR_SET_PDEATHSIG = 1


def ends_with_parent() -> None:
    """From now on the kernel kills this process when its parent ends (on Linux; elsewhere nothing:
    there the end of a socket says so)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
