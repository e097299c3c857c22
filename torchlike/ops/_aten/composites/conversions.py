"""Conversions and copies: ``_to_copy`` where something changes, else the tensor itself."""

from __future__ import annotations

from typing import Any, NamedTuple

from torchlike._core import devices, dtypes, errors
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._core.layouts import contiguous_format, memory_format, preserve_format, strided
from torchlike.ops._aten.handlers import composite, unhandled
from torchlike.ops._aten.of_symbols import symbolic
from torchlike.ops._aten.packets import aten
from torchlike.tensor import Tensor


def _converted(
    self: Tensor,
    dtype: Any,
    device: Any,
    copy: Any = False,
    memory: Any = None,
    non_blocking: Any = False,
) -> Tensor:
    changes: dict[str, Any] = {}
    if dtype is not None and dtype is not self.dtype:
        changes["dtype"] = dtype
    if device is not None and device != self.device:
        changes["device"] = device
    ordered = memory in (None, preserve_format) or self.is_contiguous(memory_format=memory)
    if not (changes or copy) and ordered:
        return self
    if dtype is not None:
        changes["dtype"] = dtype
    if device is not None:
        changes["device"] = device
    if memory is not None:
        changes["memory_format"] = memory
    if non_blocking:
        changes["non_blocking"] = True
    return aten._to_copy.default(self, **changes)


class Asked(NamedTuple):
    """What ``x.to(…)`` is asked for."""

    dtype: Any = None
    device: Any = None
    memory: Any = None
    non_blocking: Any = False
    copy: Any = False
    #: The tensor whose dtype and device are meant.
    other: Any = None


def asked_of_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Asked:
    """Return the dtype, device and other options that the arguments of ``to`` ask for."""
    found: dict[str, Any] = {}
    flags: list[Any] = []
    for a in args:
        if isinstance(a, Tensor):
            found["other"] = a
        elif isinstance(a, dtypes.dtype):
            found["dtype"] = a
        elif isinstance(a, memory_format):
            found["memory"] = a
        elif isinstance(a, (str, devices.device)) or (
            isinstance(a, int) and not isinstance(a, bool)
        ):
            found["device"] = a
        elif a is not None:
            flags.append(a)
    found.update(zip(("non_blocking", "copy"), flags, strict=False))
    named = {"memory" if k == "memory_format" else k: v for k, v in kwargs.items()}
    found.update({k: v for k, v in named.items() if v is not None and k in Asked._fields})
    other = found.get("other")
    if other is not None:
        found.update(dtype=other.dtype, device=other.device)
    if "device" in found:
        found["device"] = devices.device(found["device"])
    if "dtype" in found:
        found["dtype"] = dtypes.from_argument(found["dtype"])
    return Asked(**found)


@composite("to", "Tensor.to")
def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Return the tensor with another dtype or on another device."""
    asked = asked_of_to(args, kwargs)
    return _converted(self, asked.dtype, asked.device, asked.copy, asked.memory, asked.non_blocking)


def _to_dtype(name: str, dtype: Any) -> None:
    @composite(name, f"Tensor.{name}")
    def convert(self: Tensor, memory_format: Any = None) -> Tensor:
        return _converted(self, dtype, None, memory=memory_format)


for _name, _dtype in dtypes.BY_METHOD.items():
    _to_dtype(_name, _dtype)


@composite("cpu", "Tensor.cpu")
def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """Move the tensor to the CPU."""
    return _converted(self, None, devices.CPU, memory=memory_format)


@composite("Tensor.cuda")
def cuda(self: Tensor, device: Any = None, non_blocking: Any = False) -> Tensor:
    """Move the tensor to a GPU."""
    place = devices.device("cuda", 0) if device is None else devices.device(device)
    return _converted(self, None, place, non_blocking=non_blocking)


@composite("type", "Tensor.type")
def type_(self: Tensor, dtype: Any = None, non_blocking: Any = False) -> Any:
    """Return the tensor with another dtype; without one, the name of its type."""
    if dtype is None:
        kind = {"cpu": "torch"}.get(self.device.type, f"torch.{self.device.type}")
        return f"{kind}.{dtypes.scalar_type(self.dtype)}Tensor"
    return _converted(self, dtypes.from_argument(dtype), None)


@composite("type_as")
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """Return the tensor with another's dtype, on its device."""
    if self.dtype is other.dtype and self.device == other.device:
        return self
    return aten._to_copy.default(self, dtype=other.dtype, layout=strided, device=other.device)


@composite("contiguous")
def contiguous(self: Tensor, *, memory_format: Any = contiguous_format) -> Tensor:
    """Return the tensor in row-major (or the asked) memory order."""
    if self.is_contiguous(memory_format=memory_format):
        return self
    return aten.clone.default(self, memory_format=memory_format)


@composite("item", "Tensor.item")
def item(self: Tensor) -> Any:
    """Return the value of a tensor of one element."""
    if self.numel() != 1:
        raise RuntimeError(errors.NO_SCALAR.format(self.numel()))
    return aten._local_scalar_dense.default(self)


@composite("is_nonzero", "Tensor.__bool__")
def is_nonzero(self: Tensor) -> bool:
    """Return whether the one element is not zero."""
    n = self.numel()
    if n != 1:
        what = "no values" if n == 0 else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
    return bool(aten._local_scalar_dense.default(self))


@composite("Tensor.__float__")
def as_float(self: Tensor) -> float:
    """Return ``float(x)``."""
    return float(item(self))


@composite("Tensor.__int__", "Tensor.__index__")
def as_int(self: Tensor) -> int:
    """Return ``int(x)``."""
    return int(item(self))


@composite("tensor")
def tensor(data: Any, **options: Any) -> Tensor:
    """Make a new tensor where no class or mode sees it, then hand it over; of symbolic numbers by
    operators that they see."""
    wants_grad = options.pop("requires_grad", False)
    made = symbolic(data, options.get("dtype"), options.get("device"))
    if made is not None:
        return made.requires_grad_() if wants_grad else made
    with unhandled():
        made = NAMESPACES[""]["tensor"](data, **options)
    lifted = aten.lift_fresh.default(made)
    return lifted.requires_grad_() if wants_grad else lifted


@composite("from_numpy")
def from_numpy(ndarray: Any) -> Tensor:
    """Make a tensor over an array's memory, then hand it over."""
    with unhandled():
        made = NAMESPACES[""]["from_numpy"](ndarray)
    return aten.lift_fresh.default(made)
