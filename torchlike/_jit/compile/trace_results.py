"""`TraceResults`: what a trace found out of the program that is to be made of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike._jit.capture.given import CallValues
from torchlike._jit.capture.replayed_effects import Effect
from torchlike._jit.capture.scalars import Table
from torchlike._jit.capture.slots import Slot
from torchlike._jit.compile.output_templates import Template
from torchlike.autograd.partial import When


class TraceResults:
    """What a trace found out of the program that is to be made of it. The fields are those of
    `Outputs`, `Gradient` and `Program`, where they are described."""

    def __init__(self) -> None:
        self.numbers: Table | CallValues | None = None
        self.effects: list[Effect] = []
        self.retrace: Callable[[Any], Any] | None = None
        self.capture_seconds = 0.0
        self.cacheable = True
        self.why_not = ""
        self.changes_structure = False
        # Outputs.
        self.written: list[tuple[str, Any]] = []
        self.n_made = 0
        self.ordinary: tuple[int, ...] = ()
        self.slot_outputs: list[tuple[Slot, Template | None]] = []
        self.slot_conditions: dict[int, int] = {}
        self.flags: list[tuple[Any, Any, Any]] = []
        self.result: tuple[list[Any], Any] = [], None
        self.changes: tuple[int, ...] = ()
        self.repeats = False
        self.views: list[tuple[Template, Template, Any]] = []
        self.held: list[tuple[Template, str, Any]] = []
        self.kept: list[Template] = []
        # How a call joins the tape.
        self.cotangent_avals: list[Any] = []
        self.behind: list[int] = []
        self.boundary: list[Any] = []
        self.when: list[When] = []

    def do_not_keep(self, why: str) -> None:
        """Mark the program as one for this call alone."""
        self.cacheable, self.why_not = False, why
