"""Each behaviour of each area is PyTorch's, or listed as different with a reason."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.parity.semantics.behaviours import AREAS, behaviours, check, reason
from tests.parity.semantics.differences import DIFFERENCES

ROOT = Path(__file__).parents[3]


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


def test_the_page_counts_them() -> None:
    page = (ROOT / "docs" / "design" / "semantics.md").read_text()
    told = dict(re.findall(r"^\| (.+) \| (\d+ \| \d+) \|$", page, re.MULTILINE))
    counted = {}
    for area in AREAS:
        n, differing = len(behaviours(area)), len(DIFFERENCES.get(area, {}))
        counted[area] = f"{n} | {n - differing}"
    assert told == counted


def test_listed_differences_are_behaviours() -> None:
    assert set(DIFFERENCES) <= set(AREAS)
    for area, listed in DIFFERENCES.items():
        assert set(listed) <= set(behaviours(area)), area
        assert all(listed.values()), f"{area}: a difference without a reason"
