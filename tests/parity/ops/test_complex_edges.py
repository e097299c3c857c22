"""Complex functions of infinities, NaN and zeros with a sign."""

from __future__ import annotations

import itertools
import math

import pytest
from oracle import compare

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402

PARTS = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan)
POINTS = [complex(a, b) for a, b in itertools.product(PARTS, PARTS)]
#: The side that PyTorch's own kernels of one and two words do not agree on.
SIGNS_OF_ZEROS_ARE_OPEN = ("acos", "sinc")
NAMES = (
    "exp",
    "exp2",
    "expm1",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "asin",
    "acos",
    "atan",
    "asinh",
    "acosh",
    "atanh",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "sgn",
    "sinc",
    "sigmoid",
)
#: Where PyTorch has NaN of inf * 0, or of a quotient by an infinity, and here a number stands.
BEYOND = {
    "expm1": lambda z: z.imag == 0 and not math.isfinite(z.real) and z.real != -math.inf,
    "sigmoid": lambda z: z.real == -math.inf,
}


def written(z, name):
    """The parts with their signs; of a NaN it is no part of the value."""
    bare = name in SIGNS_OF_ZEROS_ARE_OPEN

    def part(x):
        if math.isnan(x):
            return "nan"
        return (abs(x) if bare and x == 0 else x, bare or math.copysign(1, x))

    return part(z.real), part(z.imag)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", NAMES)
def test_values(name, dtype, jitted):
    points = [z for z in POINTS if not (name in BEYOND and BEYOND[name](z))]

    def of(m):
        f = getattr(m, name)
        f = torchlike.jit(f) if jitted and m is torchlike else f
        return f(m.tensor(points, dtype=getattr(m, dtype))).tolist()

    within = 1e-6 if dtype == "complex64" else 1e-14
    for z, ours, theirs in zip(points, of(torchlike), of(torch), strict=True):
        for a, b in zip(written(ours, name), written(theirs, name), strict=True):
            told = (name, z, ours, theirs)
            if "nan" in (a, b):
                assert a == b, told
            else:
                assert a[0] == pytest.approx(b[0], rel=within, abs=within), told
                assert a[1] == b[1] or a[0] != 0, told


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("sinc", "sgn")])
def test_gradients_on_axes_and_cuts(name):
    """Where a value is given by a rule, the derivative is still the function's, from the side that
    the zero's sign says. PyTorch's is from the one or the other, so it is asked beside the cut."""
    ends = (-4.0, -1.5, -0.5, -0.0, 0.0, 0.5, 1.5, 4.0)
    points = [complex(a, b) for a, b in itertools.product(ends, ends) if a or b]

    def beside(x):
        return x or math.copysign(1e-13, x)

    def of(m, points):
        z = m.tensor(points, dtype=m.complex128, requires_grad=True)
        y = getattr(m, name)(z)
        (y.real + 2 * y.imag).sum().backward()
        return z.grad.numpy()

    theirs = of(torch, [complex(beside(z.real), beside(z.imag)) for z in points])
    assert of(torchlike, points) == pytest.approx(theirs, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize(
    "call",
    [
        lambda m, z: z.abs_(),
        lambda m, z: z.absolute_(),
        lambda m, z: m._foreach_abs_([z]),
        lambda m, z: m.abs_(z),
    ],
)
def test_the_modulus_is_no_complex_number(call):
    def said(m):
        z = m.tensor([3 + 4j])
        with pytest.raises(RuntimeError) as raised:
            call(m, z)
        return str(raised.value), z.tolist()

    assert said(torchlike) == said(torch)


def test_what_may_be_written_to_complex_numbers():
    for m in (torch, torchlike):
        z = m.tensor([3 + 4j])
        assert z.clone().eq_(3 + 4j).tolist() == [1 + 0j]
        assert z.clone().logical_not_().tolist() == [0j]
        assert z.clone().copy_(m.ones(1)).tolist() == [1 + 0j]


@pytest.mark.parametrize("name", ["pow", "float_power"])
def test_powers_whose_factors_overflow(name):
    base = [-943 - 182j, 50 + 694j, -966 - 440j, 82 + 614j, 1e-3 + 2e-3j, 1e-3 + 2e-3j]
    exponent = [-311 + 298j, -288 - 684j, 738 - 694j, 995 + 848j, 150 - 90j, -150 + 90j]

    def function(t):
        return getattr(t, name)(*(t.tensor(v, dtype=t.complex128) for v in (base, exponent)))

    compare(function, jitted=(False, True))
