"""Moving and converting whole modules: ``to``, ``cuda``, ``half`` and their kin."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

from torchlike._core.errors import NO_DATA
from torchlike._extensions.swap import swap_tensors
from torchlike._ops.creation.conversion import wanted_by_to
from torchlike._ops.creation.shared_memory import share
from torchlike.autograd.grad_mode import no_grad
from torchlike.nn.conversion_switches import (
    get_overwrite_module_params_on_conversion,
    get_swap_module_params_on_conversion,
)
from torchlike.nn.parameter import Parameter, is_lazy
from torchlike.tensor import Tensor

Convert = Callable[[Tensor], Tensor]


def _give_memory(t: Tensor, made: Tensor) -> Tensor:
    """Bind ``t`` to the memory of ``made``, unless it has it already, and return ``t``."""
    if made is not t and (made._storage is not t._storage or made._view is not t._view):
        t.data = made
    return t


def _exchange(t: Tensor, made: Tensor) -> Tensor:
    """Swap ``t`` with what was made of it, and return ``t``."""
    swap_tensors(t, Parameter(made, t.requires_grad) if isinstance(t, Parameter) else made.detach())
    return t


def _renew(t: Tensor, made: Tensor) -> Tensor:
    """Return a new leaf that holds what was made of ``t``."""
    if isinstance(t, Parameter):
        return Parameter(made, t.requires_grad)
    return made.detach().requires_grad_(t.requires_grad)


def _replacement() -> Callable[[Tensor, Tensor], Tensor]:
    """Return the function that replaces a parameter by what was made of it, chosen by
    ``torch.__future__``."""
    if get_swap_module_params_on_conversion():
        return _exchange
    return _renew if get_overwrite_module_params_on_conversion() else _give_memory


class Conversions:
    """The part of Module that converts parameters and buffers, in place.

    Parameters stay the same objects, so an optimizer made before a conversion keeps working, unless
    ``torch.__future__.set_overwrite_module_params_on_conversion(True)`` asks for new ones.
    """

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    children: Callable[[], Any]
    parameters: Callable[[], Any]
    buffers: Callable[[], Any]
    _rebind_tensor: Callable[[str], None]

    def _apply(self, fn: Convert, recurse: bool = True) -> Self:
        """Replace every parameter, gradient and buffer by what ``fn`` makes of it."""
        if recurse:
            for child in self.children():
                child._apply(fn)
        replaced = _replacement()
        for name, parameter in self._parameters.items():
            if parameter is None:
                continue
            with no_grad():
                grad = parameter.grad
                new = replaced(parameter, fn(parameter))
                if new is not parameter:
                    self._rebind_tensor(name)
                    self._parameters[name] = new
                if grad is not None:
                    converted = replaced(grad, fn(grad))
                    if new.grad is not converted:
                        new.grad = converted
        for name, buffer in self._buffers.items():
            if buffer is None:
                continue
            if is_lazy(buffer):  # goes on waiting
                buffer.data = fn(buffer)
            else:
                new = fn(buffer)
                if new is not buffer:
                    self._rebind_tensor(name)
                    self._buffers[name] = new
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move or convert parameters and buffers: ``to(device)``, ``to(dtype)``, ``to(device,
        dtype)``, ``to(tensor)``, ``to(memory_format=…)``.

        Only floating point and complex tensors change dtype. TypeError for an integer dtype and
        for arguments that do not fit, RuntimeError for ``copy``.

        Example:
          >>> torch.nn.Linear(3, 2).to(torch.float64).weight.dtype
          torch.float64
        """
        dtype, device, copy, memory_format = wanted_by_to(args, kwargs)
        if copy:
            raise RuntimeError(".to() does not accept copy argument")
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={dtype}"
            )

        if dtype is not None and dtype.is_complex:
            warnings.warn(
                "Complex modules are a new feature under active development whose design may "
                "change, and some modules might not work as expected when using complex tensors "
                "as parameters or buffers.",
                stacklevel=2,
            )

        def convert(t: Tensor) -> Tensor:
            if t.is_meta and device is not None and device.type != "meta":
                raise NotImplementedError(
                    f"{NO_DATA} Please use torch.nn.Module.to_empty() instead of "
                    "torch.nn.Module.to() when moving module from meta to a different device."
                )
            wanted = dtype if t.dtype.category > 1 else None
            if memory_format is not None and not is_lazy(t) and t.dim() in (4, 5):
                return t.to(device, wanted, memory_format=memory_format)
            return t.to(device, wanted)

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move to a device without keeping the values (they become zero)."""
        return self._apply(lambda t: t.new_empty(t.shape, device=device), recurse)

    def cpu(self) -> Self:
        """Move to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Move to a GPU. RuntimeError naming JAX's backends when there is none."""
        return self._apply(lambda t: t.cuda(device))

    def type(self, dst_type: Any) -> Self:
        """Convert all parameters and buffers, integers too."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Self:
        """Convert floating point parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Self:
        """Convert floating point parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self) -> Self:
        """Convert floating point parameters and buffers to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self) -> Self:
        """Convert floating point parameters and buffers to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def share_memory(self) -> Self:
        """Move parameters, gradients and buffers to memory that processes share: one block, which
        costs one open file. See ``Tensor.share_memory_``."""
        tensors = [*self.parameters(), *self.buffers()]
        for t in filter(is_lazy, tensors):
            t.share_memory_()  # raises
        grads = (p.grad for p in tensors if p.is_leaf)
        share([*tensors, *(g for g in grads if g is not None)])
        return self
