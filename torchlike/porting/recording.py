"""One recorded run of a script, in a process of its own, written to a file as JSON.

Standard library only: the process that runs a script with real PyTorch uses it too.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torchlike._runtime import interrupts, whole_files
from torchlike.porting import script
from torchlike.porting.recorder import RecordedFramework, Recorder
from torchlike.porting.step_finder import StepFinder
from torchlike.porting.whole_step import decorating

MODULE_FLAG = "-m"
#: What is added to the record's name for the file that says that the script has begun.
BEGUN = ".begun"


def record(
    framework: RecordedFramework,
    about: Callable[[], dict[str, Any]],
    argv: list[str],
    *,
    find_step: bool = False,
    whole_step: int | None = None,
) -> None:
    """Run a script and write what was recorded.

    Args:
        framework: the PyTorch that the script will import.
        about: gives further entries of the record; called when the script has ended.
        argv: the file to write, then ``-m`` if a module's name follows, the script, its arguments.
        find_step: whether to look for the function that is a whole training step.
        whole_step: the first line of a function of the script's that is to be compiled.

    Raises:
        SystemExit: as the script ends. A script that fails is not recorded.
    """
    path, *rest = argv
    as_module = rest[:1] == [MODULE_FLAG]
    recorder = Recorder(framework, finder=StepFinder(looking=find_step))
    recorder.install()
    begin(path)
    prepare = None if whole_step is None else decorating(whole_step, recorder.whole_step)
    start = time.perf_counter()
    try:
        script.run(rest[1:] if as_module else rest, as_module=as_module, prepare=prepare)
    except SystemExit as exit_:
        if exit_.code not in (None, 0):
            raise
    seconds = time.perf_counter() - start
    file = getattr(sys.modules["__main__"], "__file__", None)
    entries = {**about(), **recorder.result(), "seconds": seconds, "script_file": file}
    entries["peak_memory"] = _peak_memory()
    whole_files.write_text(path, json.dumps(entries))


def begin(path: str) -> None:
    """Say that the script begins, whose record ``path`` is to be: interruptions are its affair now.

    `compare` starts this process with the signal held, so that an interruption of our imports
    prints none of our lines. An empty file says that the script has begun.
    """
    Path(path + BEGUN).touch()
    interrupts.release()


def _peak_memory() -> int | None:
    """Return the most memory that this process has had, in bytes; None where the system does not
    say."""
    try:
        usage = importlib.import_module("resource").getrusage(0)
    except ImportError:  # Windows
        return None
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
