"""Tensors from data: numbers, sequences, arrays and other tensors."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core import casts, dtypes, errors, modes, views
from torchlike._core.dispatch.registry import OP_FUNCTIONS, composite
from torchlike._core.storage import Storage, host_value
from torchlike._core.tensor_values import note_literal
from torchlike._ops.creation.infer_dtype import infer
from torchlike._ops.creation.wrap_result import finish, numpy_dtype, preserve_strides
from torchlike._ops.memory_order import strides_like
from torchlike._runtime.provided import Provided
from torchlike.tensor import Tensor, add_method

symbolic_tensor = Provided("a tensor of numbers of which some are symbolic, else None")

_ARRAYS = (np.ndarray, jax.Array)


def _check_memory_of(ndarray: np.ndarray) -> None:
    if any(s < 0 for s in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not currently supported. (You can probably work around this by making a "
            "copy of your array  with array.copy().) "
        )
    if any(s % ndarray.itemsize for s in ndarray.strides if ndarray.itemsize):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy "
            "the numpy array to reallocate the memory."
        )
    if not ndarray.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion "
            "between byte orders is currently not supported."
        )


@composite(method=False)
def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: Any = False,
    pin_memory: Any = False,
) -> Tensor:
    """Return a new tensor holding a copy of ``data`` (numbers, nested sequences, arrays, tensors).

    ValueError for ragged sequences, TypeError for data that are no numbers.

    Example:
      >>> torch.tensor([[1, 2], [3, 4]]), torch.tensor(1.5).dtype
      (tensor([[1, 2],
              [3, 4]]), torch.float32)
    """
    _warn_of_copy(data, "torch.tensor")
    return _copied(data, dtype, device, requires_grad)


def _warn_of_copy(data: Any, function: str) -> None:
    if isinstance(data, Tensor):
        errors.warn_user(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach()"
            ".clone() or sourceTensor.detach().clone().requires_grad_(True), rather than "
            f"{function}(sourceTensor).",
            UserWarning,
        )


def _copied(data: Any, dtype: Any, device: Any, requires_grad: Any) -> Tensor:
    if isinstance(data, Tensor):
        copy = data.detach()._read()
        if dtype is not None:
            copy = casts.convert(copy, numpy_dtype(dtype))
        made = finish(copy, device or data.device, requires_grad)
        preserve_strides(made, data)
        return made
    if (symbolic := casts.of_program(data)) is not None:
        target = numpy_dtype(dtype, dtypes.scalar_dtype(data))
        return finish(casts.convert(symbolic, target), device, requires_grad)
    if isinstance(data, np.ndarray):
        _check_memory_of(data)
    if isinstance(data, jax.Array):
        array: Any = data
    else:
        try:
            array = infer(data, None if dtype is None else numpy_dtype(dtype))
        except RuntimeError:
            made = symbolic_tensor(data, dtype, device)
            if made is None:
                raise
            return made.requires_grad_() if requires_grad else made
    if dtype is not None:
        cast = casts.convert if isinstance(data, _ARRAYS) else _from_numbers
        array = cast(array, numpy_dtype(dtype))
    else:
        dtypes.from_numpy_dtype(array.dtype)
    if isinstance(array, jax.Array):
        made = finish(jnp.array(array), device, requires_grad)
    else:
        values = np.array(array)
        made = finish(host_value(values), device, requires_grad)
        if not isinstance(data, np.ndarray):
            note_literal(made._storage, values)
    if isinstance(data, np.ndarray) and data.size and not data.flags.c_contiguous:
        strides = tuple(s // data.itemsize for s in data.strides)
        made._storage.strides = strides_like(views.Geometry(data.shape, strides, 0))
    return made


@composite(method=False)
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """Return ``data`` as a tensor, sharing memory with a NumPy array or tensor where nothing
    changes.

    Example:
      >>> import numpy
      >>> array = numpy.zeros(2)
      >>> torch.as_tensor(array).add_(1)
      tensor([1., 1.], dtype=torch.float64)
      >>> array
      array([1., 1.])
    """
    if isinstance(data, Tensor):
        return data.to(device=device, dtype=dtype)
    if isinstance(data, np.ndarray):
        shared = from_numpy(data)
        return shared.to(device=device, dtype=dtype)
    return tensor(data, dtype=dtype, device=device)


@composite(method=False, overridable=False)
def from_numpy(ndarray: np.ndarray) -> Tensor:
    """Return a tensor sharing memory with a NumPy array: each side sees the other's writes.

    TypeError for anything but an array of a dtype PyTorch has; ValueError for negative strides.

    Example:
      >>> import numpy
      >>> array = numpy.zeros(2, numpy.float32)
      >>> t = torch.from_numpy(array)
      >>> array[0] = 5
      >>> t
      tensor([5., 0.])
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    _check_memory_of(ndarray)
    dtypes.from_numpy_dtype(ndarray.dtype)
    if not ndarray.flags.writeable:
        warn_of_read_only("NumPy array", "array")
    return on_array(ndarray)


OP_FUNCTIONS.append(from_numpy)  # __torch_function__ is not told of it, __torch_dispatch__ is


def warn_of_read_only(what: str, copied: str) -> None:
    errors.warn_user_once(
        f"The given {what} is not writable, and PyTorch does not support non-writable tensors. "
        "torchlike does: it reads the memory, and a write to this tensor raises RuntimeError. "
        f"Copy the {copied} to write to it."
    )


def on_array(ndarray: np.ndarray) -> Tensor:
    """Return a tensor on the memory of an array whose strides and dtype a tensor can have."""
    storage = Storage(None, ndarray)
    strides = tuple(s // ndarray.itemsize for s in ndarray.strides)
    if strides != views.contiguous_strides(ndarray.shape):
        storage.strides = strides
    made = Tensor._on(storage)
    if modes.current.inference:
        made._inference = True
    return made


def _array_wrap(
    self: Tensor, array: np.ndarray, context: Any = None, return_scalar: Any = False
) -> Tensor:
    """Return the tensor for an array that a NumPy function made of a tensor's array. Bools become
    uint8, as in PyTorch."""
    return from_numpy(array.astype(np.uint8) if array.dtype == bool else array)


add_method("__array_wrap__", _array_wrap)


@composite(namespaces=())
def new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: Any = False,
    layout: Any = None,
    pin_memory: Any = False,
) -> Tensor:
    """Return ``torch.tensor(data)`` with this tensor's dtype and device."""
    _warn_of_copy(data, "tensor.new_tensor")
    return _copied(data, dtype or self.dtype, device or self.device, requires_grad)


def _from_numbers(array: np.ndarray, dtype: Any) -> np.ndarray:
    """Convert numbers out of Python lists to another dtype: RuntimeError when an integer dtype
    cannot hold one, TypeError for a complex number as a real one."""
    dtype = np.dtype(dtype)
    if dtypes.kind_of(array.dtype) == "c" and dtype.kind != "c":
        if dtype.kind != "b":
            raise TypeError(
                "'complex' object cannot be interpreted as an integer"
                if dtype.kind in "iu"
                else "must be real number, not complex"
            )
    elif dtype.kind in "iu" and array.dtype.kind in "iuf" and array.size:
        limits = np.iinfo(dtype)
        low = -limits.max if dtype.kind == "u" and array.dtype.kind != "f" else limits.min
        high = limits.max if array.dtype.kind != "f" else casts.greatest_float(limits.max)
        if not (array.min() >= low and array.max() <= high):  # NaN is neither
            raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
    with np.errstate(all="ignore"):
        return casts.convert(array, dtype)
