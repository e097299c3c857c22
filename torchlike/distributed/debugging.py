"""How much is checked: ``TORCH_DISTRIBUTED_DEBUG``."""

from __future__ import annotations

import enum
import os


class DebugLevel(enum.Enum):
    """How much is checked. With DETAIL the ranks meet before each collective, and see that all call
    the same; otherwise before the first of each kind and shape."""

    OFF = 0
    INFO = 1
    DETAIL = 2


_level: DebugLevel | None = None


def get_debug_level() -> DebugLevel:
    """Return the level that ``set_debug_level`` was told, or else TORCH_DISTRIBUTED_DEBUG of the
    environment. RuntimeError for a variable that says none of OFF, INFO and DETAIL."""
    if _level is not None:
        return _level
    said = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if said not in DebugLevel.__members__:
        raise RuntimeError("The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL.")
    return DebugLevel[said]


def set_debug_level(level: DebugLevel) -> None:
    """Check so much from now on, on all ranks."""
    global _level
    _level = DebugLevel(level)


def set_debug_level_from_env() -> None:
    """Go back to the level that the environment says."""
    global _level
    _level = None
