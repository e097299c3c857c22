"""Complex functions beside and on their branch cuts: a zero's sign says from which side."""

from __future__ import annotations

import itertools

import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402

PARTS = (-4.0, -0.5, -0.0, 0.0, 0.5, 4.0)
POINTS = [complex(a, b) for a, b in itertools.product(PARTS, PARTS)]


@pytest.mark.sampled(every=3)
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


EDGES = [
    complex(a, b)
    for a in (float("nan"), float("inf"), -float("inf"), 1.0, 0.0)
    for b in (float("nan"), float("inf"), -float("inf"), -2.0, 0.0)
]


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize(
    ("name", "part"), [("abs", "real"), ("atan", "real"), ("atanh", "imag"), ("exp2", "real")]
)
def test_infinities_and_what_is_no_number(name, part, jitted):
    def of(m):
        # The exponential of an infinite angle has NaN for what C makes a number.
        points = [z for z in EDGES if name != "exp2" or abs(z.imag) < 3]
        z = m.tensor(points, dtype=m.complex128)
        f = getattr(m, name)
        return getattr((torchlike.jit(f) if jitted and m is torchlike else f)(z), part).tolist()

    assert of(torchlike) == pytest.approx(of(torch), rel=1e-12, abs=1e-14, nan_ok=True)
