"""Finds the line of the stack that is the user's: the one that a warning or a message names.

Three questions that sound alike are answered elsewhere. Whose code a capture looks into:
`torchlike._jit.capture.refusals`, which takes installed packages for the user's, and the standard
library for a library. Which frames a traceback shows: `torchlike._runtime.tracebacks`, which hides
what NumPy does only where we called it. Which source files are the user's where nothing runs:
`torchlike.porting.plan.reach`.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from types import FrameType

#: Packages whose frames are nobody's line: ours, JAX, the standard library's wrappers.
BENEATH = frozenset(("torchlike", "jax", "jaxlib", "contextlib", "functools"))
#: Those of the import system, which stand between an import statement and what is imported.
IMPORT_SYSTEM = frozenset(("importlib", "_frozen_importlib", "_frozen_importlib_external"))


def module_of(frame: FrameType) -> str:
    """Return the name of the module whose code a frame runs."""
    return str(frame.f_globals.get("__name__", ""))


def package_of(frame: FrameType) -> str:
    """Return the name of the outermost package whose code a frame runs."""
    return module_of(frame).partition(".")[0]


def innermost(
    frame: FrameType | None, is_passed_over: Callable[[FrameType], bool]
) -> FrameType | None:
    """Return the first frame, from ``frame`` outwards, that is not passed over; None where there is
    none."""
    while frame is not None and is_passed_over(frame):
        frame = frame.f_back
    return frame


def users_frame(until: str = "", beneath: frozenset[str] = BENEATH) -> FrameType | None:
    """Return the innermost frame outside the packages ``beneath``; None where there is none, or
    where the module ``until`` comes first."""
    frame = innermost(
        sys._getframe(1), lambda f: module_of(f) != until and package_of(f) in beneath
    )
    return None if frame is None or module_of(frame) == until else frame


def users_line() -> str:
    """Return the line of `users_frame` in words, "train.py:31"; "" where there is none."""
    frame = users_frame()
    return "" if frame is None else f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def warn_at(frame: FrameType | None, words: str, category: type[Warning]) -> None:
    """Warn at the line that a frame runs; at the caller's caller where there is no frame."""
    if frame is None:
        warnings.warn(words, category, stacklevel=3)
        return
    space = frame.f_globals
    warnings.warn_explicit(
        words,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=space.get("__name__"),
        registry=space.setdefault("__warningregistry__", {}),
    )
