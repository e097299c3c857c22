"""``Tensor.storage()``: the elements of a tensor's memory, in the order in which they lie there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from torchlike._compat.reexports import reexport
from torchlike._core import devices, dtypes
from torchlike._core.dispatch.registry import composite
from torchlike._core.errors import warn_once
from torchlike._extensions.untyped_storage import UntypedStorage
from torchlike._ops.creation.exchange import asarray
from torchlike._ops.creation.filled import empty
from torchlike._ops.creation.from_data import tensor
from torchlike.tensor import Tensor, add_method

_DEPRECATED = (
    "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the "
    "only storage class. This should only matter to you if you are using storages directly.  To "
    "access UntypedStorage directly, use tensor.untyped_storage() instead of tensor.storage()"
)


def on_bytes(storage: UntypedStorage) -> Tensor:
    """Return the bytes of a storage as a tensor on the same memory."""
    return asarray(storage, dtype=dtypes.uint8)


class TypedStorage:
    """The memory of a tensor as a flat sequence of numbers: read, written, asked for its size.

    ``TypedStorage(3, dtype=torch.float32)`` makes one of three elements,
    ``TypedStorage([1, 2], dtype=…)`` one of these, ``TypedStorage(wrap_storage=untyped, dtype=…)``
    one on memory that is there. Most have a class by their dtype (``torch.FloatStorage``).
    """

    is_sparse = is_hpu = False

    def __init__(
        self,
        data: Any = 0,
        *,
        wrap_storage: UntypedStorage | None = None,
        dtype: Any = None,
        device: Any = None,
        _internal: bool = False,  # PyTorch warns of what is made without it
    ) -> None:
        #: The whole memory as a vector; a view of it.
        self._flat: Tensor
        if isinstance(data, Tensor):
            self._flat = data
        elif wrap_storage is not None:
            self._flat = asarray(wrap_storage, dtype=dtype or dtypes.get_default_dtype())
        elif isinstance(data, (int, np.integer)):
            self._flat = empty(int(data), dtype=dtype, device=device)
        elif isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
            kind = dtype or dtypes.get_default_dtype()
            self._flat = tensor(data, dtype=kind, device=device).reshape(-1)
        else:
            raise TypeError(f"new(): invalid data type '{type(data).__name__}'")

    @property
    def dtype(self) -> dtypes.dtype:
        """What an element is."""
        return self._flat.dtype

    @property
    def device(self) -> devices.device:
        """Where it lies."""
        return self._flat.device

    @property
    def is_cuda(self) -> bool:
        return self._flat.is_cuda

    @property
    def _untyped_storage(self) -> UntypedStorage:
        """What libraries of PyTorch's read for ``untyped()``."""
        return self.untyped()

    def untyped(self) -> UntypedStorage:
        """Return the memory itself."""
        return self._flat.untyped_storage()

    def data_ptr(self) -> int:
        """Return its address."""
        return self.untyped().data_ptr()

    @property
    def _cdata(self) -> int:
        """``untyped()._cdata``."""
        return self.untyped()._cdata

    def size(self) -> int:
        """Return how many elements it has."""
        return self._flat.shape[0]

    __len__ = size

    def element_size(self) -> int:
        """Return the bytes of an element."""
        return self._flat.element_size()

    def nbytes(self) -> int:
        """Return the bytes of all elements."""
        return self.size() * self.element_size()

    # What libraries call in order to hear nothing of the class's deprecation.
    _size, _nbytes, _element_size, _data_ptr = size, nbytes, element_size, data_ptr

    def _place(self, index: Any) -> int:
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        n = self.size()
        if not -n <= index < n:
            raise IndexError(f"index {index} out of range for storage of size {n}")
        return index % n

    def __getitem__(self, index: Any) -> Any:
        """Return an element, a Python number. IndexError out of range; RuntimeError for a slice."""
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._flat[self._place(index)].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write an element, or the elements of a slice: the tensor sees it."""
        if not isinstance(index, slice):
            index = self._place(index)
        self._flat[index] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """Return all elements."""
        return self._flat.tolist()

    def fill_(self, value: Any) -> TypedStorage:
        """Write one number everywhere."""
        self._flat.fill_(value)
        return self

    def copy_(self, source: TypedStorage, non_blocking: Any = None) -> TypedStorage:
        """Take another storage's elements."""
        self._flat.copy_(source._flat)
        return self

    def clone(self) -> TypedStorage:
        """Return a copy."""
        return TypedStorage(self._flat.clone())

    def cpu(self) -> TypedStorage:
        """Copy to the host, unless it lies there."""
        return TypedStorage(self._flat.cpu())

    def cuda(self, device: Any = None, non_blocking: bool = False) -> TypedStorage:
        """Copy to the GPU. RuntimeError without one."""
        return TypedStorage(self._flat.cuda(device, non_blocking))

    def to(self, *, device: Any, non_blocking: bool = False) -> TypedStorage:
        """Copy to a device; on the memory that it has, if that lies there."""
        return TypedStorage(self._flat.to(device, non_blocking=non_blocking))

    def pin_memory(self, device: Any = None) -> TypedStorage:
        """Do what ``Tensor.pin_memory`` does."""
        return TypedStorage(self._flat.pin_memory(device))

    def get_device(self) -> int | None:
        """Return the accelerator's number; None on the CPU."""
        return self.device.index

    def resizable(self) -> bool:
        """Return whether it may grow: not where NumPy sees the memory."""
        return self.untyped().resizable()

    def resize_(self, size: int) -> None:
        """Give it ``size`` elements; new ones are as ``empty`` has them."""
        memory, dtype = self.untyped(), self.dtype
        UntypedStorage.resize_(memory, size * self.element_size())
        self._flat = TypedStorage(wrap_storage=memory, dtype=dtype)._flat

    @classmethod
    def from_buffer(cls, *args: Any, dtype: Any = None, **kwargs: Any) -> TypedStorage:
        """Copy a Python buffer's elements (see ``UntypedStorage.from_buffer``)."""
        dtype = dtype or dtypes.get_default_dtype()
        memory = UntypedStorage.from_buffer(*args, dtype=dtype, **kwargs)
        return TypedStorage(wrap_storage=memory, dtype=dtype)

    @classmethod
    def from_file(cls, filename: str, shared: bool, size: int) -> TypedStorage:
        """Raise RuntimeError: only classes of a dtype (``torch.FloatStorage``) know how large
        elements are."""
        raise RuntimeError("from_file can only be called on derived classes")

    def type(self, dtype: Any = None) -> Any:
        """Return the name of its class in PyTorch, or the elements as another dtype."""
        if dtype is None:
            return f"torch.{self.pickle_storage_type()}"
        return TypedStorage(self._flat.to(dtype))

    def pickle_storage_type(self) -> str:
        """Return the name of its type in checkpoints: ``FloatStorage``."""
        return f"{dtypes.scalar_type(self.dtype)}Storage"

    def is_pinned(self, device: Any = None) -> bool:
        """Return False: JAX manages transfers."""
        return False

    @property
    def filename(self) -> str | None:
        """The file that the memory is mapped from, where writes reach it; None for other memory."""
        return self._flat.untyped_storage().filename

    def is_shared(self) -> bool:
        """Return whether processes that it is sent to see the same memory."""
        return self._flat.is_shared()

    def share_memory_(self) -> TypedStorage:
        """Move the elements to memory that processes share, and return itself. RuntimeError where
        there is none."""
        self._flat.share_memory_()
        return self

    _is_shared, _share_memory_ = is_shared, share_memory_

    def _new_shared(self, size: int, *, device: Any = None) -> TypedStorage:
        """Make another one of ``size`` elements of the same kind, shared from the beginning."""
        return TypedStorage(empty(size, dtype=self.dtype, device=device)).share_memory_()

    def __repr__(self) -> str:
        kind = f"dtype={self.dtype}, device={self.device}"
        lines = " " + "\n ".join(map(str, self)) + "\n"
        return f"{lines}[torch.storage.TypedStorage({kind}) of size {self.size()}]"


def _converting(dtype: dtypes.dtype) -> Any:
    def method(self: TypedStorage | UntypedStorage) -> TypedStorage:
        flat = self._flat if isinstance(self, TypedStorage) else on_bytes(self)
        return TypedStorage(flat.to(dtype, copy=True))

    method.__doc__ = f"A copy of the elements (of an UntypedStorage: the bytes) as {dtype}."
    return method


_CASTS = {
    **{name: d for name, d in dtypes.BY_METHOD.items() if not d.is_complex},
    "complex_double": dtypes.complex128,
    "complex_float": dtypes.complex64,
    **{
        name: getattr(dtypes, name)
        for name in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
    },
}
for _name, _dtype in _CASTS.items():
    for _class in (TypedStorage, UntypedStorage):
        add_method(_name, _converting(_dtype), of=_class)


@composite(namespaces=())
def storage(self: Tensor) -> TypedStorage:
    """Return the memory this tensor looks at, element by element. Deprecated:
    ``untyped_storage()``."""
    warn_once(_DEPRECATED, UserWarning, stacklevel=2)
    return _typed_storage(self)


@composite(namespaces=())
def _typed_storage(self: Tensor) -> TypedStorage:
    """Do ``storage()`` without telling anybody that it is deprecated."""
    count = self.untyped_storage().nbytes() // max(self.element_size(), 1)
    return TypedStorage(self.detach().as_strided((count,), (1,), 0))


@composite(method=False, overridable=False)
def is_storage(obj: Any) -> bool:
    """Return whether ``obj`` is a storage."""
    return isinstance(obj, (UntypedStorage, TypedStorage))


reexport("torchlike", {"storage": (TypedStorage, UntypedStorage)})
