"""``logcumsumexp`` of complex numbers without end, and its gradient there."""

from __future__ import annotations

import itertools
import math

import pytest

torch = pytest.importorskip("torch")

from tests.parity.oracle import compare  # noqa: E402

INF, NAN = math.inf, math.nan
NUMBERS = [
    complex(-INF, 0),
    complex(-INF, 1),
    complex(INF, 0),
    complex(INF, 1),
    complex(-INF, NAN),
    complex(NAN, 0),
    complex(1, NAN),
    complex(-INF, INF),
    complex(1, INF),
    complex(INF, -INF),
    1 + 2j,
]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_of_two(dtype: str) -> None:
    pairs = list(itertools.product(NUMBERS, NUMBERS))
    compare(lambda t: t.logcumsumexp(t.tensor(pairs, dtype=getattr(t, dtype)), 1))


def test_of_many() -> None:
    row = [complex(-INF, 2), complex(-INF, 0), complex(-INF, 1), 2j, complex(-INF, 0), 1 - 1j]
    compare(lambda t: t.logcumsumexp(t.tensor(row), 0))
    compare(lambda t: t.logcumsumexp(t.tensor(row[:3]), 0))


@pytest.mark.parametrize(
    "row",
    [
        [1 + 2j, complex(-INF, 0), 3j],
        [complex(-INF, 0), 1 + 2j],
        [complex(INF, 0), 1],
        [2j, complex(INF, 1), 1],
        [complex(-INF, INF), 1],
        [1j, 2, -3 + 1j],
    ],
    ids=str,
)
def test_gradients(row: list[complex]) -> None:
    def gradient(t):
        x = t.tensor(row, dtype=t.complex128, requires_grad=True)
        return t.autograd.grad(t.logcumsumexp(x, 0), x, t.tensor([1.0, 2j, 3.0][: len(row)]))

    compare(gradient)


@pytest.mark.parametrize("length", [1, 2, 5])
def test_second_gradients(length: int) -> None:
    rows = [0.5 + 1j, -1 + 0.3j, 2 - 0.2j, -0.7 - 2j, 0.1j][:length]
    weights = [1 + 0.1j, 2 - 1j, 3 + 0.5j, -1 + 0j, 0.3j][:length]

    def gradient(t):
        x = t.tensor(rows, dtype=t.complex128, requires_grad=True)
        by = t.tensor(weights, dtype=t.complex128)
        (slope,) = t.autograd.grad(t.logcumsumexp(x, 0), x, by, create_graph=True)
        return t.autograd.grad(slope, x, by.conj())

    compare(gradient, rtol=1e-9, atol=1e-12)
