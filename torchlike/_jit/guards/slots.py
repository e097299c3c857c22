"""Guards on slots: what `p.grad`, a module's buffer and their like hold at a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torchlike._jit.capture.slots import Slot, rebound_slots
from torchlike._jit.guards.guard import ARGUMENTS, Guard
from torchlike._jit.guards.signatures import PLAIN, describe_slot, is_plain
from torchlike.tensor import Tensor


class SlotGuard(Guard):
    """Of a slot that programs rebind: whether it holds a tensor, and of which shape and dtype."""

    __slots__ = ("described", "slot")
    of_arguments = True

    def __init__(self, slot: Slot) -> None:
        self.slot = slot
        value = slot.initial
        self.described: Any = not slot.is_missing if value is None else describe_slot(value)

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        slot = self.slot
        now = slot.value(arguments)
        if now is None:
            return self.described is (slot.of_tensor or slot.is_there())
        return bool(describe_slot(now) == self.described)

    def expression(self, name: Callable[[Any], str]) -> str | None:
        slot = self.slot
        if not slot.of_tensor or slot.argument >= 0:
            return None
        now = f"{name(slot.owner)}.__dict__.get({slot.name!r})"
        if self.described is True:
            return f"{now} is None"
        before = self.described
        if not isinstance(before, tuple) or before[2:] != (*PLAIN[:4], 0, *PLAIN[4:]):
            return None
        shape, dtype = before[:2]
        own = name(slot)  # its locals
        plain = is_plain(now, own, shape, dtype, name)
        return f"({plain} or {name(self.check)}({ARGUMENTS}))"

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        slot, before = self.slot, self.described
        now = slot.value(arguments)
        present = describe_slot(now) if now is not None else slot.is_there()
        name = slot_label(slot)
        if isinstance(present, bool) or isinstance(before, bool):
            words = {True: "None", False: "nothing"}
            was, became = (
                words[x] if isinstance(x, bool) else "a tensor" for x in (before, present)
            )
            return f"{name} changed: {was} → {became}"
        if isinstance(now, Tensor) and present[0] != before[0]:
            return f"the shape of {name} changed: {before[0]} → {present[0]}"
        return f"the kind of {name} changed"


class BoundSlotGuard(Guard):
    """Of a slot that only a change of a module rebinds: the very object that it holds."""

    __slots__ = ("held", "slot")
    follows_epoch = True

    def __init__(self, slot: Slot) -> None:
        self.slot = slot
        self.held = slot.initial

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        slot = self.slot
        return slot.value(()) is self.held and not rebound_slots.has(slot.owner, slot.name)

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        return f"{slot_label(self.slot)} was bound to another tensor"


class FlagGuard(Guard):
    """The ``requires_grad`` of a leaf from outside, which the program switches."""

    __slots__ = ("leaf", "requires_grad")

    def __init__(self, leaf: Tensor, requires_grad: bool) -> None:
        self.leaf = leaf
        self.requires_grad = requires_grad

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return self.leaf._requires_grad is self.requires_grad

    def expression(self, name: Callable[[Any], str]) -> str | None:
        return f"{name(self.leaf)}._requires_grad is {self.requires_grad}"

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        before = self.requires_grad
        return f"the requires_grad of a tensor changed: {before} → {not before}"


def slot_label(slot: Slot) -> str:
    """Return the name of a slot in messages: `` `Linear.bias` ``, `` `Parameter.grad` ``."""
    return f"`{type(slot.owner).__name__}.{slot.name.removeprefix('_')}`"
