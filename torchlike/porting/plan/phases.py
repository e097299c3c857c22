"""Follows a script's loop until each kind of its steps is known: with accumulated gradients most
steps only add to them, and one in several updates.

The loop runs as it is, without values. Up to its first update the steps make their state; of the
cycle after that each kind is captured before it runs: the step that begins it, without gradients,
one that adds to gradients, and the one that updates, where the cycle before had it.
"""

from __future__ import annotations

import dataclasses
import gc
from collections.abc import Callable, Sequence
from typing import Any

from torchlike.nn import Module
from torchlike.optim import Optimizer
from torchlike.porting.plan.step import CapturedStep, run_once

#: Kinds of steps, as a plan names them.
BEGINS, ADDS, UPDATES = "makes gradients", "adds gradients", "updates"

Step = Callable[..., Any]
Capture = Callable[[Step, Sequence[Any]], CapturedStep]


@dataclasses.dataclass
class Phases:
    """Told of a loop's steps in turn, it keeps one of each kind.

    Attributes:
      capture: captures a step that has its state, changing nothing.
      tell: is told what each step did, in words.
      kept: by kind, what was captured.
      length: how many steps the last cycle had, up to an update and with it; 0 before one.
      seen: how many steps there were.
      last: the last step, and its batch.
    """

    capture: Capture
    tell: Callable[[str], None]
    kept: dict[str, CapturedStep] = dataclasses.field(default_factory=dict)
    length: int = 0
    seen: int = 0
    last: tuple[Step, Sequence[Any]] | None = None
    _position: int = 0

    def follow(self, step: Step, batch: Sequence[Any]) -> bool:
        """Take the loop's next step; return whether the step that updates is known now, in which
        case it has not run."""
        self.seen += 1
        self._position += 1
        self.last = step, batch
        if self.length and self._position in (1, 2, self.length):
            found = self.capture(step, batch)
            if found.updates:
                self.kept[UPDATES] = found
                self.length = self._position
                return True
            self.kept.setdefault(BEGINS if self._position == 1 else ADDS, found)
        before = _versions()
        run_once(step, batch, {})
        updated = _versions() != before
        self.tell(f"step {self.seen} {'updates parameters' if updated else 'adds to gradients'}")
        if updated:
            self.length, self._position = self._position, 0
        return False

    def counts(self) -> dict[str, int]:
        """Return how many steps of a cycle are of each kind that was captured."""
        left = {BEGINS: 1, ADDS: max(self.length - 2, 0), UPDATES: 1}
        return {kind: left[kind] for kind in left if kind in self.kept}


def _versions() -> list[tuple[int, int]]:
    """Return the cell of each parameter alive, with its version."""
    # By their types: to ask objects for their class is to run code of theirs.
    alive = gc.get_objects()
    modules = [x for x in alive if issubclass(type(x), Module) and "_parameters" in vars(x)]
    held = [p for m in modules for p in m._parameters.values() if p is not None]
    optimizers = [x for x in alive if issubclass(type(x), Optimizer) and "state" in vars(x)]
    held += [p for x in optimizers for group in x.param_groups for p in group["params"]]
    storages = {id(p._storage): p._storage for p in held}
    return sorted((key, storage.version) for key, storage in storages.items())
