"""``repr`` and ``format`` of tensors: what is printed beside the values, and of which values."""

from __future__ import annotations

from typing import Any

import jax

from torchlike._core import devices, dtypes, modes, overrides
from torchlike._core.cells import KINDS
from torchlike._core.provided import Provided
from torchlike._runtime import printing
from torchlike.tensor import Tensor, add_method

repr_on_mesh = Provided("gives the text of a DTensor, and None of a tensor that is none")


def __repr__(self: Tensor, *, tensor_contents: Any = None) -> str:
    own, cell = type(self), self._storage.cell
    if type(cell) in KINDS:
        text = cell.shown(self)
        if text is not None:
            return text
    if modes.is_capturing():  # no values yet: say what is known
        size = tuple(self.shape)
        return f"{own.__name__}({printing.CAPTURED}, size={size}, dtype={self.dtype})"
    if _spans_devices(self):
        text = repr_on_mesh(self)
        if text is not None:
            return printing.parameter_repr(text) if getattr(self, "_is_param", False) else text
    dtype, default = self.dtype, dtypes.get_default_dtype()
    grad_fn = self.grad_fn
    values: Any = self
    if tensor_contents is None:
        if self.is_meta:
            values = self._read()
        else:
            with overrides.without_dispatch_modes():
                values = self.detach()._value("print(tensor)")
    text = printing.tensor_repr(
        values,
        dtype=dtype.name,
        is_default_dtype=dtype in (default, default.to_complex()),
        device=str(self.device),
        is_default_device=self.device == devices.get_default_device(),
        requires_grad=self.requires_grad,
        grad_fn=None if grad_fn is None else grad_fn.short_name(),
        # Parameter itself says of the class that it is one, other classes of an instance.
        prefix="tensor(" if own is Tensor or "_is_param" in vars(own) else f"{own.__name__}(",
        is_parameter_like=getattr(self, "_is_param", False),
        contents=tensor_contents,
    )
    return printing.parameter_repr(text) if getattr(own, "_is_param", False) else text


def _spans_devices(self: Tensor) -> bool:
    """Return whether the array lies on a mesh of devices, so that it may be a DTensor."""
    return isinstance(getattr(self._storage.cell, "sharding", None), jax.sharding.NamedSharding)


def __format__(self: Tensor, spec: str) -> str:
    if self.dim() == 0 and type(self) is Tensor and not self.is_meta:
        return self._value("format(tensor)").item().__format__(spec)
    return object.__format__(self, spec)


add_method("__repr__", __repr__)
add_method("__format__", __format__)
