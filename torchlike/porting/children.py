"""Lets the processes that this one starts know that ``torch`` is torchlike.

By the environment, which they inherit: a folder in ``PYTHONPATH`` whose ``sitecustomize`` Python
runs when it starts, and the variable ``TORCHLIKE_CHILDREN``, which says for which Python that is
meant. So it reaches processes of ``multiprocessing``, ``concurrent.futures``, joblib and
``subprocess``, and theirs in turn, but no other interpreter or virtual environment.

A process that is started with a cleaned environment, or by a Python that takes no notice of
``PYTHONPATH`` (``-I``, ``-E``) or runs no ``sitecustomize`` (``-S``), is not reached: a warning
tells of that where the process is known to want torch, or may. ``torch.multiprocessing`` refuses to
start such a process where the flags are this one's own.
"""

from __future__ import annotations

import functools
import multiprocessing
import multiprocessing.process
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from types import FrameType
from typing import Any

from torchlike._core.errors import warn_once_at
from torchlike._runtime.environment_variables import CHILDREN
from torchlike._runtime.frames import innermost, package_of
from torchlike._runtime.patches import in_processes
from torchlike.multiprocessing._child_processes import REASON, starts_anew, torch_is_an_alias
from torchlike.porting.at_start import sitecustomize

#: What ``PYTHONPATH`` names.
FOLDER = str(Path(sitecustomize.__file__).parent)

#: Packages whose frames lie between the user's line and the start of a process.
_BETWEEN = ("multiprocessing", "concurrent", "joblib", "subprocess", "torchlike")

_IMPORTS_TORCH = re.compile(r"^[ \t]*(?:import|from)[ \t]+torch\b", re.MULTILINE)


def share_alias() -> None:
    """Let processes started from now on know, and warn of those that cannot, once in a process."""
    # If this one was told itself, what waited for an import of torch has had its time.
    waiting = sitecustomize.TorchOnDemand.__name__
    sys.meta_path[:] = [f for f in sys.meta_path if type(f).__name__ != waiting]
    add_alias(os.environ)
    if sys.flags.ignore_environment or sys.flags.no_site:  # which multiprocessing passes on
        torch_is_an_alias()
    _watch_processes()
    _watch_programs()


def unshare_alias() -> None:
    """Let processes started from now on import what they find under torch's name."""
    without = without_alias(os.environ)
    for name in set(os.environ) - set(without):
        del os.environ[name]
    os.environ.update(without)
    in_processes.CHILDREN.restore()


def add_alias(environment: MutableMapping[str, str]) -> None:
    """Put into an environment what processes started in it need to know."""
    folders = _folders(environment)
    environment["PYTHONPATH"] = os.pathsep.join([FOLDER, *(f for f in folders if f != FOLDER)])
    environment[CHILDREN.name] = sitecustomize.this_environment()


def without_alias(environment: Mapping[str, str]) -> dict[str, str]:
    """Return a copy of an environment without what tells children: a process started in it imports
    real PyTorch as ``torch``."""
    without = {name: said for name, said in environment.items() if name != CHILDREN.name}
    folders = _folders(environment)
    if FOLDER in folders:
        without["PYTHONPATH"] = os.pathsep.join(f for f in folders if f != FOLDER)
        if not without["PYTHONPATH"]:
            del without["PYTHONPATH"]
    return without


def has_alias(environment: Mapping[str, str]) -> bool:
    """Return whether a process started in this environment knows that ``torch`` means torchlike."""
    said = environment.get(CHILDREN.name)
    return said == sitecustomize.this_environment() and FOLDER in _folders(environment)


def _folders(environment: Mapping[str, str]) -> list[str]:
    said = environment.get("PYTHONPATH")
    return said.split(os.pathsep) if said else []


def _watch_processes() -> None:
    # Every process there is, loky's among them, starts by this method.
    base: Any = multiprocessing.process.BaseProcess
    start = base.start
    if hasattr(start, "warns"):
        return

    def start_and_warn(process: Any) -> None:
        method = process._start_method or multiprocessing.get_start_method()
        deaf = sys.flags.ignore_environment or sys.flags.no_site
        if starts_anew(method) and (deaf or not has_alias(os.environ)):
            warn_once_at(
                _users_frame(),
                f"A process with the start method {method!r}: {REASON}. (Ignore this where the "
                "process needs no tensors.)",
                RuntimeWarning,
            )
        start(process)

    start_and_warn.warns = True  # type: ignore[attr-defined]
    in_processes.CHILDREN.replace(base, "start", start_and_warn)


def _watch_programs() -> None:
    program: Any = subprocess.Popen
    start = program.__init__
    if hasattr(start, "warns"):
        return

    @functools.wraps(start)
    def start_and_warn(self: Any, args: Any, *others: Any, **options: Any) -> None:
        script = _script_with_another_torch(args, options.get("cwd"), options.get("env"))
        if script is not None:
            warn_once_at(
                _users_frame(),
                f"{script} imports torch, and in the process that runs it that is not torchlike "
                "but real PyTorch, or nothing: let it inherit this process's environment "
                f"(PYTHONPATH and {CHILDREN.name}) and take no -I, -E or -S, or let it "
                "`import torchlike as torch`",
                RuntimeWarning,
            )
        start(self, args, *others, **options)

    start_and_warn.warns = True  # type: ignore[attr-defined]
    in_processes.CHILDREN.replace(program, "__init__", start_and_warn)


def _script_with_another_torch(args: Any, folder: Any, environment: Any) -> str | None:
    """Return the script that a command runs by this Python, if its torch will not be torchlike."""
    if not isinstance(args, (list, tuple)):  # a line for the shell
        return None
    words = [os.fsdecode(word) for word in args]
    if not words:
        return None
    given = os.environ if environment is None else environment
    deaf = not has_alias({os.fsdecode(k): os.fsdecode(v) for k, v in given.items()})
    for i, word in enumerate(words[1:], 1):
        if word.startswith("-") and not word.startswith("--") and word[1:2] not in "mc":
            deaf = deaf or any(flag in word for flag in "IES")
            continue
        if not (deaf and _is_this_python(words[0], given)):
            return None
        if word == "-c" and i + 1 < len(words):
            return "the program" if _finds_torch(words[i + 1]) else None
        if word.startswith("-"):
            return None
        try:
            with open(os.path.join(folder or ".", word), errors="replace") as file:
                return word if _finds_torch(file.read()) else None
        except OSError:  # of which Python tells
            return None
    return None


def _is_this_python(command: str, environment: Mapping[str, str]) -> bool:
    """Return whether a command is this Python, or one beside it."""
    if command == sys.executable:
        return True
    if re.fullmatch(r"python[\d.]*(?:\.exe)?", os.path.basename(command)) is None:
        return False
    found = shutil.which(command, path=environment.get("PATH"))
    return found is not None and os.path.dirname(found) == os.path.dirname(sys.executable)


def _finds_torch(source: str) -> bool:
    """Return whether a source imports torch without saying what that is."""
    said = "as_torch" in source or "install_alias" in source
    return not said and _IMPORTS_TORCH.search(source) is not None


def _users_frame() -> FrameType | None:
    """Return the innermost frame outside of what starts processes; the outermost where there is
    none."""
    return innermost(sys._getframe(1), lambda f: f.f_back is not None and package_of(f) in _BETWEEN)
