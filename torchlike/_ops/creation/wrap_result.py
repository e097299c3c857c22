"""What creation functions begin and end with: sizes, dtypes, the tensor that an array becomes."""

from __future__ import annotations

from typing import Any

import numpy as np

from torchlike._core import devices, dtypes, errors, layouts, modes, views
from torchlike._core.cells import KINDS
from torchlike._core.dispatch.copying import array_to_device
from torchlike._core.dispatch.out import check_overlap
from torchlike._extensions.meta import MetaArray
from torchlike._ops.memory_order import strides_like
from torchlike._ops.outputs import write_out
from torchlike._ops.shape.views import shape_arguments
from torchlike._runtime import x64
from torchlike._runtime.first_calls.program import host
from torchlike.tensor import Tensor, wrap


def finish(
    array: Any,
    device: Any = None,
    requires_grad: Any = False,
    layout: Any = None,
    pin_memory: Any = False,
) -> Tensor:
    """Wrap a fresh array, place it, set requires_grad: the common end of creation functions."""
    if layout is not None and layout is not layouts.strided:
        if not isinstance(layout, layouts.layout):
            raise TypeError(f"layout must be torch.layout, not {type(layout).__name__}")
        raise NotImplementedError(
            f"layout={layout!r}: torchlike's dense tensors are strided; sparse ones are made by "
            "torchlike.sparse_coo_tensor and Tensor.to_sparse()"
        )
    x64.require()
    target = devices.resolve(device)
    if target.type == "meta":
        array = MetaArray(array.shape, array.dtype)
    elif (target.type != "cpu" or not host().is_default) and (
        type(array) not in KINDS or array.device != target  # else it will be computed there
    ):
        array = array_to_device(array, target)
    t = wrap(array)
    if modes.current.inference:
        t._inference = True
    if requires_grad:
        if t.dtype.category < 2:
            raise RuntimeError(errors.FLOAT_ONLY_GRAD)
        t._requires_grad = True
    return t


def finish_into(
    out: Any,
    array: Any,
    device: Any,
    requires_grad: Any,
    layout: Any = None,
    *,
    resizes: Any = True,
    each: Any = False,
) -> Tensor:
    """Return what ``finish`` returns, or write the array into ``out`` and return that; ``out`` then
    requires grad if that is asked for.

    ``each``: whether elements of ``out`` that are one in memory are refused; PyTorch does so where
    the elements of the result differ.
    """
    if out is None:
        return finish(array, device, requires_grad, layout)
    if each:
        check_overlap(out, (), "out")
    write_out(out, finish(array, device, False, layout), resizes=resizes)
    return out.requires_grad_() if requires_grad else out


def numpy_dtype(dtype: Any, default: dtypes.dtype | None = None) -> np.dtype:
    """Return the numpy dtype of a user's dtype argument (None: ``default`` or the default
    dtype)."""
    if dtype is None:
        return (default or dtypes.get_default_dtype()).numpy
    return dtypes.from_argument(dtype).numpy


def checked_size(size: Any, name: str) -> tuple[int, ...]:
    """Return a size after checking that it has no negative entries; RuntimeError in PyTorch's words
    otherwise."""
    shape = shape_arguments(size, name)
    if any(n < 0 for n in shape):
        raise RuntimeError(f"{name}: Dimension size must be non-negative.")
    return shape


def out_dtype(out: Tensor | None, dtype: Any, default: Any = None) -> np.dtype:
    """Return the dtype of a creation function with ``out=``: that of ``out``, which ``dtype`` must
    agree with. RuntimeError when it does not."""
    if out is None:
        return numpy_dtype(dtype, default)
    if dtype is not None and numpy_dtype(dtype) != out.dtype.numpy:
        given_, own = (
            dtypes.scalar_type(d) for d in (dtypes.from_numpy_dtype(numpy_dtype(dtype)), out.dtype)
        )
        raise RuntimeError(f"dtype {given_} does not match dtype of out parameter ({own})")
    return out.dtype.numpy


def preserve_strides(made: Tensor, model: Tensor, memory_format: Any = None) -> None:
    """Give a fresh tensor the memory order of its model, without gaps."""
    stride = strides_like(model._geometry, memory_format)
    if stride != views.contiguous_strides(model._geometry.size):
        made._storage.strides = stride
