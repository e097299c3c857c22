"""``torch._guards``: which mode of fake tensors is on."""

from __future__ import annotations

from torchlike._core import overrides
from torchlike._subclasses.fake_tensor import FakeTensorMode, maybe_get_fake_mode

__all__ = ["active_fake_mode", "detect_fake_mode"]


def active_fake_mode() -> FakeTensorMode | None:
    """Return the innermost FakeTensorMode that is on; None where none is."""
    on = [mode for mode in overrides.state.dispatch_modes if isinstance(mode, FakeTensorMode)]
    return on[-1] if on else None


def detect_fake_mode(inputs: object = None) -> FakeTensorMode | None:
    """Return the mode that is on, else that of the first fake tensor among ``inputs`` (a tensor or
    a tree of them); None without either."""
    return active_fake_mode() or maybe_get_fake_mode(inputs)
