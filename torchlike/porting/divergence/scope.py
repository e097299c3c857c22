"""Where events are counted and noted: the script, or one program that is being captured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from torchlike.porting.divergence.digests import digest

#: What stands in a note for values that are not there yet: their place among the scope's ``kept``.
KEPT = "kept"


@dataclass
class EventScope:
    """The counts and notes of one level.

    In a program, numbers begin at 0 and tensors have no values: they are kept, the program gives
    them back at each of its calls, and the notes are completed with them (``resolved``).
    """

    #: The capture of the program; None for the script.
    capture: Any = None
    #: Modules that are being called, the outermost first.
    stack: list[Any] = field(default_factory=list)
    #: What the script itself is in the middle of: "call", "backward", "update" or nothing.
    inside: str | None = None
    #: Updates made, events and calls of modules begun.
    updates: int = 0
    events: int = 0
    calls: int = 0
    updating: int = 0
    #: Tensors of a program, for its callers.
    kept: list[Any] = field(default_factory=list)
    #: What an `Observer` notes: events, and the calls that are under way.
    noted: list[dict[str, Any]] = field(default_factory=list)
    open: list[dict[str, Any]] = field(default_factory=list)
    #: What a `Tracer` notes: operations, and the gradients of what they are given and give.
    operations: list[dict[str, Any]] = field(default_factory=list)
    gradients: list[Any] = field(default_factory=list)
    #: Places whose gradients are held, and those gradients.
    wanted: set[int] = field(default_factory=set)
    held: dict[int, Any] = field(default_factory=dict)
    #: By tensor: itself, and its place among the gradients.
    places: dict[int, tuple[Any, int]] = field(default_factory=dict)
    #: Take the hooks off again.
    remove: list[Callable[[], None]] = field(default_factory=list)

    def keep(self, tensor: Any) -> dict[str, int]:
        """Keep a tensor of the program's, and return what stands for its values."""
        self.kept.append(tensor)
        return {KEPT: len(self.kept) - 1}


def resolved(note: Any, arrays: list[np.ndarray | None]) -> Any:
    """Return a copy of ``note`` in which the values of tensors that were kept have been put in
    place: a digest of them, or where nothing else is said of the tensor, themselves."""
    if isinstance(note, list):
        return [resolved(one, arrays) for one in note]
    if isinstance(note, tuple):
        return tuple(resolved(one, arrays) for one in note)
    if not isinstance(note, dict):
        return note
    if KEPT not in note:
        return {name: resolved(one, arrays) for name, one in note.items()}
    array = arrays[note[KEPT]]
    about = {name: one for name, one in note.items() if name != KEPT}
    if not about:
        return array
    return about if array is None else {**about, **digest(array)}
