"""The storage of a tensor that ``make_dual`` made: it shares the primal's and the tangent's memory.

Reads find what both hold now, and writes go to both. Once the level has ended, it is the primal.
"""

from __future__ import annotations

from typing import Any

from torchlike._core import errors, modes
from torchlike._core.dispatch.record import snapshot
from torchlike._core.storage import Storage
from torchlike._extensions.boxed import JvpLevel
from torchlike._extensions.boxes import Dual
from torchlike.tensor import Tensor, wrap


class DualStorage(Storage):
    """A primal and a tangent, two tensors of the level below."""

    __slots__ = ("_counted", "level", "primal", "tangent")
    is_of_another = True

    def __init__(self, level: JvpLevel, primal: Tensor, tangent: Tensor) -> None:
        self.level, self.primal, self.tangent = level, primal, tangent
        self._counted = 0
        super().__init__(None)

    @property
    def cell(self) -> Any:
        """The two as they are now; what took them keeps these values."""
        if not self.level.alive:
            return self.primal._read()
        return Dual(self.level, snapshot(self.primal), snapshot(self.tangent))

    @cell.setter
    def cell(self, value: Any) -> None:
        if value is not None:
            self.write(value)

    @property
    def is_of_a_view(self) -> bool:  # type: ignore[override]
        """Whether the primal is a view of more memory."""
        return self.primal._view is not None

    @property
    def version(self) -> int:
        return self._counted + self.primal._storage.version + self.tangent._storage.version

    @version.setter
    def version(self, value: int) -> None:
        self._counted += value - self.version if value else 0

    def write(self, array: Any) -> None:
        if not (type(array) is Dual and array.level is self.level):
            array = Dual(self.level, wrap(array))
        if modes.current.grad_enabled and self.primal.requires_grad and self.primal.is_leaf:
            raise RuntimeError(errors.LEAF_VIEW_IN_PLACE)
        self.primal.copy_(array.value)
        if not self.level.alive:
            return
        if array.tangent is None:
            self.tangent.zero_()
        else:
            self.tangent.copy_(array.tangent)

    def data_ptr(self) -> int:
        return self.primal.data_ptr()

    def alike(self, array: Any) -> Storage:
        """Return a storage of its own memory."""
        return Storage(array)
