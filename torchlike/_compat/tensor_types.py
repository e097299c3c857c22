"""``torch.FloatTensor`` and its kin: constructors by dtype, from before dtypes were arguments."""

from __future__ import annotations

from typing import Any

from torchlike._compat.typed_storage import TypedStorage
from torchlike._core import dtypes
from torchlike._core.layouts import strided
from torchlike._extensions.untyped_storage import UntypedStorage
from torchlike._ops.creation.filled import empty
from torchlike._ops.creation.old_constructors import of_size_or_data, of_tensor
from torchlike.tensor import Tensor


class DenseTensorType(type):
    """A class without instances of its own: calling it makes a Tensor of its dtype, and
    ``isinstance`` asks for that dtype."""

    dtype: dtypes.dtype
    #: The type of the device on which its tensors are.
    device_type = "cpu"

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        """Make ``LongTensor(2, 3)`` (a size), ``LongTensor([1, 2])`` or ``LongTensor(range(3))``
        (data: any sequence), ``LongTensor()``. TypeError for another object."""
        if len(args) == 1 and isinstance(args[0], (TypedStorage, UntypedStorage)):
            return _on_storage(args[0], cls.dtype)
        if len(args) == 1 and isinstance(args[0], Tensor):
            return of_tensor(args[0], cls.dtype, device)
        return of_size_or_data(args, cls.dtype, device)

    def __instancecheck__(cls, instance: Any) -> bool:
        return (
            isinstance(instance, Tensor)
            and instance.dtype is cls.dtype
            and instance.layout is strided  # sparse ones are of torch.sparse's classes
        )

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


def _on_storage(storage: Any, dtype: dtypes.dtype) -> Tensor:
    """Return a tensor that covers a storage. RuntimeError for a storage of another dtype."""
    if isinstance(storage, TypedStorage) and storage.dtype is not dtype:
        raise RuntimeError(
            f"Expected a Storage of type {dtypes.scalar_type(dtype)} or an UntypedStorage, but got "
            f"type {dtypes.scalar_type(storage.dtype)} for argument 1 'storage'"
        )
    return empty(0, dtype=dtype, device=storage.device).set_(storage)


def _type_of(name: str, dtype: dtypes.dtype) -> DenseTensorType:
    said = f"Makes a tensor of {dtype}, of a size or from data: PyTorch's old name."
    return DenseTensorType(name, (), {"dtype": dtype, "__module__": "torchlike", "__doc__": said})


TENSOR_TYPES = {
    f"{name}Tensor": _type_of(f"{name}Tensor", dtype) for name, dtype in dtypes.WITH_CLASSES.items()
}
