"""P(a, x) and Q(a, x) where ``a`` is large."""

import math

import pytest

import torchlike as torch

#: a, x, P, Q, integrated numerically with 40 digits.
REFERENCE = [
    (150000.0, 149000.0, 0.0048423543378993449, 0.99515764566210066),
    (1e6, 1001000.0, 0.84134478636834029, 0.15865521363165971),
    (1e7, 1e7, 0.5000420522087237, 0.4999579477912763),
    (1e9, 1e9 + 5e4, 0.9430750438329841, 0.056924956167015898),
    (1e9, 1e9 - 1e5, 0.00078244613996278354, 0.99921755386003722),
    (1e12, 1e12 + 2e6, 0.97724981406088128, 0.022750185939118725),
]


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("jitted", [False, True])
def test_large_arguments(jitted):
    a, x, p, q = (torch.tensor(v, dtype=torch.float64) for v in zip(*REFERENCE, strict=True))
    igamma, igammac = (torch.jit(f) if jitted else f for f in (torch.igamma, torch.igammac))
    torch.testing.assert_close(igamma(a, x), p, rtol=1e-12, atol=0)
    torch.testing.assert_close(igammac(a, x), q, rtol=1e-12, atol=0)
    half = igamma(a.float(), a.float())
    torch.testing.assert_close(half, torch.full((6,), 0.5), rtol=3e-3, atol=0)  # 1/(3 sqrt(2πa))


def test_both_ways_of_computing_meet():
    x = torch.linspace(9.8e4, 1.02e5, 41, dtype=torch.float64)
    ends = torch.tensor([[1e5], [math.nextafter(1e5, math.inf)]], dtype=torch.float64)
    for f in (torch.igamma, torch.igammac):
        below, above = f(ends, x)
        torch.testing.assert_close(below, above, rtol=1e-8, atol=1e-10)  # JAX's sum: 1e-10


def test_ends():
    x = torch.tensor([0.0, 1.0, 1e6, 1e300, math.inf, -1.0, math.nan], dtype=torch.float64)
    p = torch.igamma(torch.tensor(2e5, dtype=torch.float64), x)
    q = torch.igammac(torch.tensor(2e5, dtype=torch.float64), x)
    assert p[:5].tolist() == [0, 0, 1, 1, 1]
    assert q[:5].tolist() == [1, 1, 0, 0, 0]
    assert p[5:].isnan().all()
    assert q[5:].isnan().all()


def test_the_derivative_is_the_density():
    a = torch.tensor([40.0, 1.1e5, 1e6, 1e9, 1e9], dtype=torch.float64)
    x = torch.tensor([50.0, 1.102e5, 0.9985e6, 1e9, 0.0], dtype=torch.float64, requires_grad=True)
    torch.igamma(a, x).sum().backward()
    at = x.detach()[:3]
    density = torch.exp((a[:3] - 1) * at.log() - at - torch.lgamma(a[:3]))
    torch.testing.assert_close(x.grad[:3], density, rtol=1e-8, atol=0)  # logarithms near 1e7
    torch.testing.assert_close(x.grad[3].item(), 1 / math.sqrt(2e9 * math.pi), rtol=1e-8, atol=0)
    assert x.grad[4] == 0


def test_of_order_zero():
    a, x = torch.zeros(5), torch.tensor([1e-3, 0.5, 3.0, torch.inf, 0.0])
    for igamma, igammac in (
        (torch.igamma, torch.igammac),
        (torch.jit(torch.igamma), torch.jit(torch.igammac)),
    ):
        p, q = igamma(a, x), igammac(a, x)
        assert p[:4].tolist() == [1, 1, 1, 1]
        assert q[:4].tolist() == [0, 0, 0, 0]
        assert p[4].isnan()
        assert q[4].isnan()
