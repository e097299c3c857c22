"""Random generators of a program that checks values: a call that fails puts them back."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from torchlike.random.engine import Engine
from torchlike.random.generator import Generator

#: Streams, and where each was.
Marks = list[tuple[Engine, tuple[Any, ...]]]


class Generators:
    """The random generators that the calls of one program draw from."""

    def __init__(self, generators: Sequence[Generator]) -> None:
        self._generators = generators

    def marks(self) -> Marks:
        """Return where the streams are."""
        engines = [generator.engine for generator in self._generators]
        return [(engine, engine.mark()) for engine in engines]

    def undo(self, before: Marks) -> Callable[[], None]:
        """Return what puts the streams back to ``before``, when a call has just drawn."""
        return functools.partial(_go_back, before, self.marks())


def _go_back(before: Marks, after: Marks) -> None:
    """Put streams back that nobody has drawn from since: what others drew stays drawn."""
    for (engine, mark), (_, end) in zip(before, after, strict=True):
        if engine.is_at(end):
            engine.go_back(mark)
