"""The names that torch.amp's classes had for each device, ``torch.cuda.amp.autocast`` and kin."""

from __future__ import annotations

import warnings

from torchlike._core import dtypes
from torchlike.amp.autocast_mode import autocast
from torchlike.amp.grad_scaler import GradScaler


def say(old: str, new: str, stacklevel: int = 3) -> None:
    """Warn, by a FutureWarning, that the old name is going away."""
    warnings.warn(
        f"`torch.{old}` is deprecated. Please use `torch.amp.{new}` instead.",
        FutureWarning,
        stacklevel=stacklevel,
    )


def autocast_of(device: str, half: dtypes.dtype) -> type:
    """Return the class ``torch.<device>.amp.autocast``."""

    class Autocast(autocast):
        def __init__(
            self, enabled: bool = True, dtype: dtypes.dtype = half, cache_enabled: bool = True
        ) -> None:
            say(f"{device}.amp.autocast(args...)", f"autocast('{device}', args...)")
            super().__init__(device, enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)

    return _named(Autocast, "autocast", device, "autocast_mode")


def scaler_of(device: str) -> type:
    """Return the class ``torch.<device>.amp.GradScaler``."""

    class Scaler(GradScaler):
        def __init__(
            self,
            init_scale: float = 2.0**16,
            growth_factor: float = 2.0,
            backoff_factor: float = 0.5,
            growth_interval: int = 2000,
            enabled: bool = True,
        ) -> None:
            say(f"{device}.amp.GradScaler(args...)", f"GradScaler('{device}', args...)")
            super().__init__(
                device, init_scale, growth_factor, backoff_factor, growth_interval, enabled
            )

    return _named(Scaler, "GradScaler", device, "grad_scaler")


def _named(cls: type, name: str, device: str, room: str) -> type:
    cls.__name__ = cls.__qualname__ = name
    cls.__module__ = f"torchlike.{device}.amp.{room}"
    cls.__doc__ = f'``torch.amp.{name}("{device}", …)``.'
    return cls
