"""One watched run of a script, in a process of its own, written to a file as JSON.

No framework is imported: the process that runs a script with real PyTorch uses it too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from torchlike._runtime import whole_files
from torchlike.porting import script
from torchlike.porting.divergence.framework import WatchedFramework
from torchlike.porting.divergence.observer import EventObserver
from torchlike.porting.divergence.tracer import OperationTracer
from torchlike.porting.recording import MODULE_FLAG, begin
from torchlike.porting.step_finder import StepFinder
from torchlike.porting.whole_step import decorating

#: The option of the recording commands; its value says as JSON what is to be seen.
OPTION = "--observe"


def observe(
    framework: WatchedFramework,
    wanted: dict[str, Any],
    argv: list[str],
    *,
    marked: Callable[[], bool] = lambda: False,
    compile: Callable[[Any], Any] | None = None,
) -> None:
    """Run a script and write what was seen.

    Args:
        wanted: ``{"steps": n}``: digests of the first ``n`` steps; with ``"find_step"``, the
            function that is a whole step, too. Else: the arguments of the ``OperationTracer`` that
            notes operations. With ``"whole_step": line`` the function that begins there is
            compiled.
        marked: whether the script gave something to a compiler; called when it has ended.
        compile: compiles a function.
        argv: the file to write, then ``-m`` if a module's name follows, the script, its arguments.

    Raises:
        SystemExit: as the script ends. A script that fails is not recorded.
    """
    path, *rest = argv
    as_module = rest[:1] == [MODULE_FLAG]
    wanted = dict(wanted)
    line = wanted.pop("whole_step", None)
    prepare = None if line is None or compile is None else decorating(line, compile)
    watch: EventObserver | OperationTracer
    if "steps" in wanted:
        finder = StepFinder(looking=wanted.get("find_step", False))
        watch = EventObserver(framework, wanted["steps"], finder)
    else:
        watch = OperationTracer(framework, **wanted)
    begin(path)
    try:
        with watch:
            script.run(rest[1:] if as_module else rest, as_module=as_module, prepare=prepare)
    except SystemExit as exit_:
        if exit_.code not in (None, 0):
            raise
    file = getattr(sys.modules["__main__"], "__file__", None)
    found = {**watch.result(), "marked": marked(), "script_file": file}
    whole_files.write_text(path, json.dumps(found))
