"""A tolerance above 1e-4 has its reason beside it: a comment on its line, or up to three above."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NAMES = {"rtol", "atol", "rel"}
WIDE = 1e-4


def without_reason(source: str) -> Iterator[str]:
    """The lines of a test's source that say a wide tolerance and not why."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.keyword) and node.arg in NAMES):
            continue
        value = node.value
        if not (isinstance(value, ast.Constant) and isinstance(value.value, (int, float))):
            continue
        if value.value > WIDE and not any("#" in x for x in lines[node.lineno - 4 : node.lineno]):
            yield f"line {node.lineno}: {lines[node.lineno - 1].strip()}"


@pytest.mark.parametrize("source", ["same(x, y, rtol=0.1)", "assert x == approx(y, rel=2e-4)"])
def test_what_a_reason_is(source: str) -> None:
    assert list(without_reason(source))
    assert not list(without_reason(f"# sums of 16 bits\n{source}"))
    assert not list(without_reason(f"{source}  # sums of 16 bits"))


@pytest.mark.exhaustive
def test_wide_tolerances_have_reasons() -> None:
    found = {
        str(path.relative_to(HERE)): missing
        for path in HERE.rglob("*.py")
        if (missing := list(without_reason(path.read_text())))
    }

    assert not found
