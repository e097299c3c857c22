"""``torch._C``: what libraries ask of PyTorch's compiled core, answered by the rooms that know.

What only a C++ core could answer is missing and says so.
"""

from __future__ import annotations

import enum
import importlib
from typing import Any

import jax as _jax

from torchlike._compat.archives import PyTorchFileReader, PyTorchFileWriter
from torchlike._compat.core import _cpu, _distributed_rpc, _functorch, _nn
from torchlike._compat.core._dispatch import (
    DispatchKey,
    DispatchKeySet,
    _AutoDispatchBelowAutograd,
    _dispatch_dump,
    _ExcludeDispatchKeyGuard,
)
from torchlike._compat.places import PLACES as _PLACES
from torchlike._compat.unsupported import functions as _unsupported
from torchlike._core import devices as _devices
from torchlike._core import modes as _modes
from torchlike._core import overrides as _overrides
from torchlike._core.devices import device
from torchlike._core.dtypes import dtype
from torchlike._core.layouts import layout, memory_format
from torchlike._core.overrides import DisableTorchDispatch as _DisableTorchDispatch
from torchlike._core.overrides import DisableTorchFunctionSubclass
from torchlike._core.overrides import no_function as _disabled_torch_function_impl
from torchlike._core.size import Size
from torchlike._extensions import boxes as _boxes
from torchlike._extensions.overrides import protocol as _protocol
from torchlike._extensions.overrides.protocol import DisableTorchFunction
from torchlike._extensions.overrides.protocol import EnablingGuard as _EnableTorchFunction
from torchlike._ops.aten.tags import Tag
from torchlike._ops.linalg.decompositions import LinAlgError as _LinAlgError
from torchlike.autograd.grad_mode import _set_grad_enabled
from torchlike.random import Generator
from torchlike.tensor import Tensor

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "DispatchKey",
    "DispatchKeySet",
    "Generator",
    "PyTorchFileReader",
    "PyTorchFileWriter",
    "Size",
    "Tag",
    "TensorBase",
    "Value",
    "_AutoDispatchBelowAutograd",
    "_DisableTorchDispatch",
    "_ExcludeDispatchKeyGuard",
    "_LinAlgError",
    "_TensorBase",
    "_TensorMeta",
    "_are_functorch_transforms_active",
    "_cpu",
    "_disabled_torch_function_impl",
    "_dispatch_dump",
    "_distributed_rpc",
    "_functorch",
    "_get_default_device",
    "_get_privateuse1_backend_name",
    "_get_tracing_state",
    "_is_torch_function_mode_enabled",
    "_is_tracing",
    "_log_api_usage_once",
    "_nn",
    "device",
    "dtype",
    "layout",
    "memory_format",
]

#: The class under Tensor, and the class of that class: here Tensor and what it is made by.
TensorBase = _TensorBase = Tensor
_TensorMeta = type(Tensor)


class _ScriptValue:
    """The class of a TorchScript graph's values, of which there are none: libraries ask whether
    something is one."""

    def __new__(cls) -> _ScriptValue:
        raise TypeError("torch._C.Value: No constructor defined!")


Value = _ScriptValue
globals().update(_unsupported("_C"))


class _TorchFunctionState(enum.Enum):
    """Who is asked: modes and classes, modes alone, nobody."""

    ENABLED = 0
    SUBCLASSES_DISABLED = 1
    ALL_DISABLED = 2


def _get_torch_function_state() -> _TorchFunctionState:
    state = _overrides.state
    if state.off:
        return _TorchFunctionState.ALL_DISABLED
    if state.subclasses_off:
        return _TorchFunctionState.SUBCLASSES_DISABLED
    return _TorchFunctionState.ENABLED


def _set_torch_function_state(value: _TorchFunctionState) -> None:
    _overrides.state.off = value is _TorchFunctionState.ALL_DISABLED
    _overrides.state.subclasses_off = value is _TorchFunctionState.SUBCLASSES_DISABLED


def _is_torch_function_enabled() -> bool:
    """Return whether the classes of arguments are asked."""
    return not (_overrides.state.off or _overrides.state.subclasses_off)


def _is_torch_function_all_disabled() -> bool:
    """Return whether neither modes nor classes are asked."""
    return _overrides.state.off


def _has_torch_function(values: Any) -> bool:
    """Return whether a mode is on, or a value's class is asked."""
    if _overrides.state.off:
        return False
    return bool(_overrides.state.modes or _protocol.overloaded(values))


def _has_torch_function_unary(value: Any) -> bool:
    """Return whether a mode is on, or a value's class is asked."""
    return _has_torch_function((value,))


def _has_torch_function_variadic(*values: Any) -> bool:
    """Return whether a mode is on, or the class of one of several values is asked."""
    return _has_torch_function(values)


def _len_torch_function_stack() -> int:
    """Return how many modes are on."""
    return len(_overrides.state.modes)


def _get_function_stack_at(level: int) -> object:
    """Return the mode at a place of the stack, the outermost at 0."""
    return _overrides.state.modes[level]


def _push_on_torch_function_stack(mode: Any) -> None:
    """Switch a mode on."""
    _protocol.push(mode)


def _pop_torch_function_stack() -> object:
    """Switch the innermost mode off, and give it."""
    return _protocol.pop()


def _log_api_usage_once(event: str) -> None:
    """Do nothing: no use is counted."""


def _get_tracing_state() -> Any:
    """Return the capture that ``torch.jit.trace`` or ``script`` runs, None outside of one."""
    capture = _modes.running_capture()
    return capture if capture.scripting else None


def _is_tracing() -> bool:
    """Return whether ``torch.jit.trace`` or ``script`` runs."""
    return _get_tracing_state() is not None


def _get_default_device() -> str:
    """Return the default device's name."""
    return str(_devices.get_default_device())


def _get_accelerator(check: bool | None = None) -> device:
    """Return the kind of accelerator that JAX has; the CPU where it has none."""
    return device(_devices.from_jax(_jax.local_devices()[0]).type)


def _jit_set_profiling_executor(value: bool) -> bool:
    """Return True, the setting before: XLA compiles scripts, and none of these has an effect."""
    return True


_jit_set_profiling_mode = _jit_set_profiling_executor


def _jit_set_texpr_fuser_enabled(value: bool) -> None:
    """Do nothing."""


def _get_privateuse1_backend_name() -> str:
    """Return the name of the place for a backend of one's own; nobody can take it here."""
    return "privateuseone"


def _is_torch_function_mode_enabled() -> bool:
    """Return whether a mode is on that sees calls."""
    return bool(_overrides.state.modes)


def _are_functorch_transforms_active() -> bool:
    """Return whether a transform of ``torch.func`` is running its function."""
    return bool(_modes.current.levels) or _boxes.reverse.running > 0


def _is_alias_of(x: Tensor, y: Tensor) -> bool:
    """Return whether two tensors look at one memory."""
    return x._storage is y._storage


def _current_autograd_node() -> Any:
    """Return the node whose backward runs in this thread, or None."""
    running = _modes.current.backward_pass
    return None if running is None or running.node is None else running.node.shown()


def _current_graph_task_id() -> int:
    """Return the number of the backward pass that runs in this thread, -1 where none does."""
    running = _modes.current.backward_pass
    return -1 if running is None else running.number


def __getattr__(name: str) -> Any:
    """Return a place below this one that is only names (``torch._C._fft``)."""
    if f"_C.{name}" in _PLACES:
        return importlib.import_module(f"torchlike._C.{name}")
    raise AttributeError(f"module 'torch._C' has no attribute {name!r}", name=name)
