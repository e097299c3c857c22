"""``torch._C``: what libraries ask of PyTorch's compiled core, answered by the rooms that know.

What only a C++ core could answer is missing and says so.
"""

from __future__ import annotations

import contextlib
from typing import Any

from torchlike._C import _distributed_c10d, _distributed_rpc, _functorch, _nn
from torchlike._C._dispatch import DispatchKey, DispatchKeySet, _ExcludeDispatchKeyGuard
from torchlike._core import boxes as _boxes
from torchlike._core import devices as _devices
from torchlike._core import modes as _modes
from torchlike._core.devices import device
from torchlike._core.dtypes import dtype
from torchlike._core.layouts import layout, memory_format
from torchlike._core.size import Size
from torchlike._core.tensor import Tensor
from torchlike._core.tensor import no_protocol as _disabled_torch_function_impl
from torchlike.random import Generator

__all__ = [
    "DisableTorchFunction", "DisableTorchFunctionSubclass", "DispatchKey", "DispatchKeySet",
    "Generator", "Size", "TensorBase", "_ExcludeDispatchKeyGuard", "_TensorBase", "_TensorMeta",
    "_are_functorch_transforms_active",
    "_disabled_torch_function_impl", "_distributed_c10d", "_distributed_rpc", "_functorch",
    "_get_default_device", "_get_privateuse1_backend_name", "_get_tracing_state",
    "_is_torch_function_mode_enabled", "_is_tracing", "_log_api_usage_once", "_nn",
    "device", "dtype", "layout", "memory_format",
]  # fmt: skip

#: The class under Tensor, and the class of that class: here Tensor and what it is made by.
TensorBase = _TensorBase = Tensor
_TensorMeta = type(Tensor)

#: Inside, no ``__torch_function__`` of a Tensor subclass is asked; none ever is.
DisableTorchFunction = DisableTorchFunctionSubclass = contextlib.nullcontext


def _log_api_usage_once(event: str) -> None:
    """Nothing: no use is counted."""


def _get_tracing_state() -> Any:
    """The capture that ``torch.jit.trace`` or ``script`` runs, None outside of one."""
    capture = _modes.current.capture
    return capture if capture is not None and capture.scripting else None


def _is_tracing() -> bool:
    """Whether ``torch.jit.trace`` or ``script`` runs."""
    return _get_tracing_state() is not None


def _get_default_device() -> str:
    """The default device's name."""
    return str(_devices.get_default_device())


def _get_privateuse1_backend_name() -> str:
    """The name of the place for a backend of one's own; nobody can take it here."""
    return "privateuseone"


def _is_torch_function_mode_enabled() -> bool:
    """False: there are no modes that see calls."""
    return False


def _are_functorch_transforms_active() -> bool:
    """Whether a transform of ``torch.func`` is running its function."""
    return bool(_modes.current.levels) or _boxes.reverse.running > 0
