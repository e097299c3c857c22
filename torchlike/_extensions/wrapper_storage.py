"""The storage of a wrapper subclass: a size, strides, dtype and device, and no memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torchlike._core import devices
from torchlike._core.storage import Storage
from torchlike._extensions.wrapped import NoMemory, Wrapped, refusal


class WrapperStorage(Storage):
    """What a wrapper subclass says of itself."""

    __slots__ = ("_device", "layout", "offset", "root")

    def __init__(
        self,
        shape: Sequence[int],
        strides: Sequence[int] | None,
        dtype: Any,
        device: Any,
        layout: Any,
        offset: int = 0,
    ) -> None:
        super().__init__(Wrapped(shape, dtype))
        self.strides = None if strides is None else tuple(strides)
        self._device, self.layout, self.offset = device, layout, offset
        #: The storage that it stands for: of a view that of its base, else itself.
        self.root: Storage = self

    @property
    def device(self) -> devices.device:
        return self._device

    def alike(self, array: Any) -> Storage:
        """Return a plain storage that has an array."""
        return Storage(array)

    def read(self) -> Any:
        return self.cell

    def value(self) -> Any:
        return self.cell

    def concrete(self) -> Any:
        return self.cell

    def data_ptr(self) -> int:
        return 0

    def write(self, array: Any) -> None:
        raise NoMemory(refusal("a write"))

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        said = (self.shape, self.strides, self.dtype, str(self.device), self.layout, self.offset)
        return _rebuild, said


def _rebuild(
    shape: Any, strides: Any, dtype: Any, device: str, layout: Any, offset: int
) -> WrapperStorage:
    """Unpickle a storage."""
    return WrapperStorage(shape, strides, dtype, devices.device(device), layout, offset)
