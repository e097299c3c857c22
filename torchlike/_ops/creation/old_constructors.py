"""What PyTorch's old constructors make of their arguments: ``torch.Tensor(2, 3)`` and its kin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from torchlike._core import dtypes
from torchlike._core.errors import type_name
from torchlike._core.size import Size
from torchlike._ops.creation.filled import empty
from torchlike._ops.creation.from_data import tensor
from torchlike._ops.shape.views import alias
from torchlike.tensor import Tensor, add_method


def of_tensor(data: Tensor, dtype: dtypes.dtype, device: Any) -> Tensor:
    """Return what the legacy constructors make of a tensor: a view of all of it, with its history.

    TypeError for a tensor of another dtype, RuntimeError where a device is given as well.
    """
    if device is not None:
        raise RuntimeError(
            "Legacy tensor constructor of the form torch.Tensor(tensor, "
            "device=device) is not supported. Use torch.as_tensor(tensor, "
            "device=device)"
        )
    if data.dtype is not dtype:
        raise TypeError(f"expected {dtype} (got {data.dtype})")
    return alias(data)


def _legacy(*args: Any, **kwargs: Any) -> Tensor:
    """Return the tensor that ``torch.Tensor`` makes of a size (``torch.Tensor(2, 3)``), of data
    (``torch.Tensor([1, 2])``) or of all the memory of a storage (``torch.Tensor(storage)``), in the
    default dtype."""
    device = kwargs.pop("device", None)
    if "data" in kwargs and not args:
        args = (kwargs.pop("data"),)
    if kwargs:
        raise TypeError(
            f"new() received an invalid combination of arguments: {', '.join(kwargs)}. It takes a "
            "size or data, and a device; torch.tensor takes a dtype"
        )
    if len(args) == 1 and isinstance(args[0], Tensor):
        return of_tensor(args[0], args[0].dtype, device)
    if len(args) == 1 and hasattr(args[0], "untyped"):  # a storage
        return empty(0, device=args[0].device).set_(args[0])
    return of_size_or_data(args, dtypes.get_default_dtype(), device)


def of_size_or_data(args: tuple[Any, ...], dtype: dtypes.dtype, device: Any) -> Tensor:
    """Return the tensor that the legacy constructors make of their positional arguments: nothing,
    several, an integer or a Size are a size, and anything else is data: a list, a range, an array,
    any sequence.

    TypeError for data that is no sequence.
    """
    data = args[0] if args else 0
    if isinstance(data, np.ndarray) and data.ndim == 0 and data.dtype.kind in "iu":
        data = data[()]
    if len(args) != 1 or isinstance(data, (Size, np.integer)) or type(data) is int:
        return empty(*(args if len(args) > 1 else (data,)), dtype=dtype, device=device)
    if isinstance(data, (Mapping, np.generic)) or not hasattr(data, "__getitem__"):
        raise TypeError(f"new(): data must be a sequence (got {type_name(data)})")
    return tensor(data, dtype=dtype, device=device)


add_method("_legacy_new", staticmethod(_legacy))
