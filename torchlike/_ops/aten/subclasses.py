"""How instances of Tensor subclasses are made: on the memory of a tensor, or without memory."""

from __future__ import annotations

from typing import Any

from torchlike._core import devices, dtypes, modes, overrides, views
from torchlike._core.layouts import strided
from torchlike._core.views.geometry import dense_strides
from torchlike._extensions.overrides import protocol
from torchlike._extensions.wrapper_storage import WrapperStorage
from torchlike.tensor import Tensor, add_method


def _make_subclass(
    cls: type,
    data: Tensor,
    require_grad: bool = False,
    *,
    dispatch_sizes_strides: bool = False,
    dispatch_device: bool = False,
    device_for_backend_keys: Any = None,
) -> Any:
    """Return a tensor of a subclass on the memory of ``data``, without its history."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError("cls must be a type (that inherits from Tensor)")
    if not isinstance(data, Tensor):
        raise TypeError(
            f"_make_subclass(): argument 'data' (position 2) must be Tensor, not "
            f"{type(data).__name__}"
        )
    overrides.enable()
    made: Any = cls
    made = made._on(data._storage, data._view)
    made._inference = data._inference
    modes.running_capture().adopt_view(made)
    with protocol.DisableTorchFunction():
        return made.requires_grad_() if require_grad else made


add_method("_make_subclass", staticmethod(_make_subclass))


def _make_wrapper_subclass(
    cls: Any,
    size: Any,
    strides: Any = None,
    storage_offset: int | None = None,
    memory_format: Any = None,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: Any = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    _extra_dispatch_keys: Any = None,
    storage_size: Any = None,
) -> Any:
    """Return a tensor of a subclass without memory of its own: its ``__torch_dispatch__`` decides
    what operators do with it.

    TypeError for what is no subclass of Tensor. RuntimeError for one without
    ``__torch_dispatch__``.
    """
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError("cls must be a type (that inherits from Tensor)")
    if cls.__torch_dispatch__ is overrides.no_dispatch:
        raise RuntimeError(
            f"{cls.__name__} must define __torch_dispatch__ to make a wrapper subclass of it"
        )
    shape = tuple(int(n) for n in size)
    place = devices.get_default_device() if device is None else devices.device(device)
    kind = dtypes.get_default_dtype() if dtype is None else dtypes.from_argument(dtype)
    if strides is None and memory_format is not None:
        order = memory_format.order_of_new(len(shape))
        strides = dense_strides(shape, order)
    if strides is not None and tuple(strides) == views.contiguous_strides(shape):
        strides = None
    storage = WrapperStorage(shape, strides, kind.numpy, place, layout, storage_offset or 0)
    made: Any = cls
    made = made._on(storage)
    with protocol.DisableTorchFunction():
        return made.requires_grad_() if requires_grad else made


add_method("_make_wrapper_subclass", staticmethod(_make_wrapper_subclass))
