"""Draws with tensor parameters and random projections against PyTorch: numbers and gradients."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402

BOTH = (torch, torchlike)


def line(m, low, high, count, dtype="float32"):
    """Evenly spaced numbers, the same bits in both frameworks."""
    return m.tensor(np.linspace(low, high, count).astype(dtype))


def each(function):
    """``function(module)`` from both frameworks, with the generator's next number."""
    found = []
    for module in BOTH:
        module.manual_seed(11)
        result = function(module)
        results = result if isinstance(result, tuple) else (result,)
        found.append([np.array(t.detach().numpy()) for t in (*results, module.rand(1))])
    return zip(*found, strict=True)


@pytest.mark.parametrize(
    "draw",
    [
        lambda m: m.poisson(line(m, 0, 40, 30)),
        lambda m: m.binomial(line(m, 0, 90, 30).round(), line(m, 0, 1, 30)),
        lambda m: m._standard_gamma(line(m, 0.1, 7, 30)),
        lambda m: m._standard_gamma(line(m, 0.1, 7, 30, "float64")),
        lambda m: m._sample_dirichlet(line(m, 0.2, 5, 12).reshape(3, 4)),
        lambda m: m.normal(line(m, -1, 1, 20), line(m, 0.1, 2, 20)),
        lambda m: m.normal(line(m, -1, 1, 20), 0.5),
        lambda m: m.normal(0.5, line(m, 0.1, 2, 20)),
        lambda m: m.normal(0.5, 2.0, (4, 5)),
        lambda m: m.ops.aten.exponential(m.zeros(9), 2.0),
        lambda m: m.native_dropout(line(m, -1, 1, 24).reshape(4, 6).t(), 0.4, True),
    ],
)
def test_bit_for_bit(draw):
    for theirs, ours in each(draw):
        assert theirs.dtype == ours.dtype
        assert np.array_equal(theirs, ours)


@pytest.mark.parametrize("p", [0.2, 0.5])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("name", ["dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d"])
@pytest.mark.parametrize("dims", [(0, 1, 2), (1, 0, 2), (2, 0, 1)], ids=str)
def test_noise_lies_along_the_memory(name, dtype, p, dims):
    def draw(m):
        x = line(m, -2, 2, 60).reshape(3, 4, 5).to(getattr(m, dtype)).permute(dims)
        return getattr(m.nn.functional, name)(x, p, True).to(m.float64)

    with np.errstate(all="ignore"):
        for theirs, ours in each(draw):
            assert np.array_equal(theirs, ours)


@pytest.mark.parametrize("dims", [(0, 1), (1, 0)], ids=str)
@pytest.mark.parametrize("inplace", [False, True])
def test_rrelu(inplace, dims):
    def draw(m):
        leaf = line(m, -2, 2, 24).reshape(4, 6).requires_grad_()
        y = m.nn.functional.rrelu((leaf * 1).permute(dims), 0.1, 0.4, True, inplace)
        y.pow(2).sum().backward()
        return y, leaf.grad

    for theirs, ours in each(draw):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_rrelu_under_a_jit_refuses():
    function = torchlike.jit(lambda x: torchlike.nn.functional.rrelu(x, training=True))
    with pytest.raises(RuntimeError, match="leaky_relu"):
        function(torchlike.ones(3))


@pytest.mark.parametrize("hard", [False, True])
def test_gumbel_softmax(hard):
    def draw(m):
        x = line(m, -2, 2, 24).reshape(4, 6).requires_grad_()
        y = m.nn.functional.gumbel_softmax(x, 0.7, hard, dim=0)
        (y * m.arange(24.0).reshape(4, 6)).sum().backward()
        return y, x.grad

    for theirs, ours in each(draw):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)


def test_gradient_of_a_gamma_sample():
    def draw(m):
        alpha = line(m, 0.3, 9, 20, "float64").requires_grad_()
        m._standard_gamma(alpha).sum().backward()
        return alpha.grad

    for theirs, ours in each(draw):
        # Both approximate the derivative of an incomplete gamma function.
        np.testing.assert_allclose(ours, theirs, rtol=2e-3)


def test_counts_have_a_gradient_of_zero():
    def draw(m):
        rate = line(m, 0.3, 9, 5).requires_grad_()
        m.poisson(rate).sum().backward()
        return rate.grad

    for theirs, ours in each(draw):
        assert np.array_equal(theirs, ours)


@pytest.mark.parametrize("shape", [(6, 4), (3, 7), (2, 5, 4)], ids=str)
@pytest.mark.parametrize("name", ["svd_lowrank", "pca_lowrank"])
def test_low_rank_approximations(name, shape):
    values = np.random.default_rng(0).standard_normal(shape)

    def product(m):
        u, s, v = getattr(m, name)(m.tensor(values), q=3)
        return s, (u * s.unsqueeze(-2)) @ v.mH

    for theirs, ours in each(product):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize(("rows", "n"), [((), 7), ((), 2000), ((4,), 40), ((1,), 300)])
def test_equals_of_multinomial(dtype, rows, n):
    """Weights of 0 that are chosen all the same, and values that are equal in 16 bits, come in the
    order in which PyTorch selects them."""

    def draw(m):
        weights = line(m, -1, 2, n, "float64").clamp(min=0).to(getattr(m, dtype))
        weights = weights.expand(*rows, n)
        return tuple(m.multinomial(weights, k) for k in (1, 2, max(1, n // 100), n // 2, n))

    for theirs, ours in each(draw):
        assert np.array_equal(theirs, ours)


def test_weighted_samplers_that_need_weights_of_zero():
    def draw(m):
        sampler = m.utils.data.WeightedRandomSampler([0, 1, 0, 0, 2.0, 0] * 5, 30, False)
        return m.tensor(list(sampler))

    for theirs, ours in each(draw):
        assert np.array_equal(theirs, ours)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_more_draws_than_weights_that_are_not_zero(dtype):
    """Without replacement: the others follow, in the order of PyTorch's (compiled in their own)."""

    def draws(m):
        weights = m.tensor([[0.0, 0, 1, 0, 1], [0, 0, 0, 0, 3]], dtype=getattr(m, dtype))
        return tuple(m.multinomial(w, k) for w in (weights, weights[0]) for k in (2, 3, 5))

    for theirs, ours in each(draws):
        assert np.array_equal(theirs, ours)


@pytest.mark.parametrize("k", [1, 3])
def test_multinomial_compiled(k):
    weights = torchlike.rand(5, 40)

    def draw(m, w, function):
        m.manual_seed(1)
        return function(w, k).numpy()

    expected = draw(torch, torch.tensor(weights.numpy()), torch.multinomial)
    assert np.array_equal(draw(torchlike, weights, torchlike.multinomial), expected)
    compiled = torchlike.jit(lambda w, k: torchlike.multinomial(w, k))
    assert np.array_equal(draw(torchlike, weights, compiled), expected)


@pytest.mark.parametrize(
    "refused",
    [
        lambda m: m.zeros(3).geometric_(),
        lambda m: m.bernoulli(m.zeros(3, dtype=m.complex64)),
        lambda m: m.normal(m.zeros(3), m.ones(4)),
    ],
)
def test_refusals(refused):
    words = []
    for m in BOTH:
        with pytest.raises((TypeError, RuntimeError)) as error:
            refused(m)
        words.append((type(error.value), str(error.value)))
    assert words[0] == words[1]
