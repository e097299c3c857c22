"""Warns when a Python is started in which ``torch`` will not be torchlike.

``torch.multiprocessing`` refuses such processes (``torchlike.child_processes``). Those of
the standard library and of loky (joblib) may have nothing to do with tensors, which cannot be told:
they start, and a warning says what they import.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.process
import sys
from types import FrameType
from typing import Any

from torchlike.child_processes import REASON, starts_anew
from torchlike.errors import warn_once

#: Packages whose frames lie between the user's line and the start of a process.
_BETWEEN = ("multiprocessing", "concurrent", "joblib", "torchlike")


def watch() -> None:
    """Warn, once in a process, when one is started that does not inherit what this one imported."""
    # Every process there is, loky's among them, starts by this method.
    base: Any = multiprocessing.process.BaseProcess
    start = base.start
    if hasattr(start, "warns"):
        return

    def start_and_warn(process: Any) -> None:
        method = process._start_method or multiprocessing.get_start_method()
        if starts_anew(method):
            warn_once(
                f"A process with the start method {method!r}: {REASON}. (Ignore this where the "
                "process needs no tensors.)",
                RuntimeWarning,
                stacklevel=_users_level(sys._getframe(1)) + 1,
            )
        start(process)

    start_and_warn.warns = True  # type: ignore[attr-defined]
    base.start = start_and_warn


def _users_level(frame: FrameType | None) -> int:
    """How many frames up the user's line is: the first one outside of what starts processes."""
    level = 1
    while frame is not None and frame.f_back is not None:
        if frame.f_globals.get("__name__", "").split(".")[0] not in _BETWEEN:
            break
        frame, level = frame.f_back, level + 1
    return level
