"""Finds the function of a script that is one whole training step: forward, backward and update.

The frames on the stack tell. A function that is a step is on it at a forward, at the backward and
at the update of one step, and is another call of itself at the next step: one that holds the loop
over the steps is the same call.

Standard library only: the process that runs a script with real PyTorch uses it too.
"""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

#: Steps that are looked at: frames keep their locals alive, the tensors of a step among them.
_STEPS = 2

#: Calls of modules that are looked at: a script that makes no steps does not pay for ever.
_MOST_FORWARDS = 20_000

_RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


@dataclass
class StepFinder:
    """Told of what a step consists of, it says after two steps which function that was.

    Attributes:
      looking: until when it wants to be told.
      _steps: for each step seen, the calls that it lies in, innermost first.
    """

    looking: bool = True
    _forwards: int = 0
    _forward: list[FrameType] = field(default_factory=list)
    _backward: list[FrameType] = field(default_factory=list)
    _steps: list[list[FrameType]] = field(default_factory=list)
    _found: dict[str, Any] | None = None

    def forward(self) -> None:
        """Note the frames in which a module is being called."""
        if self.looking:
            self._forwards += 1
            if self._forwards > _MOST_FORWARDS:
                self.stop()
            else:
                self._forward = _stack(sys._getframe(2))

    def backward(self) -> None:
        """Note the frames in which a backward pass is being started."""
        if self.looking:
            self._backward = _stack(sys._getframe(2))

    def update(self) -> None:
        """Note the frames in which an optimizer has made a step, and stop looking after enough of
        them."""
        if not self.looking:
            return
        both = {id(frame) for frame in self._forward} & {id(frame) for frame in self._backward}
        self._steps.append([frame for frame in _stack(sys._getframe(2)) if id(frame) in both])
        if len(self._steps) == _STEPS:
            self.stop()

    def stop(self) -> None:
        """Decide, and let go of the frames."""
        if self.looking and len(self._steps) == _STEPS:
            self._found = self._decide(*self._steps)
        self.looking = False
        self._steps, self._forward, self._backward = [], [], []

    def result(self) -> dict[str, Any] | None:
        """Return the innermost such function: its name, file and first line; None where there is
        none."""
        return self._found

    @staticmethod
    def _decide(first: list[FrameType], second: list[FrameType]) -> dict[str, Any] | None:
        before = {id(frame) for frame in first}
        codes = {frame.f_code for frame in first}
        for frame in second:
            code = frame.f_code
            if id(frame) in before or code not in codes:
                continue
            if code.co_flags & _RESUMED or code.co_name.startswith("<"):
                continue
            return {
                "name": code.co_qualname,
                "file": code.co_filename,
                "line": code.co_firstlineno,
            }
        return None


def _stack(frame: FrameType | None) -> list[FrameType]:
    """Return the frames from ``frame`` outwards."""
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames
