"""The storage of ``x.detach()`` inside a transform: the same memory, without the gradients and
tangents of any level."""

from __future__ import annotations

from typing import Any

import numpy as np

from torchlike._core import modes, tape
from torchlike._core.dispatch.record import rejoined
from torchlike._core.storage import Storage
from torchlike._extensions import boxes
from torchlike._extensions.boxes import Batched, Dual
from torchlike.tensor import Tensor, wrap


class DetachedStorage(Storage):
    """Reads another storage's values, and writes values into it, of which its gradients and
    tangents know nothing. Gradients and tangents that are written here stay here."""

    __slots__ = ("_own", "_written", "of")

    def __init__(self, of: Storage) -> None:
        self.of = of
        #: The box that was written here last, and the version that this made; None without one.
        self._own: Any = None
        self._written = 0
        super().__init__(None)
        self.strides = of.strides
        for level in modes.current.levels:
            if level.made is not None and of in level.made:
                level.made.add(self)

    @property
    def cell(self) -> Any:  # type: ignore[override]
        return self._seen(self.of.cell if self.of.host is None else self.of.value())

    @cell.setter
    def cell(self, box: Any) -> None:
        if box is not None:  # None is what __init__ sets
            self.of.cell = _with_value(self.of.cell, box)
            self._keep(box)

    @property
    def host(self) -> Any:  # type: ignore[override]
        return self.of.host

    @host.setter
    def host(self, host: Any) -> None:
        if host is not None:
            self.of.host = host

    @property
    def version(self) -> int:  # type: ignore[override]
        return self.of.version

    @version.setter
    def version(self, version: int) -> None:
        if version:  # 0 is what __init__ sets
            self.of.version = version

    def read(self) -> Any:
        return self._seen(self.of.read())

    def value(self) -> Any:
        return self._seen(self.of.value())

    def write(self, array: Any) -> None:
        self.of.write(_with_value(self.of.read(), array))
        self._keep(array)

    def _keep(self, array: Any) -> None:
        self._own = array if type(array) in boxes.BOXES else None
        self._written = self.of.version

    def _seen(self, cell: Any) -> Any:
        """Return the contents of the other storage as this one shows them."""
        found = cell.detached() if type(cell) in boxes.BOXES else cell
        own = self._own
        if own is None or not own.level.alive:
            return found
        return own if self._written == self.of.version else _with_value(own, found)

    def is_sole_owner(self) -> bool:
        return False

    def share_with_host(self) -> np.ndarray:
        return self.of.share_with_host()

    def share_with_processes(self, *to: Any, **place: Any) -> None:
        self.of.share_with_processes(*to, **place)

    def data_ptr(self) -> int:
        return self.of.data_ptr()


def _with_value(old: Any, new: Any) -> Any:
    """Return the box ``old`` with the values of ``new``, and its own gradients and tangents."""
    depth = old.level.depth if type(old) in boxes.BOXES else -1
    inside: Any = new
    while type(inside) is Dual and inside.level.depth > depth:  # of which ``old`` knows nothing
        inside = inside.value._read()
    new = inside
    if type(old) not in boxes.BOXES:
        return new.detached() if type(new) in boxes.BOXES else new
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
