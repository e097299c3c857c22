"""``from_dlpack``: tensors on memory that another library offers."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike.dispatch.registry import composite
from torchlike.ops.creation import from_numpy
from torchlike.python_values import DLPACK_CPU
from torchlike.tensor import Tensor, wrap


class _Offer:
    """A capsule on the CPU as the object that a consumer of the protocol asks for it."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return DLPACK_CPU


@composite(method=False)
def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: Any = None) -> Tensor:
    """A tensor from any object with ``__dlpack__``, or from a capsule of the CPU's memory. A
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


def _shared(offered: Any) -> Tensor:
    if isinstance(offered, np.ndarray):
        return from_numpy(offered)
    if isinstance(offered, Tensor):
        if offered.requires_grad or offered.is_meta or offered.is_conj():
            offered.__dlpack__()  # which says why not
        return offered._alias()
    if isinstance(offered, jax.Array):
        return wrap(jnp.from_dlpack(offered))
    if not hasattr(offered, "__dlpack__"):
        if type(offered).__name__ != "PyCapsule":
            raise TypeError(f"from_dlpack() takes an object with __dlpack__ or a capsule, not "
                            f"{type(offered).__name__}")  # fmt: skip
        return _on_array(np.from_dlpack(_Offer(offered)))
    if tuple(offered.__dlpack_device__()) == DLPACK_CPU:
        try:
            array = np.from_dlpack(offered)
        except (BufferError, RuntimeError):  # a dtype that NumPy does not have, but JAX may
            return wrap(jnp.from_dlpack(offered))
        return _on_array(array)
    return wrap(jnp.from_dlpack(offered))


def _on_array(array: np.ndarray) -> Tensor:
    return from_numpy(array if array.flags.writeable else array.copy())
