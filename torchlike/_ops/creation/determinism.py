"""What programs say of determinism, and what fills new memory under it."""

from __future__ import annotations

from typing import Any

import numpy as np

from torchlike._core import modes

_algorithms, _warn_only = False, False
_fills = True


def algorithms() -> tuple[bool, bool]:
    """Return whether deterministic algorithms were asked for, and for warnings only."""
    modes.setting_seen("torch.use_deterministic_algorithms()", _get_state, _set_state)
    return _get_state()


def set_algorithms(mode: bool, warn_only: bool) -> None:
    modes.setting_seen("torch.use_deterministic_algorithms()", _get_state, _set_state)
    _set_state((mode, warn_only))


def _get_state() -> tuple[bool, bool]:
    return _algorithms, _warn_only


def _set_state(state: tuple[bool, bool]) -> None:
    global _algorithms, _warn_only
    _algorithms, _warn_only = state


# -- new memory ------------------------------------------------------------------------------------

_FILL = "torch.utils.deterministic.fill_uninitialized_memory"


def fills() -> bool:
    """Return whether new memory is filled with a value that shows, under deterministic
    algorithms."""
    modes.setting_seen(_FILL, _get_fills, _set_fills)
    return _fills


def set_fills(mode: Any) -> None:
    """Switch the filling of new memory on or off. RuntimeError for what is no bool."""
    if not isinstance(mode, bool):
        raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
    modes.setting_seen(_FILL, _get_fills, _set_fills)
    _set_fills(mode)


def _get_fills() -> bool:
    return _fills


def _set_fills(mode: bool) -> None:
    global _fills
    _fills = mode


def in_new_memory(dtype: np.dtype) -> Any:
    """Return the value of elements that nobody wrote to yet: 0, and under deterministic algorithms
    NaN, an integer's largest value or True, so that reading them shows."""
    if not (algorithms()[0] and fills()):
        return 0
    if dtype.kind == "b":
        return dtype.type(True)
    return dtype.type(np.iinfo(dtype).max if dtype.kind in "iu" else np.nan)
