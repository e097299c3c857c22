"""Warns when a Python is started in which ``torch`` will not be torchlike.

``torch.multiprocessing`` refuses such processes (``multiprocessing._child_processes``). Those of
the standard library and of loky (joblib) may have nothing to do with tensors, which cannot be told:
they start, and a warning says what they import. Of ``subprocess`` it can be told: what runs another
script that imports torch.
"""

from __future__ import annotations

import functools
import multiprocessing
import multiprocessing.process
import os
import re
import subprocess
import sys
from types import FrameType
from typing import Any

from torchlike._core.errors import warn_once
from torchlike.multiprocessing._child_processes import REASON, starts_anew

#: Packages whose frames lie between the user's line and the start of a process.
_BETWEEN = ("multiprocessing", "concurrent", "joblib", "subprocess", "torchlike")

_IMPORTS_TORCH = re.compile(r"^[ \t]*(?:import|from)[ \t]+torch\b", re.MULTILINE)


def watch() -> None:
    """Warn, once in a process, when one is started that does not inherit what this one imported."""
    _watch_processes()
    _watch_programs()


def _watch_processes() -> None:
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


def _watch_programs() -> None:
    program: Any = subprocess.Popen
    start = program.__init__
    if hasattr(start, "warns"):
        return

    @functools.wraps(start)
    def start_and_warn(self: Any, args: Any, *others: Any, **options: Any) -> None:
        script = _script_with_torch(args, options.get("cwd"))
        if script is not None:
            warn_once(
                f"{script} imports torch, and in a process of its own that is not torchlike but "
                "real PyTorch, or nothing: run it by [sys.executable, '-m', 'torchlike', 'run', "
                "...], or let it `import torchlike as torch`",
                RuntimeWarning,
                stacklevel=_users_level(sys._getframe(1)) + 1,
            )
        start(self, args, *others, **options)

    start_and_warn.warns = True  # type: ignore[attr-defined]
    program.__init__ = start_and_warn


def _script_with_torch(args: Any, folder: Any) -> str | None:
    """The script that a command runs by Python, if it imports torch."""
    if not isinstance(args, (list, tuple)):  # a line for the shell
        return None
    words = [os.fsdecode(word) for word in args]
    if not words or not _is_python(words[0]):
        return None
    for i, word in enumerate(words[1:], 1):
        if word == "-c" and i + 1 < len(words):
            return "the program" if _finds_torch(words[i + 1]) else None
        if word == "-m":
            return None
        if not word.startswith("-"):
            try:
                with open(os.path.join(folder or ".", word), errors="replace") as file:
                    return word if _finds_torch(file.read()) else None
            except OSError:  # of which Python tells
                return None
    return None


def _is_python(command: str) -> bool:
    return command == sys.executable or re.fullmatch(
        r"python[\d.]*(?:\.exe)?", os.path.basename(command)
    ) is not None  # fmt: skip


def _finds_torch(source: str) -> bool:
    """Does it import torch without saying what that is?"""
    said = "as_torch" in source or "install_alias" in source
    return not said and _IMPORTS_TORCH.search(source) is not None


def _users_level(frame: FrameType | None) -> int:
    """How many frames up the user's line is: the first one outside of what starts processes."""
    level = 1
    while frame is not None and frame.f_back is not None:
        if frame.f_globals.get("__name__", "").split(".")[0] not in _BETWEEN:
            break
        frame, level = frame.f_back, level + 1
    return level
