"""Histograms, gradients of samples and reductions at their edges, against PyTorch."""

import warnings

import numpy as np
import pytest
from oracle import compare, source

import torchlike

torch = pytest.importorskip("torch")

CASES = """
t.histogram(t.tensor([1., float('nan'), 2.]), t.tensor([0., 1., 2.]))
t.histogram(t.zeros(2, 2), 1, weight=t.ones(4))
t.histogram(t.tensor(3.), t.tensor([2., 3.]))
t.histogram(t.zeros(0), 2)
t.histogramdd(t.zeros(5, 0), 3)
t.histogramdd(t.zeros(5, 0), [], density=True)[0].isnan()
t.histogramdd(t.zeros(5, 0), [], weight=t.ones(5))
t.histogramdd(t.zeros(0, 2), [2, 1])
t.linalg.vector_norm(t.full((3,), float('inf')), -1)
t.linalg.vector_norm(t.full((3,), 1e30), -2)
t.norm(t.tensor([float('inf'), 1.]), -0.5)
t.linalg.vector_norm(t.zeros(3), -2)
t.ones(2, 3).prod((0, 1))
t.ones(2, 3).prod([0])
t.prod(t.ones(2, 3), dim=(1,))
t.full((2, 3), 2.).prod(1, True)
t.full((2, 3), 2.).prod()
t.full((2, 3), 2.).prod(dim=-1, dtype=t.float64)
t.all(t.ones(2), out=t.empty((), dtype=t.uint8))
t.any(t.zeros(2, 2), 0, out=t.empty(2, dtype=t.uint8))
t.any(t.ones(2, dtype=t.uint8), out=t.empty((), dtype=t.bool))
t.add(x1=t.ones(2), x2=t.ones(2))
t.sub(x1=t.ones(2), other=t.ones(2))
t.ones(2).mul(x2=t.ones(2) * 3)
t.maximum(x1=t.ones(2), x2=t.arange(2.))
tuple(p.shape for p in t.zeros(0, 3).chunk(4))
tuple(p.shape for p in t.zeros(2, 0).chunk(3, dim=1))
tuple(p.shape for p in t.zeros(2).chunk(3))
tuple(p.shape for p in t.zeros(0).split(3))
t.renorm(t.zeros(0, 1, 2, 0), 1, 2, 5)
t.zeros(0, 2).renorm_(2, 0, 1.)
t.multinomial(t.ones(0, 3), 2, replacement=True)
t.multinomial(t.ones(0, 3), 2)
t.rand(1).expand(6).bernoulli_(p=t.rand(6))
t.rand(1).expand(6).bernoulli_(p=.5)
f"{t.ones(2, 2, device='meta')}"
'{}'.format(t.tensor(2., device='meta'))
t.ones(2).new(np.array([1., 2.]))
t.ones(2).new(3).shape
t.ones(2).new(np.int64(3)).shape
t.gradient(t.tensor([1, 4, 9, 2]), spacing=2)
t.gradient(t.arange(4.), spacing=[t.tensor([0., 1, 3, 4], dtype=t.float64)])[0].dtype
t.gradient(t.arange(4.), spacing=[t.tensor([0, 1, 3, 4]) + 0j])[0].dtype
t.gradient(t.arange(4.), spacing=1 + 1j, edge_order=2)[0].dtype
""".strip().splitlines()
WORDS = [
    "t.histogram(t.tensor(3), 1)",
    "t.histogram(t.zeros(2), -1)",
    "t.histogram(t.tensor(3.), t.tensor(1., dtype=t.float64))",
    "t.histogram(t.tensor(3.), 1, weight=t.tensor(1., dtype=t.float64))",
    "t.histogram(t.zeros(2, 2), t.zeros(2, 2))",
    "t.histogram(t.zeros(2), t.tensor(1.))",
    "t.histogram(t.zeros(0), t.zeros(0))",
    "t.histogram(t.zeros(3), t.zeros(1))",
    "t.histogram(t.zeros(2, 2), 1, weight=t.zeros(1))",
    "t.histogram(t.zeros(2), 4, range=(0, float('inf')))",
    "t.histogram(t.zeros(2), 4, range=(1, 0))",
    "t.histogram(t.zeros(2), 4, range=(1, 2, 3))",
    "t.histogram(t.tensor([1., float('inf')]), 4)",
    "t.histc(t.tensor([1., float('inf')]), 4)",
    "t.histogramdd(t.zeros(2, 2), 4, range=(1, 0, 0, 1))",
    "t.histogramdd(t.tensor([[1., float('nan')]]), 4)",
    "t.histogramdd(t.zeros(2, 2), [t.zeros(0), t.zeros(2)])",
    "t.histogramdd(t.zeros(2, 2), [t.zeros(2), t.zeros(1, 2)])",
    "t.histogramdd(t.zeros(2, 2), [t.zeros(2, dtype=t.float64), t.zeros(2)])",
    "t.all(t.ones(2), out=t.empty(0))",
    "t.any(t.ones(2, 2), 0, out=t.empty(0, dtype=t.int8))",
]


@pytest.mark.parametrize("line", CASES)
def test_as_pytorch(line):
    function = source(line)
    compare(function, exact=True, words=0)


@pytest.mark.parametrize("line", WORDS)
def test_in_pytorchs_words(line):
    function = source(line)
    compare(function, exact=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("range", [None, (-1.3, 2.9), (0.4, 0.4)])
def test_edges_of_histograms(range, dtype):
    """Edges lie where `linspace` has them, and decide what falls into which interval."""
    data = np.random.default_rng(3).uniform(-2, 3, 40).round(1)
    tolerance = {"float32": 0, "float64": 1e-15}[dtype]  # XLA has no wider type for float64
    for bins in (1, 2, 5, 7, 10):
        ours, theirs = (
            t.histogram(t.tensor(data, dtype=getattr(t, dtype)), bins, range=range)
            for t in (torchlike, torch)
        )
        np.testing.assert_allclose(
            ours[1].numpy(), theirs[1].numpy(), rtol=tolerance, atol=tolerance
        )
        assert ours[0].tolist() == theirs[0].tolist()


FAR = [2.0, -2.0, np.inf, np.inf, -np.inf, 3.0, -np.inf, 2.0, np.nan, 3.0, 1.0]


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("edge_order", [1, 2])
@pytest.mark.parametrize("spacing", [0.5, 2, 1.5 + 1j, "points", "complex points", "integers"])
@pytest.mark.parametrize("data", [FAR, [1, 4, 9, 2, 0, 3, 3, 8, 1, 7, 2]])
def test_gradient_of_samples(data, spacing, edge_order, jit):
    points = {
        "points": np.array([0, 1, 1.5, 3, 3.25, 5, 6, 7.5, 9, 10, 12]),
        "complex points": np.arange(11.0) ** 2 * (1 + 0.5j),
        "integers": np.array([0, 1, 3, 4, 6, 7, 8, 9, 11, 12, 15]),
    }

    def gradient(t, x):
        gap = [t.tensor(points[spacing])] if isinstance(spacing, str) else spacing
        return t.gradient(x, spacing=gap, edge_order=edge_order)[0]

    ours = (torchlike.jit(gradient) if jit else gradient)(torchlike, torchlike.tensor(data))
    theirs = gradient(torch, torch.tensor(data))
    assert str(ours.dtype) == str(theirs.dtype)
    tolerance = 1e-6 if "float32" in str(ours.dtype) or "64" in str(ours.dtype) else 1e-14
    if data is FAR and ours.is_complex():  # what infinities make of complex numbers is any NaN
        assert (ours.isfinite() == torchlike.tensor(theirs.isfinite().tolist())).all()
        return
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean"])
@pytest.mark.parametrize(
    ("size", "arguments", "warns"),
    [
        ((3,), {"correction": 3}, True),
        ((1,), {}, True),
        ((2, 0), {"dim": 1}, True),
        ((0, 3), {"dim": 1}, True),
        ((3,), {}, False),
        ((1,), {"unbiased": False}, False),
        ((2, 3), {"dim": 1, "correction": 2}, False),
    ],
)
def test_no_degrees_of_freedom(name, size, arguments, warns):
    for t in (torchlike, torch):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            getattr(t, name)(t.ones(size), **arguments)
        assert [("degrees of freedom is <= 0" in str(w.message)) for w in caught] == [True] * warns


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_long_sums_of_complex_numbers(name, jit):
    """Added up one by one, they are off by 1.7e-3."""
    x = (np.arange(1 << 19).reshape(64, 16, 16, 32) % 512 / 32 * (1 - 2j)).astype(np.complex64)
    z = torchlike.tensor(x, requires_grad=True)
    reduce = getattr(torchlike, name)
    total = (torchlike.jit(reduce) if jit else reduce)(z)
    expected = getattr(np, name)(x.astype(np.complex128))
    assert abs(total.item() - expected) <= 1e-6 * abs(expected)
    total.backward(torchlike.tensor(2 - 1j))
    count = 1 if name == "sum" else x.size
    np.testing.assert_allclose(z.grad.numpy(), (2 - 1j) / count, rtol=1e-6)
