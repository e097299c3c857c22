"""How hypothesis prints a tensor: as the Python that makes it, strides and all, to be pasted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from torchlike._core import dtypes as _dtypes
from torchlike._core.layouts import strided
from torchlike.tensor import Tensor
from torchlike.testing.strategies.hypothesis_package import for_type_by_name

#: Of dtypes that ``torch.tensor`` finds by itself in a list of floats, of ints, of bools.
_FOUND = (_dtypes.float32, _dtypes.int64, _dtypes.bool)
#: What has more elements in memory than this prints as tensors do, shortened.
_MOST_ELEMENTS = 4096


def register_printer() -> None:
    """Have hypothesis print the tensors of falsifying examples as Python."""
    for_type_by_name(Tensor.__module__, Tensor.__name__, _print)


def _print(tensor: Tensor, printer: Any, cycle: bool) -> None:
    printer.text(source_of(tensor) or repr(tensor))


def source_of(tensor: Tensor) -> str | None:
    """Return Python that makes a tensor like this one: values, dtype, strides, offset, device,
    requires_grad. None of one that Python does not make so: a subclass, one that was computed from
    others under autograd, a sparse one, one without values, a large one."""
    if type(tensor) is not Tensor or tensor.grad_fn is not None:
        return None
    plain = tensor.layout is strided and tensor.device.type != "meta"
    if not plain:
        return None
    detached = tensor.detach()
    shape, order = tuple(tensor.shape), tuple(reversed(range(tensor.dim())))
    if tensor.is_contiguous() and tensor.storage_offset() == 0:
        made, view = detached, ""
    elif tensor.storage_offset() == 0 and detached.permute(order).is_contiguous():
        made, view = detached.permute(order), f".permute{order}"
    else:
        size = tensor.untyped_storage().nbytes() // tensor.element_size()
        made = detached.as_strided((size,), (1,), 0)
        where = f", {tensor.storage_offset()}" if tensor.storage_offset() else ""
        view = f".as_strided({shape}, {tensor.stride()}{where})"
    if made.numel() > _MOST_ELEMENTS:
        return None
    grad = ".requires_grad_()" if tensor.requires_grad else ""
    return f"{_construction(made)}{view}{grad}"


def _construction(tensor: Tensor) -> str:
    found = _FOUND if tensor.numel() else _FOUND[:1]
    about = "" if tensor.dtype in found else f", dtype={tensor.dtype}"
    about += "" if tensor.device.type == "cpu" else f', device="{tensor.device}"'
    if tensor.numel() == 0:
        return f"torch.empty({tuple(tensor.shape)}{about})"
    # ``numpy()`` gives no bfloat16.
    return f"torch.tensor({_literal(np.asarray(tensor.jax()))}{about})"


def _literal(values: Any) -> str:
    """Write an array as nested lists, each number as the shortest that its dtype reads back."""
    if values.ndim:
        return f"[{', '.join(map(_literal, values))}]"
    if values.dtype.kind == "c":
        return f"complex({_literal(values.real)}, {_literal(values.imag)})"
    if values.dtype.kind in "biu":
        return str(values)
    if math.isnan(values):
        return "torch.nan"
    if math.isinf(values):
        return "torch.inf" if values > 0 else "-torch.inf"
    text = str(values)
    return text if set(text) & set(".en") else f"{text}.0"
