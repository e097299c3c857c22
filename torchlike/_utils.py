"""``torch._utils``: helpers of PyTorch's own that libraries import."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from torchlike._core import devices, dtypes
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike.serialization.rebuilding import _rebuild_parameter, _rebuild_tensor_v2  # noqa: F401
from torchlike.tensor import Tensor


class ExceptionWrapper:
    """An exception of another thread or process, with its traceback as text."""

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        kind, value, tb = sys.exc_info() if exc_info is None else exc_info
        self.exc_type: Any = kind
        self.exc_msg = "".join(traceback.format_exception(kind, value, tb))
        self.where = where

    def reraise(self) -> NoReturn:
        """Raise one of the same type (RuntimeError where its constructor wants other arguments),
        whose message has the traceback."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            raise KeyError(_Words(message))
        try:
            exception = self.exc_type(message)
        except Exception:
            raise RuntimeError(message) from None
        raise exception


class _Words(str):
    """The message of a KeyError, which Python writes by ``repr``: its line breaks stay so."""

    __slots__ = ()

    def __repr__(self) -> str:
        return self


class classproperty:
    """A property of a class: ``@classproperty`` above ``def name(cls)``."""

    def __init__(self, func: Any) -> None:
        self.func = func

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self.func(owner)


def cpu_count() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """Return the index of a device other than the CPU (-1, where that is allowed). ValueError for a
    device without one, unless ``optional`` (then 0, the current one)."""
    if isinstance(device, int):
        return device
    found = None if device is None else devices.device(device)
    if found is not None and found.type == "cpu":
        if allow_cpu:
            return -1
        raise ValueError(f"Expected a non cpu device, but got: {device}")
    if found is not None and found.index is not None:
        return found.index
    if optional:
        return 0
    raise ValueError(
        f"Expected a torch.device with a specified index or an integer, but got:{device}"
    )


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenate the elements of tensors of one dtype to a vector."""
    return NAMESPACES[""]["cat"]([t.reshape(-1) for t in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Split a vector into views of it with the shapes of ``tensors``."""
    found, start = [], 0
    for t in tensors:
        found.append(flat[start : start + t.numel()].view(t.shape))
        start += t.numel()
    return tuple(found)


def _take_tensors(tensors: Sequence[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Yield tensors of one dtype in lists of at most ``size_limit`` bytes (or one larger
    tensor)."""
    lists: dict[Any, list[Tensor]] = {}
    sizes: dict[Any, int] = {}
    for t in tensors:
        size = t.numel() * t.element_size()
        if sizes.get(t.dtype, 0) + size > size_limit and sizes.get(t.dtype, 0) > 0:
            yield lists.pop(t.dtype)
            sizes[t.dtype] = 0
        lists.setdefault(t.dtype, []).append(t)
        sizes[t.dtype] = sizes.get(t.dtype, 0) + size
    yield from lists.values()


def _get_available_device_type() -> str | None:
    """Return the type of the accelerator that there is; None on a machine with none."""
    return next((kind for kind in ("cuda", "mps", "xpu") if devices.available(kind)), None)


def _get_device_module(device_type: str) -> Any:
    """Return ``torch.cuda`` for "cuda". RuntimeError for a type without a module."""
    module = getattr(sys.modules["torchlike"], device_type, None)
    if module is None:
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as "
            f"'torch.{device_type}'."
        )
    return module


def _get_all_device_indices() -> list[int] | None:
    """Return the indices of all accelerators; None on a machine with none."""
    kind = _get_available_device_type()
    return None if kind is None else list(range(len(devices.available(kind))))


def _element_size(dtype: dtypes.dtype) -> int:
    """Return the bytes of an element. RuntimeError for what is no dtype."""
    if not isinstance(dtype, dtypes.dtype):
        raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
    return dtype.itemsize


def _import_dotted_name(name: str) -> Any:
    """Import an object by its dotted name, whose first part is a module."""
    first, *others = name.split(".")
    found: Any = importlib.import_module(first)
    for part in others:
        found = getattr(found, part)
    return found
