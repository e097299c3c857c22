"""A sample of many cases for the plain run; all of them under the marker ``full``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest


def sampled(cases: Sequence[Any] | Iterable[Any], every: int) -> list[Any]:
    """The cases as parameters: all but each ``every``-th are marked ``full``."""
    found = []
    for at, case in enumerate(cases):
        values = case if isinstance(case, tuple) else (case,)
        found.append(pytest.param(*values, marks=[pytest.mark.full] if at % every else []))
    return found
