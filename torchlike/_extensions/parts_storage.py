"""The storage of tensors that are made of others: sparse, nested and masked ones."""

from __future__ import annotations

from typing import Any

from torchlike._core import devices, modes, storage
from torchlike._core.storage import Storage


@storage.SparseStorage.by
class PartsStorage(Storage):
    """The cell of a tensor of parts. A capture sees the tensors (indices and values) in it."""

    __slots__ = ()

    def read(self) -> Any:
        return self.cell

    def write(self, array: Any) -> None:
        capture = modes.current.capture
        if capture is not None:
            capture.refuse("a write to a sparse tensor", "the operation that gives another one")
        for part in self.cell.tensors():  # compiled programs look for them again
            part._storage.abandoned = True
        modes.epoch.advance()
        self.cell = array
        self.version += 1

    def __reduce__(self) -> tuple[Any, ...]:
        return PartsStorage, (self.cell,)

    @property
    def device(self) -> devices.device:
        return self.cell.held.device

    def data_ptr(self) -> int:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
