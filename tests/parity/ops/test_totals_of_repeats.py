"""``repeat_interleave(output_size=)``: the total must be that of the counts."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from tests.parity.oracle import compare  # noqa: E402


@pytest.mark.parametrize("total", [-1, 0, 5, 6, 7])
def test_of_counts(total: int) -> None:
    compare(lambda t: t.repeat_interleave(t.arange(3), t.tensor([1, 2, 3]), output_size=total))
    compare(lambda t: t.ones(2, 3).repeat_interleave(t.tensor([1, 2, 3]), 1, output_size=total))
    compare(lambda t: t.ones(3).repeat_interleave(t.tensor([2]), output_size=total))


@pytest.mark.parametrize("total", [5, 6, 7])
def test_of_positions(total: int) -> None:
    compare(lambda t: t.repeat_interleave(t.tensor([1, 2, 3]), output_size=total))
