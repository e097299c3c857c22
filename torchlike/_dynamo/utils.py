"""``torch._dynamo.utils``: what libraries ask of it."""

from __future__ import annotations

from torchlike._core import devices

__all__ = ["is_compile_supported"]


def is_compile_supported(device_type: str) -> bool:
    """Whether ``torch.compile`` works for a device: XLA compiles for every one there is."""
    return devices.device(device_type).type != "meta"
