"""A call on a stack of its own: backward passes within backward passes end no Python stack.

Each pass that a custom Function's backward begins stands on the frames of the one around it. Every
so many of them go to another thread, whose stack is empty, as PyTorch's engine has it; the calling
thread waits meanwhile.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

from torchlike._core import modes, overrides, tape
from torchlike._extensions import boxes

#: As many passes stand on one stack. (Python allows 1,000 frames; a pass takes 10 to 16.)
PASSES = 40
#: What each thread has its own of.
_OF_THREAD: tuple[threading.local, ...] = (
    modes.current,
    tape.saving,
    overrides.state,
    boxes.reverse,
)


def call(function: Callable[[], Any]) -> Any:
    """Run a function in another thread under the modes of this one, and return its result or raise
    its error. The modes that it leaves are this thread's afterwards."""
    given = [dict(vars(state)) for state in _OF_THREAD]
    left: list[Any] = []
    ended: dict[str, Any] = {}

    def run() -> None:
        for state, values in zip(_OF_THREAD, given, strict=True):
            vars(state).update(values)
        try:
            ended["result"] = function()
        except BaseException as error:
            ended["error"] = error
        left.extend(dict(vars(state)) for state in _OF_THREAD)

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(run,), name="torchlike backward")
    thread.start()
    thread.join()
    for state, values in zip(_OF_THREAD, left, strict=True):
        vars(state).update(values)
    if "error" in ended:
        raise ended["error"]
    return ended["result"]
