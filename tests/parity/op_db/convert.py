"""Values of PyTorch's samples as torchlike's, and torchlike's results as PyTorch's."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import torch

import torchlike
import torchlike.nn


class NotConvertible(Exception):
    """A sample holds something torchlike does not have (a sparse tensor, a quantized dtype)."""


def dtype_of(d: torch.dtype) -> Any:
    """torchlike's dtype of the same name."""
    found = getattr(torchlike, str(d).removeprefix("torch."), None)
    if not isinstance(found, torchlike.dtype):
        raise NotConvertible(f"dtype {d}")
    return found


def numpy_of(t: torch.Tensor) -> np.ndarray:
    """A tensor's values; dtypes that NumPy lacks travel as bits."""
    # A copy: `.numpy()` makes a storage that `out=` can no longer resize.
    t = t.detach().resolve_conj().resolve_neg().clone()
    if t.dtype is torch.bfloat16:
        return t.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    if t.dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        return t.contiguous().view(torch.uint8).numpy().view(dtype_of(t.dtype).numpy)
    return t.numpy()


def torch_of(t: Any) -> torch.Tensor:
    """A torchlike tensor's values as a PyTorch tensor of the same dtype."""
    values = np.array(t.detach().jax())
    if values.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(values.view(np.int16)).view(torch.bfloat16)
    if values.dtype in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
        return torch.from_numpy(values.view(np.uint8)).view(getattr(torch, t.dtype.name))
    return torch.from_numpy(values)


class Converter:
    """Converts one sample. One tensor in two places stays one tensor; leaves are remembered."""

    def __init__(self, callable_of: Callable[[Any], Any] | None = None) -> None:
        self._made: dict[int, Any] = {}
        self._kept: list[Any] = []
        self._storages: dict[Any, Any] = {}
        self._callable_of = callable_of
        #: (PyTorch's, torchlike's) tensors that require grad.
        self.leaves: list[tuple[torch.Tensor, Any]] = []

    def __call__(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if value is None or isinstance(
            value, (bool, int, float, complex, str, types.EllipsisType, np.generic, np.ndarray)
        ):
            return value
        if isinstance(value, torch.Size):
            return torchlike.Size(value)
        if isinstance(value, torch.dtype):
            return dtype_of(value)
        if isinstance(value, torch.device):
            if value.type != "cpu":
                raise NotConvertible(f"device {value}")
            return torchlike.device(value.type)
        if isinstance(value, (torch.memory_format, torch.layout)):
            found = getattr(torchlike, str(value).removeprefix("torch."), None)
            if found is None:
                raise NotConvertible(str(value))
            return found
        if isinstance(value, torch.Generator):
            made = torchlike.Generator()
            made.manual_seed(value.initial_seed())
            return made
        if isinstance(value, slice):
            return slice(self(value.start), self(value.stop), self(value.step))
        if isinstance(value, tuple):
            return tuple(self(v) for v in value)
        if isinstance(value, list):
            return [self(v) for v in value]
        if isinstance(value, dict):
            return {k: self(v) for k, v in value.items()}
        if isinstance(value, torch.nn.PairwiseDistance):
            return torchlike.nn.PairwiseDistance(value.norm, value.eps, value.keepdim)
        if isinstance(value, type) and value in (bool, int, float, complex):
            return value
        if callable(value) and self._callable_of is not None:
            return self._callable_of(value)
        raise NotConvertible(f"a {type(value).__name__}")

    def _tensor(self, t: torch.Tensor) -> Any:
        found = self._made.get(id(t))
        if found is not None:
            return found
        if type(t) not in (torch.Tensor, torch.nn.Parameter):
            raise NotConvertible(f"a {type(t).__name__}")
        if t.dim() > 64:
            raise NotConvertible("NumPy has at most 64 dimensions")
        if t.layout is not torch.strided or t.device.type != "cpu" or t.is_quantized:
            raise NotConvertible(f"a tensor of layout {t.layout} on {t.device}")
        dtype_of(t.dtype)
        made = self._strided(t)
        if t.requires_grad:
            made = made.detach().requires_grad_()
            self.leaves.append((t, made))
        self._made[id(t)] = made
        self._kept.append(t)
        return made

    def _strided(self, t: torch.Tensor) -> Any:
        """The same values in the same memory order, tensors of one storage on one storage."""
        if t.is_conj() or t.is_neg():
            return torchlike.from_jax(_array(numpy_of(t)))
        storage = t.untyped_storage()
        key = (storage.data_ptr(), t.dtype) if t.numel() else (id(t), t.dtype)
        known = self._storages.get(key)
        size = storage.nbytes() // t.element_size()
        if known is None:
            if t.is_contiguous() and size == t.numel():
                made = self._storages[key] = torchlike.from_jax(_array(numpy_of(t)))
                return made
            memory = torch.as_strided(t.detach(), (size,), (1,), 0)
            known = self._storages[key] = torchlike.from_jax(_array(numpy_of(memory)))
        return known.as_strided(tuple(t.shape), tuple(t.stride()), t.storage_offset())


def _array(values: np.ndarray) -> Any:
    return torchlike._core.storage.device_array(np.array(values))
