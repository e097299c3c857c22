"""``torch.mtia``: Meta's accelerators, for which JAX has no backend here."""

from __future__ import annotations

from torchlike._compat.unsupported import functions as _unsupported

__name__ = "torchlike.mtia"  # where PyTorch has it, and what is printed


def is_available() -> bool:
    """Return False."""
    return False


def is_initialized() -> bool:
    """Return False."""
    return False


def device_count() -> int:
    """Return 0."""
    return 0


globals().update(_unsupported("mtia"))
