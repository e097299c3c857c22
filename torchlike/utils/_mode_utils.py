"""``torch.utils._mode_utils``: whether modes are one."""

from __future__ import annotations

from collections.abc import Sequence


def all_same_mode(modes: Sequence[object]) -> bool:
    """Whether all are equal to the first."""
    return all(mode == modes[0] for mode in modes)
