"""``torch.utils.dlpack``: arrays shared with other libraries."""

from __future__ import annotations

from typing import Any

from torchlike._core.overrides import DisableTorchFunctionSubclass
from torchlike._ops import functions
from torchlike.tensor import Tensor

__all__ = ["ReadOnlyTensorWrapper", "from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """Return the tensor's memory as a capsule (a versioned one, which says that it may be
    written)."""
    return tensor.__dlpack__(max_version=(1, 0))


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: Any = None) -> Tensor:
    """Make a tensor of what another library offers (an object with ``__dlpack__``, or a
    capsule)."""
    return functions.from_dlpack(ext_tensor, device=device, copy=copy)


class ReadOnlyTensorWrapper(Tensor):
    """A tensor's memory for libraries that take it by ``__dlpack__`` and may not write to it.

    Everything else raises RuntimeError. Differs from PyTorch: there is no C interface besides.

    Example:
      >>> import numpy as np
      >>> np.from_dlpack(torch.utils.dlpack.ReadOnlyTensorWrapper(torch.ones(2))).flags.writeable
      False
    """

    _ALLOWED = frozenset((Tensor.__dlpack__, Tensor.__dlpack_device__))

    def __new__(cls, tensor: Tensor) -> ReadOnlyTensorWrapper:
        return tensor.as_subclass(cls)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in cls._ALLOWED:
            with DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        raise RuntimeError(
            f"{cls.__name__} only supports DLPack export; "
            f"'{getattr(func, '__name__', func)}' is not allowed. Unwrap the tensor to operate on "
            "its data."
        )

    def __dlpack__(self, *, max_version: Any = None, **kwargs: Any) -> Any:
        version = (1, 0) if max_version is None else max_version
        with DisableTorchFunctionSubclass():
            return super().__dlpack__(max_version=version, read_only=True, **kwargs)
