"""Functions that keep their digits where the obvious formula loses them."""

import cmath
import math

import pytest

import torchlike as torch


def derivative_of_sinc(x):
    u = math.pi * x
    if abs(u) < 1e-3:
        return math.pi * (-u / 3 + u**3 / 30)
    return math.pi * (u * math.cos(u) - math.sin(u)) / u**2


def gradient(fn, numbers, dtype=None):
    x = torch.tensor(numbers, dtype=dtype, requires_grad=True)
    (found,) = torch.autograd.grad(fn(x).sum(), x)
    assert found is not None
    return found.tolist()


@pytest.mark.parametrize("name", ["eager", "jitted"])
def test_the_derivative_of_sinc_near_zero(name):
    numbers = [0.0, 1e-20, -1e-5, 0.01, 0.3, 0.31832, -0.7, 2.5]
    fn = torch.sinc if name == "eager" else torch.jit(torch.sinc)
    expected = [derivative_of_sinc(x) for x in numbers]
    assert gradient(fn, numbers) == pytest.approx(expected, rel=1e-5)


def test_the_derivatives_of_sinc_in_float64():
    numbers = [1e-9, 0.01, 0.3183, 0.3184, 1.7]
    expected = [derivative_of_sinc(x) for x in numbers]
    assert gradient(torch.sinc, numbers, torch.float64) == pytest.approx(expected, rel=1e-9)
    x = torch.tensor([0.02, 0.3, 0.7], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(torch.sinc, (x,))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_powers_of_two_are_exact(dtype):
    integers = [-126, -7, 0, 1, 53, 99, 127]
    assert torch.exp2(torch.tensor(integers, dtype=dtype)).tolist() == [2.0**n for n in integers]
    numbers = [-3.3, 0.5, 0.49999, 99.9, -99.9, 127.9, -125.5]
    found = torch.exp2(torch.tensor(numbers, dtype=dtype)).tolist()
    exact = [2.0**x for x in torch.tensor(numbers, dtype=dtype).tolist()]
    assert found == pytest.approx(exact, rel=3e-7)


def test_powers_of_two_out_of_range():
    x = torch.tensor([128.0, 1e30, math.inf, -1000.0, -math.inf, math.nan])
    for fn in (torch.exp2, torch.jit(torch.exp2)):
        *known, unknown = fn(x).tolist()
        assert known == [math.inf, math.inf, math.inf, 0, 0]
        assert math.isnan(unknown)


@pytest.mark.parametrize("name", ["sinh", "cosh"])
def test_complex_hyperbolic_functions_near_the_imaginary_axis(name):
    numbers = [1e-10, 1e-10 + 1j, -1e-7 + 2.5j, 0.3 - 0.2j, 3 + 4j]
    z = torch.tensor(numbers, requires_grad=True)
    out = getattr(torch, name)(z)
    (grad,) = torch.autograd.grad(out, z, torch.ones_like(out))
    assert grad is not None
    other = {"sinh": cmath.cosh, "cosh": cmath.sinh}[name]
    for found, exact in (
        (out.tolist(), [getattr(cmath, name)(n) for n in numbers]),
        (grad.tolist(), [other(n).conjugate() for n in numbers]),
    ):
        assert [f.real for f in found] == pytest.approx([e.real for e in exact], rel=1e-5)
        assert [f.imag for f in found] == pytest.approx([e.imag for e in exact], rel=1e-5)


def log_ndtr(x):
    upper = 0.5 * math.erfc(x / math.sqrt(2))
    return math.log1p(-upper) if x > 0 else math.log(0.5 * math.erfc(-x / math.sqrt(2)))


@pytest.mark.parametrize(("dtype", "rel"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
def test_the_logarithm_of_the_normal_distribution(dtype, rel):
    numbers = [-20.0, -5.0, -1.5, -0.5, 0.0, 0.5, 2.0, 5.0, 7.0]
    x = torch.tensor(numbers, dtype=dtype)
    expected = [log_ndtr(n) for n in numbers]
    for fn in (torch.special.log_ndtr, torch.jit(torch.special.log_ndtr)):
        assert fn(x).tolist() == pytest.approx(expected, rel=rel)
    density = [
        math.exp(-n * n / 2 - e) / math.sqrt(2 * math.pi)
        for n, e in zip(numbers, expected, strict=True)
    ]
    found = gradient(torch.special.log_ndtr, numbers, dtype)
    assert found == pytest.approx(density, rel=max(rel, 1e-11))
    x = torch.tensor([-30.0, -2.0, 0.5, 3.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(torch.special.log_ndtr, (x,))


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("name", ["elu", "celu", "selu"])
def test_the_derivative_of_elu_far_below_zero(name):
    scale = 1.6732632423543772 * 1.0507009873554805 if name == "selu" else 1
    fn = getattr(torch.nn.functional, name)
    for f in (fn, torch.jit(fn)):
        found = gradient(f, [-20.0, -7.0])
        assert found == pytest.approx([scale * math.exp(x) for x in (-20, -7)], rel=1e-5)
