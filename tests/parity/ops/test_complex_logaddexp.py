"""``logaddexp`` of complex numbers, some of them without an end."""

import itertools
import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.parity.oracle import compare  # noqa: E402

INF, NAN = math.inf, math.nan
NUMBERS = [
    0j,
    1 + 0j,
    -1 + 2j,
    complex(INF, 0),
    complex(-INF, 0),
    complex(INF, 1),
    complex(-INF, 1),
    complex(0, INF),
    complex(0, -INF),
    complex(NAN, 0),
    complex(0, NAN),
    complex(INF, INF),
    complex(-INF, -INF),
    complex(NAN, NAN),
]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_values(dtype: str) -> None:
    first, second = zip(*itertools.product(NUMBERS, NUMBERS), strict=True)

    def found(t: Any) -> Any:
        x, y = (t.tensor(v, dtype=getattr(t, dtype)) for v in (first, second))
        return t.view_as_real(t.logaddexp(x, y))

    compare(found)


def test_gradients() -> None:
    def found(t: Any) -> Any:
        x = t.tensor([1 + 2j, 3 - 1j, 0.5j, -2 + 0j], requires_grad=True)
        y = t.tensor([1 - 1j, -3 + 0j, 0.5j, 20 + 1j], requires_grad=True)
        return t.autograd.grad(t.logaddexp(x, y).abs().sum(), (x, y))

    compare(found)
