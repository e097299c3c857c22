"""Methods of ``torch.UntypedStorage`` that read or write the bytes of its memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from torchlike._compat.typed_storage import on_bytes
from torchlike._core import dtypes
from torchlike._core.errors import type_name
from torchlike._extensions.untyped_storage import UntypedStorage
from torchlike.tensor import add_method


class _Methods:
    """What UntypedStorage gets."""

    is_hpu = is_sparse = is_sparse_csr = False

    def clone(self: Any) -> UntypedStorage:
        """Return a copy."""
        return on_bytes(self).clone().untyped_storage()

    __copy__ = clone

    def copy_(self: Any, source: Any, non_blocking: bool = False) -> UntypedStorage:
        """Take another storage's bytes. TypeError for what is no storage, RuntimeError for one of
        another size."""
        self._check_memory("call copy_()")
        if not hasattr(source, "untyped"):
            raise TypeError(
                "copy_(): argument 'src' (position 1) must be torch.Storage, not "
                f"{type_name(source)}"
            )
        memory = source.untyped()
        if memory.nbytes() != self.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was "
                f"{memory.nbytes()} bytes"
            )
        on_bytes(self).copy_(on_bytes(memory))
        return self

    def fill_(self: Any, value: int) -> UntypedStorage:
        """Write one byte everywhere: the lowest of ``value``. RuntimeError for what is no int."""
        self._check_memory("call fill_()")
        if not isinstance(value, int):
            raise RuntimeError(f"fill_ expects int, but got {type_name(value)}")
        on_bytes(self).fill_(value & 0xFF)
        return self

    def __setitem__(self: Any, index: Any, value: int) -> None:
        """Write one byte at an index, or to all of a slice; tensors on the memory see it.

        RuntimeError out of range (a negative index is), for a slice with a step and for a value
        that is no int.
        """
        if not isinstance(index, (int, slice)):
            raise RuntimeError(f"can't index a torch.UntypedStorage with {type_name(index)}")
        if isinstance(index, slice) and index.step not in (None, 1):
            raise RuntimeError(
                f"Trying to slice with a step of {index.step}, but only a step of 1 is supported"
            )
        if not isinstance(value, int):
            raise RuntimeError(
                f"can only set storage content with a int types, but got {type_name(value)} instead"
            )
        if isinstance(index, int) and not 0 <= index < self.nbytes():
            raise RuntimeError("out of bounds")
        on_bytes(self)[index] = value & 0xFF

    def byteswap(self: Any, dtype: dtypes.dtype) -> None:
        """Turn the bytes of each element of ``dtype`` around, in place."""
        width = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
        flat = on_bytes(self)
        flat.copy_(flat.reshape(-1, width).flip(1).reshape(-1))

    def to(self: Any, *, device: Any, non_blocking: bool = False) -> UntypedStorage:
        """Move to a device; return itself, if it lies there."""
        flat = on_bytes(self)
        moved = flat.to(device, non_blocking=non_blocking)
        return self if moved is flat else moved.untyped_storage()

    def cpu(self: Any) -> UntypedStorage:
        """Move to the host; return itself, if it lies there."""
        return self.to(device="cpu")

    def cuda(self: Any, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        """Move to the GPU. RuntimeError without one."""
        return on_bytes(self).cuda(device, non_blocking).untyped_storage()

    def pin_memory(self: Any, device: Any = None) -> UntypedStorage:
        """Do what ``Tensor.pin_memory`` does."""
        return on_bytes(self).pin_memory(device).untyped_storage()

    def is_pinned(self: Any, device: Any = None) -> bool:
        """Return False: JAX manages transfers."""
        return False

    def new(self: Any) -> UntypedStorage:
        """Return a storage of no bytes."""
        return UntypedStorage(np.empty(0, np.uint8))

    def get_device(self: Any) -> int | None:
        """Return the accelerator's number; None on the CPU."""
        return self.device.index

    def element_size(self: Any) -> int:
        """Return 1: an element is a byte."""
        return 1

    def type(self: Any) -> str:
        """Return the name of its class in PyTorch."""
        return "torch.storage.UntypedStorage"

    @property
    def is_cuda(self: Any) -> bool:
        """Whether it lies on a GPU."""
        return self.device.type == "cuda"


class _Empty:
    """What every class has; newer Pythons give it more."""


for _name, _method in vars(_Methods).items():
    if _name not in vars(_Empty):
        add_method(_name, _method, of=UntypedStorage)
