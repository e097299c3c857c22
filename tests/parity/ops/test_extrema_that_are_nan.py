"""The gradient of an extremum at an index where that is NaN: NaN of all that took part."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from tests.parity.oracle import compare  # noqa: E402

NAN = math.nan


@pytest.mark.parametrize("name", ["scatter_reduce", "index_reduce"])
@pytest.mark.parametrize("reduce", ["amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("values", [[1.0, NAN, 2.0], [5.0, 5.0, NAN], [1.0, 2.0, 3.0]], ids=str)
@pytest.mark.parametrize("own", [[1.0, 7.0], [NAN, 0.0], [5.0, 3.0]], ids=str)
def test_gradients(name, reduce, include_self, values, own) -> None:
    def gradients(t):
        x, source = (t.tensor(v, requires_grad=True) for v in (own, values))
        index = t.tensor([0, 0, 1])
        y = getattr(x, name)(0, index, source, reduce, include_self=include_self)
        return y, t.autograd.grad(y, (x, source), t.tensor([2.0, 3.0]))

    compare(gradients)
