"""Times in words: which unit fits, and how many digits mean something."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_ENGLISH = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}


def select_unit(t: float) -> tuple[str, float]:
    """Return the largest of ns, us, ms and s that the time is at least one of, and its length in
    seconds."""
    fitting = [unit for unit, size in _UNITS.items() if t >= size]
    unit = fitting[-1] if fitting else "ns"
    return unit, _UNITS[unit]


def unit_to_english(u: str) -> str:
    """Return the name of a unit: "microsecond" for "us". Raises KeyError for others."""
    return _ENGLISH[u]


def trim_sigfig(x: float, n: int) -> float:
    """Round a number to ``n`` significant figures, to the nearest."""
    if x != int(x) or x:
        magnitude = int(np.ceil(np.log10(np.abs(x))))
        scale = 10.0 ** (magnitude - n)
        return float(np.round(x / scale) * scale)
    return float(x)


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """Return each element once, where it came first."""
    return list(dict.fromkeys(elements))
