"""Old names that code still calls: new, resize, apply_, map_, typename, predicates, casts."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from torchlike._core import dtypes
from torchlike._core.dispatch.registry import composite
from torchlike._core.dispatch.schema import require_tensor
from torchlike._core.size import Size
from torchlike._extensions.overrides import protocol
from torchlike._ops.creation.filled import empty, empty_strided
from torchlike._ops.creation.from_data import tensor as make_tensor
from torchlike._ops.creation.old_constructors import of_tensor
from torchlike._ops.shape.views import alias
from torchlike.tensor import Tensor, whole_dict


@composite(namespaces=())
def new(self: Tensor, *args: Any, device: Any = None) -> Tensor:
    """Return a tensor of this tensor's dtype: ``new(2, 3)`` (a size) or ``new([1, 2])`` (data), and
    with ``new(tensor)`` or ``new(storage)`` another tensor on that one's memory; use new_empty,
    new_tensor.

    TypeError for a tensor of another dtype, RuntimeError for a tensor and a device.
    """
    target = device or self.device
    data = args[0] if len(args) == 1 else None
    data = getattr(data, "_flat", data)  # of a storage
    if isinstance(data, Tensor):
        return of_tensor(data, self.dtype, device)
    if data is not None and not isinstance(data, (int, np.integer)) and not isinstance(data, Size):
        return make_tensor(data, dtype=self.dtype, device=target)
    return empty(*(args or (0,)), dtype=self.dtype, device=target)


@composite(namespaces=())
def new_empty_strided(
    self: Tensor,
    size: Any,
    stride: Any,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Tensor:
    """Return a tensor as ``empty_strided`` makes it, with this tensor's dtype and device."""
    return empty_strided(
        size,
        stride,
        dtype=dtype or self.dtype,
        device=device or self.device,
        requires_grad=requires_grad,
    )


@composite(namespaces=())
def resize(self: Tensor, *sizes: Any) -> Tensor:
    """Return a view of as many elements in another size (deprecated in PyTorch; use reshape)."""
    return self.reshape(*sizes)


def _mapped(self: Tensor, values: Any) -> Tensor:
    array = np.asarray(list(values), dtype=self.dtype.numpy).reshape(tuple(self.shape))
    return self.copy_(make_tensor(jnp.asarray(array)))


@composite(namespaces=())
def apply_(self: Tensor, callable: Any) -> Tensor:
    """Replace each element by ``callable(element)``, one Python call each."""
    if self.requires_grad:
        raise TypeError("apply_() is not supported for tensors that require grad")
    values = self._value("apply_()", "ops on whole tensors").reshape(-1)
    return _mapped(self, (callable(v.item()) for v in values))


@composite(namespaces=())
def map_(self: Tensor, tensor: Tensor, callable: Any) -> Tensor:
    """Replace each element by ``callable(element, element of tensor)``."""
    others = tensor.expand_as(self)._value("map_()", "ops on whole tensors").reshape(-1)
    values = self._value("map_()", "ops on whole tensors").reshape(-1)
    pairs = zip(values, others, strict=True)
    return _mapped(self, (callable(a.item(), b.item()) for a, b in pairs))


@composite(namespaces=())
def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Return False: JAX manages transfers, there is no pinned memory."""
    return False


@composite(namespaces=())
def module_load(self: Tensor, other: Tensor, assign: Any = False) -> Tensor:
    """Return the tensor that takes the place of a module's when ``other`` is loaded into it, where
    ``torch.__future__.set_swap_module_params_on_conversion(True)`` holds; subclasses may override
    it.

    ``other`` detached with ``assign``; else this tensor, detached, with the values of ``other``.
    """
    return other.detach() if assign else self.copy_(other).detach()


@composite(namespaces=())
def record_stream(self: Tensor, stream: Any) -> None:
    """Do nothing: XLA orders work on a device by itself."""


@composite(namespaces=())
def is_coalesced(self: Tensor) -> bool:
    """Raise RuntimeError: only sparse tensors can be coalesced."""
    raise RuntimeError("is_coalesced expected sparse coordinate tensor layout but got Strided")


@composite(namespaces=())
def as_subclass(self: Tensor, cls: type) -> Any:
    """Return the same tensor (memory and history) as an instance of a subclass."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not "
            "possible. Make sure your class inherits from Tensor."
        )
    with protocol.DisableTorchFunction():
        same = alias(self)
    made = cls._on(same._storage)
    whole_dict(made).update(whole_dict(same))
    return made


@composite(method=False, overridable=False)
def typename(obj: Any) -> str:
    """Return ``torch.FloatTensor`` and the like for a tensor; the class name of anything else."""
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(kind, "__module__", "") or ""
    name = kind.__qualname__
    return name if module in ("", "builtins") else f"{module}.{name}"


def _cast(name: str, dtype: dtypes.dtype) -> None:
    def cast(input: Tensor, non_blocking: bool = False) -> Tensor:
        return require_tensor(input, name).to(dtype)

    cast.__name__ = cast.__qualname__ = name
    cast.__doc__ = f"Return ``input.to(torch.{dtype.name})``: a function from before ``to``."
    composite(name, method=False)(cast)


for _dtype in (
    dtypes.uint8,
    dtypes.int8,
    dtypes.float64,
    dtypes.float32,
    dtypes.int32,
    dtypes.int64,
    dtypes.int16,
    dtypes.float16,
):
    _cast(f"_cast_{dtypes.scalar_type(_dtype)}", _dtype)
