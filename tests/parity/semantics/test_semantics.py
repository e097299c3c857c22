"""Each behaviour of each area is PyTorch's, or listed as different with a reason."""

from __future__ import annotations

from typing import Any

import pytest

from tests.parity.semantics.behaviours import AREAS, behaviours, check, reason
from tests.parity.semantics.differences import DIFFERENCES


def _cases() -> list[Any]:
    cases = []
    for area in AREAS:
        for name in behaviours(area):
            why = reason(area, name)
            marks = [] if why is None else [pytest.mark.xfail(strict=True, reason=why)]
            cases.append(pytest.param(area, name, marks=marks, id=f"{area}: {name}"))
    return cases


@pytest.mark.parametrize(("area", "name"), _cases())
def test_behaviour(area: str, name: str) -> None:
    check(behaviours(area)[name])


def test_listed_differences_are_behaviours() -> None:
    assert set(DIFFERENCES) <= set(AREAS)
    for area, listed in DIFFERENCES.items():
        assert set(listed) <= set(behaviours(area)), area
        assert all(listed.values()), f"{area}: a difference without a reason"
