"""One recorded run of a script, in a process of its own, written to a file as JSON.

Standard library only: the process that runs a script with real PyTorch uses it too.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torchlike.porting import script
from torchlike.porting.recorder import Framework, Recorder

MODULE_FLAG = "-m"


def record(
    framework: Framework,
    about: Callable[[], dict[str, Any]],
    argv: list[str],
) -> None:
    """Run a script and write what was recorded.

    Args:
        framework: the PyTorch that the script will import.
        about: gives further entries of the record; called when the script has ended.
        argv: the file to write, then ``-m`` if a module's name follows, the script, its arguments.

    Raises:
        SystemExit: as the script ends. A script that fails is not recorded.
    """
    path, *rest = argv
    as_module = rest[:1] == [MODULE_FLAG]
    recorder = Recorder(framework)
    recorder.install()
    begin = time.perf_counter()
    try:
        script.run(rest[1:] if as_module else rest, as_module=as_module)
    except SystemExit as exit_:
        if exit_.code not in (None, 0):
            raise
    seconds = time.perf_counter() - begin
    entries = {**about(), **recorder.result(), "seconds": seconds}
    Path(path).write_text(json.dumps(entries), encoding="utf-8")
