"""A script's traceback as its author wants it: without the frames of the machinery below.

``TORCHLIKE_TRACEBACK=full`` in the environment shows them. Standard library only: the process that
runs a script with real PyTorch uses it too.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import traceback as traceback_module
from collections.abc import Callable, Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from torchlike._runtime.environment_variables import TRACEBACK
from torchlike._runtime.near_names import did_you_mean
from torchlike._runtime.patches import at_import

#: Frames of this package are left out, and so is what it calls inside these.
_BENEATH = ("importlib", "jax", "jaxlib", "optax", "flax", "chex", "numpy")

_PACKAGE = str(Path(__file__).parents[1]) + os.sep
#: What it calls is the script's.
_LAUNCHER = f"{_PACKAGE}porting{os.sep}script.py"
#: JAX tells with a note that it has left out frames. A script that never calls JAX need not know.
_JAX_NOTE = "JAX_TRACEBACK_FILTERING"
_IMPORT_SYSTEM = "<frozen importlib"
#: Of objects with more attributes Python suggests none.
_MOST_OF_PYTHONS = 750


def trim(exception: BaseException) -> None:
    """Remove our frames from ``exception``, its causes, its context and its group's members.

    An exception whose frames are all ours keeps them: an empty traceback would help nobody. So does
    everything when ``TORCHLIKE_TRACEBACK=full`` is set in the environment.
    """
    if TRACEBACK.get():
        return
    for one in _family(exception):
        frames = list(_frames(one.__traceback__))
        ours = _ours([frame.tb_frame.f_code.co_filename for frame in frames])
        kept = [frame for frame, hide in zip(frames, ours, strict=True) if not hide]
        if kept:
            one.__traceback__ = _chain(kept)
        notes = getattr(one, "__notes__", None)
        if notes and any(ours):
            notes[:] = [note for note in notes if _JAX_NOTE not in note]


def add_suggestion(exception: BaseException) -> None:
    """Let the error of an attribute that does not exist say which one was meant. Python does so
    itself, but of no object with more than 750 attributes, as ``torch`` and tensors have."""
    if not isinstance(exception, AttributeError) or len(exception.args) != 1:
        return
    whose: Any = exception.obj
    of = whose.__name__ if isinstance(whose, ModuleType) else type(whose).__module__
    if not isinstance(exception.name, str) or of.partition(".")[0] not in ("torchlike", "torch"):
        return
    names = dir(whose)
    suggestion = did_you_mean(exception.name, names)
    text = str(exception.args[0])
    if len(names) > _MOST_OF_PYTHONS and suggestion and suggestion not in text:
        exception.args = (text + suggestion,)


def of_the_script(traceback: TracebackType | None) -> tuple[list[TracebackType], bool]:
    """Return the frames that are not ours, outermost first, and whether the innermost is one."""
    frames = list(_frames(traceback))
    ours = _ours([frame.tb_frame.f_code.co_filename for frame in frames])
    kept = [frame for frame, hide in zip(frames, ours, strict=True) if not hide]
    return kept, bool(ours) and not ours[-1]


def install() -> None:
    """Have what ends the process, or a thread, shown without our frames: ``sys.excepthook`` and
    ``threading.excepthook`` are called as before, with shorter tracebacks."""
    patch, of_thread = at_import.EXCEPTHOOKS, _shortening_of_threads(threading.excepthook)
    patch.replace(sys, "excepthook", _shortening(sys.excepthook))
    patch.replace(threading, "excepthook", of_thread)
    # In a notebook, and at IPython's prompt, a shell shows errors: nobody calls the hooks.
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is not None:
        patch.replace(shell, "showtraceback", _shortening_of_shell(shell.showtraceback))


def _shortening(hook: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(hook)
    def excepthook(kind: Any, error: BaseException, traceback: Any) -> None:
        if error is not None and traceback is error.__traceback__:
            trim(error)
            add_suggestion(error)
            traceback = error.__traceback__
        hook(kind, error, traceback)

    return excepthook


def _shortening_of_shell(show: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(show)
    def showtraceback(exc_tuple: Any = None, *args: Any, **kwargs: Any) -> Any:
        error = sys.exc_info()[1] if exc_tuple is None else exc_tuple[1]
        if isinstance(error, BaseException):
            trim(error)
            add_suggestion(error)
            exc_tuple = type(error), error, error.__traceback__
        return show(exc_tuple, *args, **kwargs)

    return showtraceback


def _shortening_of_threads(hook: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(hook)
    def excepthook(args: Any) -> None:
        if args.exc_value is not None and args.exc_traceback is args.exc_value.__traceback__:
            trim(args.exc_value)
            add_suggestion(args.exc_value)
            traceback = args.exc_value.__traceback__
            args = threading.ExceptHookArgs((args.exc_type, args.exc_value, traceback, args.thread))
        hook(args)

    return excepthook


def _family(exception: BaseException) -> Iterator[BaseException]:
    """Yield ``exception`` and all exceptions that are printed with it, each once."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [exception]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [one.__cause__, one.__context__]
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions


def stack_of_the_script() -> list[str]:
    """Return the stack of the caller without our frames and those that began a script, in text, as
    ``traceback.format_stack`` does; all of it under ``TORCHLIKE_TRACEBACK=full``, or where nothing
    else is on it."""
    summary = traceback_module.extract_stack()[:-1]
    files = [frame.filename for frame in summary]
    if _LAUNCHER in files:
        last = len(files) - files[::-1].index(_LAUNCHER)
        summary, files = summary[last:], files[last:]
    ours = _ours(files)
    kept = [frame for frame, hide in zip(summary, ours, strict=True) if not hide]
    return traceback_module.format_list(summary if TRACEBACK.get() or not kept else kept)


def _frames(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _chain(frames: list[TracebackType]) -> TracebackType:
    traceback: TracebackType | None = None
    for frame in reversed(frames):
        traceback = TracebackType(traceback, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    assert traceback is not None
    return traceback


def _ours(files: list[str]) -> list[bool]:
    """Return, for each frame's file, outermost first, whether the frame belongs to the
    machinery."""
    beneath = _directories(_BENEATH)
    ours: list[bool] = []
    for file in files:
        called_by_us = bool(ours) and ours[-1]
        ours.append(
            file.startswith(_PACKAGE) or (called_by_us and file.startswith((*beneath, "<frozen ")))
        )
    # The import system's frames between a script's import statement and our finder.
    for i in reversed(range(len(files) - 1)):
        if files[i].startswith(_IMPORT_SYSTEM) and ours[i + 1]:
            ours[i] = True
    return ours


@functools.lru_cache(maxsize=1)
def _directories(packages: tuple[str, ...]) -> tuple[str, ...]:
    found = []
    for package in packages:
        spec = PathFinder.find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            found += [location + os.sep for location in spec.submodule_search_locations]
    return tuple(found)
