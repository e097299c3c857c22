"""``segment_reduce`` by either name of an extremum, and by none that there is."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from tests.parity.oracle import compare  # noqa: E402


@pytest.mark.parametrize("reduce", ["amax", "amin", "max", "min", "median"])
@pytest.mark.parametrize("lengths", [[2, 1], [0, 3]], ids=str)
@pytest.mark.parametrize("initial", [None, 1.5])
def test_reductions(reduce: str, lengths: list[int], initial: float | None) -> None:
    def f(t):
        x = t.tensor([1.0, 3.0, 2.0], requires_grad=True)
        y = t.segment_reduce(x, reduce, lengths=t.tensor(lengths), initial=initial)
        return y, t.autograd.grad(y.sum(), x)

    compare(f)
