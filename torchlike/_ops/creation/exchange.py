"""Tensors on memory that another library, a Python object or a file offers."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core import devices, dtypes
from torchlike._core.dispatch.registry import composite
from torchlike._core.overrides import DisableTorchFunctionSubclass
from torchlike._core.tensor_values import DLPACK_CPU
from torchlike._extensions.untyped_storage import UntypedStorage, read_as
from torchlike._ops.creation.from_data import from_numpy, on_array, tensor, warn_of_read_only
from torchlike._ops.creation.wrap_result import numpy_dtype
from torchlike.tensor import Tensor, wrap


class _Offer:
    """A capsule on the CPU as the object that a consumer of the protocol asks for it."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return DLPACK_CPU


@composite(method=False, overridable=False)
def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: Any = None) -> Tensor:
    """Return a tensor from any object with ``__dlpack__``, or from a capsule of the CPU's memory. A
    tensor's memory, and that of an object on the CPU, is shared: each side sees the other's writes.

    Differs from PyTorch: a jax array, an accelerator's array, bfloat16 and float8 are shared until
    the first write, and memory that is read-only is copied (NumPy takes that of an unversioned
    capsule for it).
    """
    if copy is False and isinstance(ext_tensor, jax.Array):
        raise ValueError("a jax array is immutable: a tensor cannot share its memory for good")
    found = _shared(ext_tensor)
    if device is not None:
        found = found.to(device=device)
    return found.clone() if copy else found


def _is_capsule(obj: Any) -> bool:
    return type(obj).__name__ == "PyCapsule"


def _shared(offered: Any) -> Tensor:
    if isinstance(offered, np.ndarray):
        return from_numpy(offered)
    if isinstance(offered, Tensor):
        with DisableTorchFunctionSubclass():
            if offered.requires_grad or offered.is_meta or offered.is_conj():
                offered.__dlpack__()  # which says why not
            return offered._alias().as_subclass(Tensor)
    if isinstance(offered, jax.Array):
        return wrap(jnp.from_dlpack(offered))
    if not hasattr(offered, "__dlpack__"):
        if not _is_capsule(offered):
            raise TypeError(
                f"from_dlpack() takes an object with __dlpack__ or a capsule, not "
                f"{type(offered).__name__}"
            )
        offered = _Offer(offered)
    if tuple(offered.__dlpack_device__()) == DLPACK_CPU:
        try:
            array = np.from_dlpack(offered)
        except (BufferError, RuntimeError):  # a dtype that NumPy does not have, but JAX may
            return wrap(jnp.from_dlpack(offered))
        return _on_array(array)
    return wrap(jnp.from_dlpack(offered))


def _on_array(array: np.ndarray) -> Tensor:
    return from_numpy(array if array.flags.writeable else array.copy())


@composite(method=False)
def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: Any = False
) -> Tensor:
    """Return a 1-D tensor of ``count`` elements (negative: all) on the memory of a Python buffer,
    from byte ``offset`` on.

    ValueError for an object without a buffer, for no elements, and for a count or offset that the
    buffer's length does not fit; RuntimeError for memory that is not contiguous.
    Differs from PyTorch: a write into read-only memory (``bytes``) is refused.
    """
    try:
        memory = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    if not memory.c_contiguous:
        raise RuntimeError("could not retrieve buffer from object: it is not contiguous")
    kind = numpy_dtype(dtype)
    length, size = memory.nbytes, kind.itemsize
    if not length or not count:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than "
            f"buffer length ({length} bytes) minus 1"
        )
    rest = length - offset
    if count < 0 and rest % size:
        raise ValueError(
            f"buffer length ({rest} bytes) after offset ({offset} bytes) must be a "
            f"multiple of element size ({size})"
        )
    if count > 0 and count * size > rest:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset "
            f"({offset} bytes) must not be greater than actual buffer length "
            f"({length} bytes)"
        )
    if memory.readonly:
        warn_of_read_only("buffer", "buffer")
    return on_array(np.frombuffer(buffer, kind, count, offset)).requires_grad_(requires_grad)


@composite(method=False)
def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: Any = None, requires_grad: Any = None
) -> Tensor:
    """Return ``obj`` as a tensor: on the memory of a tensor, NumPy array, DLPack capsule or
    buffer where dtype and device allow it (``copy=None``), always (``copy=False``, else
    ValueError) or never (``copy=True``). The bytes of an UntypedStorage are read as elements of
    the dtype (int64)."""
    if isinstance(obj, np.ndarray):
        found = from_numpy(obj)
    elif isinstance(obj, (bytes, bytearray, memoryview)):
        found = frombuffer(obj, dtype=dtypes.get_default_dtype() if dtype is None else dtype)
    elif isinstance(obj, UntypedStorage):
        kind = dtypes.int64 if dtype is None else dtypes.from_argument(dtype)
        found = Tensor._on(read_as(obj, kind.numpy))
    elif isinstance(obj, Tensor):
        found = obj
    elif _is_capsule(obj):
        found = from_dlpack(obj)
    elif copy is False:
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    else:
        return tensor(obj, dtype=dtype, device=device, requires_grad=requires_grad)
    wanted = found.dtype if dtype is None else dtypes.from_argument(dtype)
    place = found.device if device is None else devices.resolve(device)
    if copy is False:
        if place != found.device:
            raise ValueError(f"can't alias tensor from device '{found.device}' to '{place}'.")
        if wanted is not found.dtype:
            raise ValueError(
                f"can't alias tensor with dtype '{dtypes.scalar_type(found.dtype)}' into dtype "
                f"'{dtypes.scalar_type(wanted)}'."
            )
    made = found.to(device=place, dtype=wanted)
    if copy and made is found:
        made = made.clone()
    if requires_grad is None:
        return made
    if not requires_grad and not made.is_leaf:
        return made.detach()
    return made.requires_grad_(requires_grad)


@composite(method=False)
def from_file(
    filename: str,
    shared: bool | None = None,
    size: int | None = 0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Tensor:
    """Return a tensor of ``size`` elements on the memory of a mapped file. With ``shared``, writes
    reach the file, which is created where it is missing and made as long as it has to be.
    RuntimeError for a file that cannot be opened or (not ``shared``) is shorter."""
    kind = dtypes.get_default_dtype() if dtype is None else dtypes.from_argument(dtype)
    memory = UntypedStorage.from_file(filename, bool(shared), (size or 0) * kind.itemsize)
    found = asarray(memory, dtype=kind, device=device)
    return found.requires_grad_() if requires_grad else found
