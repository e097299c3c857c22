"""One watched run of a script, in a process of its own, written to a file as JSON.

No framework is imported: the process that runs a script with real PyTorch uses it too.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torchlike.porting import script
from torchlike.porting.divergence.framework import Framework
from torchlike.porting.divergence.observer import Observer
from torchlike.porting.divergence.tracer import Tracer
from torchlike.porting.recording import MODULE_FLAG, begin

#: The option of the recording commands; its value says as JSON what is to be seen.
OPTION = "--observe"


def observe(framework: Framework, wanted: dict[str, Any], argv: list[str]) -> None:
    """Run a script and write what was seen.

    Args:
        wanted: ``{"steps": n}``: digests of the first ``n`` steps. ``{"call": n}`` or
            ``{"before": n}``: the operations that ``Tracer`` notes.
        argv: the file to write, then ``-m`` if a module's name follows, the script, its arguments.

    Raises:
        SystemExit: as the script ends. A script that fails is not recorded.
    """
    path, *rest = argv
    as_module = rest[:1] == [MODULE_FLAG]
    watch: Observer | Tracer
    result: Callable[[], dict[str, Any]]
    if "steps" in wanted:
        observer = watch = Observer(framework, wanted["steps"])
        result = observer.result
    else:
        tracer = watch = Tracer(framework, **wanted)
        result = lambda: {"operations": tracer.operations}  # noqa: E731
    begin(path)
    try:
        with watch:
            script.run(rest[1:] if as_module else rest, as_module=as_module)
    except SystemExit as exit_:
        if exit_.code not in (None, 0):
            raise
    Path(path).write_text(json.dumps(result()), encoding="utf-8")
