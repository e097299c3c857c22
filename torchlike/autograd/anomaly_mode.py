"""Anomaly detection: where in the forward pass the op stood whose backward failed or gave NaN."""

from __future__ import annotations

import warnings
from typing import Any

from torchlike._core import modes

__all__ = ["detect_anomaly", "is_anomaly_enabled", "set_detect_anomaly"]


class set_detect_anomaly:
    """Switch anomaly detection on or off, from the call on; as a context manager, until its end.

    While it is on, each recorded op remembers the Python stack, which is shown in a warning when
    its backward raises; and with ``check_nan`` a backward that gives NaN raises RuntimeError. Not
    for functions being compiled: their values are not known then.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._previous = modes.current.anomaly, modes.current.anomaly_nan
        modes.current.anomaly, modes.current.anomaly_nan = bool(mode), bool(check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        modes.current.anomaly, modes.current.anomaly_nan = self._previous


class detect_anomaly:
    """``with detect_anomaly():`` the forward pass and ``backward()`` in which NaN is looked for."""

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan
        self._switched: Any = None
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging.",
            UserWarning,
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self._switched = set_detect_anomaly(True, self._check_nan)

    def __exit__(self, *exc: object) -> None:
        self._switched.__exit__(*exc)


def is_anomaly_enabled() -> bool:
    """Return whether anomaly detection is on in this thread."""
    modes.setting_seen("torch.autograd.set_detect_anomaly()", _get_state, _set_state)
    return modes.current.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Return whether anomaly detection looks for NaN when it is on."""
    modes.setting_seen("torch.autograd.set_detect_anomaly()", _get_state, _set_state)
    return modes.current.anomaly_nan


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Switch anomaly detection on or off, as ``set_detect_anomaly`` does as a statement."""
    set_detect_anomaly(mode, check_nan)


def _get_state() -> tuple[bool, bool]:
    return modes.current.anomaly, modes.current.anomaly_nan


def _set_state(state: tuple[bool, bool]) -> None:
    modes.current.anomaly, modes.current.anomaly_nan = state
