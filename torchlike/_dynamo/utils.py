"""``torch._dynamo.utils``: what libraries ask of it."""

from __future__ import annotations

import warnings

from torchlike._core import devices

__all__ = ["is_compile_supported", "warn_once"]

_said: set[str] = set()


def is_compile_supported(device_type: str) -> bool:
    """Return whether ``torch.compile`` works for a device: XLA compiles for every one there is."""
    return devices.device(device_type).type != "meta"


def warn_once(msg: str, stacklevel: int = 1) -> None:
    """Warn in these words the first time that they are given."""
    if msg not in _said:
        _said.add(msg)
        warnings.warn(msg, stacklevel=stacklevel + 1)
