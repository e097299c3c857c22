"""``torch.utils._mode_utils``: whether modes are one, and operators that nobody handles."""

from __future__ import annotations

from collections.abc import Sequence

from torchlike._core.overrides import DisableTorchDispatch as no_dispatch

__all__ = ["all_same_mode", "no_dispatch"]


def all_same_mode(modes: Sequence[object]) -> bool:
    """Return whether all modes are equal to the first."""
    return all(mode == modes[0] for mode in modes)
