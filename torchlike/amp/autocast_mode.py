"""``torch.autocast``: a region in which matrix products run in a lower dtype.

What each op does is the table in torchlike/_extensions/autocast.py. The state belongs to the key
of a jitted function, so one may be called inside and outside; it may also hold the region itself.
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from typing import Any

from torchlike._core import devices, dtypes, modes
from torchlike._extensions import autocast as casts
from torchlike.tensor import Tensor

#: Device types for which PyTorch knows autocast (where a backend for it may be missing here).
_AVAILABLE = frozenset(("cpu", "cuda", "mps", "xpu", "xla", "hpu", "ipu", "mtia", "maia"))
_LOWER = (dtypes.bfloat16, dtypes.float16)


class _AutocastSettings(threading.local):
    """What is set in a thread, by device type."""

    def __init__(self) -> None:
        self.enabled: dict[str, bool] = dict.fromkeys(_AVAILABLE, False)
        self.dtypes: dict[str, dtypes.dtype] = dict.fromkeys(_AVAILABLE, dtypes.float16)
        self.dtypes.update(dict.fromkeys(("cpu", "xla", "ipu", "hpu"), dtypes.bfloat16))
        self.cache = True
        self.nesting = 0
        self.counted = False

    def apply(self) -> None:
        """Make these settings the thread's state. An accelerator's lists win where the CPU's are on
        too: a process computes on one of the two."""
        state = None
        for device in ("cuda", "xla", "cpu"):
            there = device != "xla" or devices.available("xla")
            if self.enabled[device] and there:
                state = casts.State(device, self.dtypes[device].numpy)
                break
        if (state is not None) != self.counted:
            self.counted = not self.counted
            (casts.enter if self.counted else casts.leave)()
        modes.current.autocast = state


_settings = _AutocastSettings()


def _get_state() -> tuple[Any, ...]:
    return tuple(_settings.enabled.values()), tuple(_settings.dtypes.values()), _settings.cache


def _set_state(state: tuple[Any, ...]) -> None:
    enabled, lower, _settings.cache = state
    _settings.enabled = dict(zip(_AVAILABLE, enabled, strict=True))
    _settings.dtypes = dict(zip(_AVAILABLE, lower, strict=True))
    _settings.apply()


def _seen() -> _AutocastSettings:
    """Return this thread's settings, to be read or set, and note that a compiled program depends on
    them."""
    modes.setting_seen("what torch.autocast is told", _get_state, _set_state)
    return _settings


def is_autocast_available(device_type: str) -> bool:
    """Return whether there is autocast for a device type at all."""
    return devices.device(device_type).type in _AVAILABLE


def _kind(device_type: Any) -> str:
    """Return the type of a device by name ("cpu" of "cpu:0"). Raises RuntimeError where it has no
    autocast."""
    kind = devices.device(device_type).type
    if kind == "meta" and devices.mapped("cpu") == "meta":
        kind = "cpu"  # a plan's models lie there, whatever their scripts say
    if kind not in _AVAILABLE:
        raise RuntimeError("unsupported scalarType")
    return kind


# -- state -----------------------------------------------------------------------------------------


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Return whether autocast is on in this thread for a device type."""
    return _seen().enabled[_kind(device_type)]


def set_autocast_enabled(device_type: Any, enabled: Any = None) -> None:
    """Switch autocast on or off: ``set_autocast_enabled("cpu", True)``; of a lone flag, for
    CUDA."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    _seen().enabled[_kind(device_type)] = bool(enabled)
    _settings.apply()


def get_autocast_dtype(device_type: str) -> dtypes.dtype:
    """Return the lower dtype for a device type: bfloat16 on the CPU, float16 on GPUs, unless
    set."""
    return _seen().dtypes[_kind(device_type)]


def set_autocast_dtype(device_type: str, dtype: dtypes.dtype) -> None:
    """Set the lower dtype for a device type."""
    _seen().dtypes[_kind(device_type)] = dtype
    _settings.apply()


def _say_deprecated(old: str, new: str) -> None:
    warnings.warn(
        f"torch.{old} is deprecated. Please use torch.{new} instead.",
        DeprecationWarning,
        stacklevel=3,
    )


def is_autocast_cpu_enabled() -> bool:
    """Return ``is_autocast_enabled("cpu")``."""
    _say_deprecated("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: Any) -> None:
    """Call ``set_autocast_enabled("cpu", enabled)``."""
    _say_deprecated("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> dtypes.dtype:
    """Return ``get_autocast_dtype("cpu")``."""
    _say_deprecated("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: dtypes.dtype) -> None:
    """Call ``set_autocast_dtype("cpu", dtype)``."""
    _say_deprecated("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> dtypes.dtype:
    """Return ``get_autocast_dtype("cuda")``."""
    _say_deprecated("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')")
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: dtypes.dtype) -> None:
    """Call ``set_autocast_dtype("cuda", dtype)``."""
    _say_deprecated("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)")
    set_autocast_dtype("cuda", dtype)


def is_autocast_cache_enabled() -> bool:
    """Return the value that ``set_autocast_cache_enabled`` set. Casts are parts of compiled ops:
    none is cached."""
    return _seen().cache


def set_autocast_cache_enabled(enabled: Any) -> None:
    """Remember the setting, which changes nothing else."""
    _seen().cache = bool(enabled)


def clear_autocast_cache() -> None:
    """Do nothing: no cast is cached."""


def autocast_increment_nesting() -> int:
    """Enter one region more, and return the depth."""
    _settings.nesting += 1
    return _settings.nesting


def autocast_decrement_nesting() -> int:
    """Leave one region, and return the depth."""
    _settings.nesting -= 1
    return _settings.nesting


# -- the region ------------------------------------------------------------------------------------


class autocast:
    """A context manager, or a decorator: inside, ops choose their dtype.

    Args:
      device_type: "cpu", "cuda" or "xla" (whose lists differ; "xla" counts where there is a TPU);
        others are accepted.
      dtype: the lower dtype, bfloat16 or float16.
      enabled: False makes a region in which it is off.
      cache_enabled: accepted.

    RuntimeError for an unknown device type; a warning, and off, for another dtype, and for "cuda"
    without a GPU.

    Differs from PyTorch
    --------------------
    Casts are not nodes of the graph but parts of the ops that ask for them.
    """

    def __init__(
        self,
        device_type: str,
        dtype: dtypes.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device_type
        self._kind = _kind(device_type)
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = _seen().cache if cache_enabled is None else cache_enabled
        if enabled and self._kind == "cuda" and not devices.available("cuda"):
            warnings.warn(
                "CUDA is not available or torch_xla is imported. Disabling autocast.",
                stacklevel=2,
            )
            enabled = False
        elif enabled and self._kind != "cuda" and self.fast_dtype not in _LOWER:
            name = device_type.upper()
            warnings.warn(
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{name} Autocast only supports dtypes of "
                f"{', '.join(map(str, _LOWER))} currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled
        self._before: list[Any] = []

    def __enter__(self) -> autocast:
        s = _seen()
        self._before.append((s.enabled[self._kind], s.dtypes[self._kind], s.cache))
        self._set(self._enabled, self.fast_dtype, self._cache_enabled)
        s.nesting += 1
        return self

    def __exit__(self, *exc: object) -> None:
        _settings.nesting -= 1
        self._set(*self._before.pop())

    def _set(self, enabled: bool, dtype: dtypes.dtype, cache: bool) -> None:
        _settings.enabled[self._kind] = enabled
        _settings.dtypes[self._kind] = dtype
        _settings.cache = cache
        _settings.apply()

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return decorated


def _enter_autocast(*arguments: Any) -> autocast:
    """Enter a region, and return what ``_exit_autocast`` takes."""
    return autocast(*arguments).__enter__()


def _exit_autocast(mode: autocast) -> None:
    """Leave a region that ``_enter_autocast`` entered."""
    mode.__exit__(None, None, None)


# -- autograd functions ----------------------------------------------------------------------------


def _cast(value: Any, device_type: str, dtype: dtypes.dtype) -> Any:
    """Convert floating point tensors on the device (float64 ones excepted) to a dtype, also inside
    containers."""
    if isinstance(value, Tensor):
        eligible = value.is_floating_point() and value.dtype != dtypes.float64
        return value.to(dtype) if eligible and value.device.type == device_type else value
    if isinstance(value, dict):
        return {
            _cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()
        }
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(v, device_type, dtype) for v in value)
    return value


def custom_fwd(
    fwd: Any = None, *, device_type: str, cast_inputs: dtypes.dtype | None = None
) -> Any:
    """Decorate ``forward`` of an autograd Function so that its backward finds the same state.

    Args:
      cast_inputs: inside autocast, run on tensors of this dtype with autocast off.
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        args[0]._dtype = get_autocast_dtype(device_type)
        on = is_autocast_enabled(device_type)
        args[0]._fwd_used_autocast = on and cast_inputs is None
        if not on or cast_inputs is None:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(
                *_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs)
            )

    return decorated


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorate ``backward`` of an autograd Function: it runs in the state ``forward`` ran in."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(*args, **kwargs)

    return decorated
