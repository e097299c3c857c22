"""Complex functions beside and on their branch cuts: a zero's sign says from which side."""

from __future__ import annotations

import itertools

import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402

pytestmark = pytest.mark.parity

PARTS = (-4.0, -0.5, -0.0, 0.0, 0.5, 4.0)
POINTS = [complex(a, b) for a, b in itertools.product(PARTS, PARTS)]


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize(
    "name",
    ["sqrt", "rsqrt", "log", "log1p", "asin", "acos", "atan", "asinh", "acosh", "atanh", "angle"],
)
def test_values(name, jitted):
    def of(m):
        # Of what is infinite at 0 the parts differ: infinite in one library, NaN in the other.
        z = m.tensor([z for z in POINTS if z or name != "rsqrt"], dtype=m.complex128)
        f = getattr(m, name)
        return (torchlike.jit(f) if jitted and m is torchlike else f)(z).numpy()

    assert of(torchlike) == pytest.approx(of(torch), rel=1e-12, abs=1e-14, nan_ok=True)


@pytest.mark.parametrize("name", ["sqrt", "rsqrt"])
def test_gradients(name):
    def of(m):
        z = m.tensor([z for z in POINTS if z], dtype=m.complex128, requires_grad=True)
        y = getattr(m, name)(z)
        (y.real + 2 * y.imag).sum().backward()
        return z.grad.numpy()

    assert of(torchlike) == pytest.approx(of(torch), rel=1e-12, abs=1e-14)
