"""torch.UntypedStorage."""

from __future__ import annotations

from collections.abc import Callable

from torchlike import devices
from torchlike.storage import Storage


class UntypedStorage:
    """What ``Tensor.untyped_storage()`` gives: identity, size and address of the memory."""

    __module__ = "torchlike"

    def __init__(self, storage: Storage) -> None:
        if not isinstance(storage, Storage):
            raise NotImplementedError(
                "torch.UntypedStorage(…): storages are made of tensors. Use instead: "
                "torch.empty(n, dtype=torch.uint8).untyped_storage()."
            )
        self._storage = storage

    def data_ptr(self) -> int:
        return self._storage.data_ptr()

    def nbytes(self) -> int:
        return self._storage.nbytes

    size = __len__ = nbytes

    @property
    def device(self) -> devices.device:
        return self._storage.device

    #: Set by ops/resizing.py.
    resize_: Callable[[UntypedStorage, int], UntypedStorage]

    def resizable(self) -> bool:
        """Whether it may grow: not where NumPy sees the memory."""
        return self._storage.host is None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and other._storage is self._storage

    def __hash__(self) -> int:
        return id(self._storage)
