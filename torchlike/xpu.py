"""``torch.xpu``: Intel GPUs, for which JAX has no backend here; scripts ask, and go on."""

from __future__ import annotations

from typing import Any


def is_available() -> Any:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def is_bf16_supported(including_emulation: Any = True) -> Any:
    """False: there is no device."""
    return False


def is_initialized() -> Any:
    """False."""
    return False


def empty_cache() -> None:
    """Nothing to do."""


def manual_seed(seed: int) -> None:
    """Nothing to seed, as in PyTorch without a device."""


manual_seed_all = manual_seed


def current_device() -> int:
    """RuntimeError: there is no device."""
    raise RuntimeError("No XPU devices are available.")


def synchronize(device: Any = None) -> None:
    """RuntimeError: there is no device."""
    current_device()
