"""The storage of ``x.detach()`` where x's cell holds a box: the same memory, without the gradients
and tangents of any level."""

from __future__ import annotations

from typing import Any

from torchlike._core import boxes, tape
from torchlike._core.boxes import Batched, Dual
from torchlike._core.storage import Storage
from torchlike._core.tensor import Tensor, wrap
from torchlike._dispatch.record import rejoined


class DetachedStorage(Storage):
    """Reads another storage's box as it is without gradients and tangents, and writes values into
    it, of which its gradients and tangents know nothing."""

    __slots__ = ("of",)

    def __init__(self, of: Storage) -> None:
        self.of = of
        super().__init__(None)
        self.strides = of.strides

    @property
    def cell(self) -> Any:  # type: ignore[override]
        cell = self.of.cell
        return cell.detached() if type(cell) in boxes.BOXES else cell

    @cell.setter
    def cell(self, box: Any) -> None:
        if box is not None:  # None is what __init__ sets
            self.of.cell = _with_value(self.of.cell, box)

    @property
    def version(self) -> int:  # type: ignore[override]
        return self.of.version

    @version.setter
    def version(self, version: int) -> None:
        if version:  # 0 is what __init__ sets
            self.of.version = version

    def read(self) -> Any:
        box = self.of.read()
        return box.detached() if type(box) in boxes.BOXES else box

    def write(self, array: Any) -> None:
        self.of.write(_with_value(self.of.read(), array))

    def is_sole_owner(self) -> bool:
        return False


def _with_value(old: Any, new: Any) -> Any:
    """The box ``old`` with the values of ``new``, and its own gradients and tangents."""
    if type(old) not in boxes.BOXES:
        return new
    if type(new) not in boxes.BOXES or new.level is not old.level:
        new = old.level.lift(wrap(new))
    value = _tensor_with_value(old.value, new.value)
    if type(old) is Dual:
        return Dual(old.level, value, old.tangent)
    return Batched(old.level, value, new.batched)


def _tensor_with_value(old: Tensor, new: Tensor) -> Tensor:
    edge = tape.gradient_edge(old)
    value = _with_value(old._read(), new._read())
    return wrap(value) if edge is None else rejoined(value, edge)
