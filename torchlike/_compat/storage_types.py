"""``torch.FloatStorage`` and its kin: storages by dtype, from before they were of one class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from torchlike._compat.typed_storage import TypedStorage
from torchlike._core import dtypes
from torchlike._extensions.untyped_storage import UntypedStorage

_DTYPES = (
    dtypes.bfloat16,
    dtypes.bool,
    dtypes.uint8,
    dtypes.int8,
    dtypes.complex128,
    dtypes.complex64,
    dtypes.float64,
    dtypes.float32,
    dtypes.float16,
    dtypes.int32,
    dtypes.int64,
    dtypes.int16,
)
_COMBINATIONS = (
    ".__new__ received an invalid combination of arguments. Expected one of:\n * no arguments\n"
    " * (int size)\n * (Sequence data)\n * (*, UntypedStorage wrap_storage)\n"
)


class _LegacyStorageMeta(type):
    """A class without instances of its own: calling it makes a TypedStorage of its dtype, and
    ``isinstance`` asks for that dtype."""

    dtype: dtypes.dtype

    def __call__(cls, *args: Any, wrap_storage: UntypedStorage | None = None) -> TypedStorage:
        """Make ``FloatStorage(3)`` (a size), ``FloatStorage([1, 2])`` (data), or a storage on
        memory given."""
        if len(args) > 1:
            raise RuntimeError(f"{cls!r}{_COMBINATIONS}Too many positional arguments")
        if args and not isinstance(args[0], (int, np.integer, Sequence)):
            raise TypeError(f"{cls!r}{_COMBINATIONS}Argument type not recognized: {type(args[0])}")
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls.dtype)

    def from_buffer(cls, *args: Any, **kwargs: Any) -> TypedStorage:
        """Copy a Python buffer's elements (see ``UntypedStorage.from_buffer``)."""
        if "dtype" in kwargs or len(args) == 5:
            raise RuntimeError(
                "from_buffer: 'dtype' can only be specified in UntypedStorage.from_buffer and "
                "TypedStorage.from_buffer"
            )
        memory = UntypedStorage.from_buffer(*args, dtype=cls.dtype, **kwargs)
        return cls(wrap_storage=memory)

    _from_buffer = from_buffer

    def from_file(cls, filename: str, shared: bool, size: int) -> TypedStorage:
        """Read the first elements of a file (see ``UntypedStorage.from_file``)."""
        count = size * cls.dtype.numpy.itemsize
        return cls(wrap_storage=UntypedStorage.from_file(filename, shared, count))

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


def _type_of(dtype: dtypes.dtype) -> _LegacyStorageMeta:
    said = f"Makes a TypedStorage of {dtype}, of a size or from a sequence: PyTorch's old name."
    facts = {"dtype": dtype, "__module__": "torchlike", "__doc__": said}
    return _LegacyStorageMeta(f"{dtypes.scalar_type(dtype)}Storage", (), facts)


STORAGE_TYPES = {found.__name__: found for found in map(_type_of, _DTYPES)}
