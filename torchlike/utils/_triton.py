"""``torch.utils._triton``: no device here runs Triton's kernels, whatever is installed."""

from __future__ import annotations

__all__ = ["has_triton", "has_triton_package", "has_triton_tma", "has_triton_tma_device"]


def has_triton() -> bool:
    """Return False: XLA compiles, and Pallas is the way to kernels of one's own."""
    return False


def has_triton_package() -> bool:
    """Return False, so that programs take the way that needs no Triton."""
    return False


def has_triton_tma() -> bool:
    """Return False, as there is no Triton."""
    return False


def has_triton_tma_device() -> bool:
    """Return False, as there is no Triton."""
    return False
