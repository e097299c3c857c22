"""Every distribution against PyTorch's: the same seed gives the same numbers; densities."""

import contextlib
import warnings

import numpy as np
import pytest
from oracle import same

import torchlike

torch = pytest.importorskip("torch")

A = np.array([[2.0, 0.5, 0.1], [0.5, 1.5, 0.2], [0.1, 0.2, 1.0]], np.float32)


def P(t, values):
    return t.tensor(np.asarray(values, np.float32), requires_grad=True)


#: name -> (parameters as arrays, distribution given (module distributions, tensors)).
CASES = {
    "Normal": (([0.5, -1.0], [1.0, 2.0]), lambda d, a, b: d.Normal(a, b)),
    "LogNormal": (([0.5, -1.0], [0.3, 0.6]), lambda d, a, b: d.LogNormal(a, b)),
    "HalfNormal": (([1.0, 2.0],), lambda d, a: d.HalfNormal(a)),
    "HalfCauchy": (([1.0, 2.0],), lambda d, a: d.HalfCauchy(a)),
    "Cauchy": (([0.5, -1.0], [1.0, 2.0]), lambda d, a, b: d.Cauchy(a, b)),
    "Laplace": (([0.5, -1.0], [1.0, 2.0]), lambda d, a, b: d.Laplace(a, b)),
    "Uniform": (([0.5, -1.0], [1.0, 2.0]), lambda d, a, b: d.Uniform(a, b)),
    "Exponential": (([0.5, 3.0],), lambda d, a: d.Exponential(a)),
    "Gamma": (([0.5, 3.0], [1.0, 2.0]), lambda d, a, b: d.Gamma(a, b)),
    "InverseGamma": (([2.5, 3.0], [1.0, 2.0]), lambda d, a, b: d.InverseGamma(a, b)),
    "Chi2": (([1.5, 3.0],), lambda d, a: d.Chi2(a)),
    "Beta": (([0.5, 3.0], [1.5, 2.0]), lambda d, a, b: d.Beta(a, b)),
    "Dirichlet": (([[0.5, 3.0, 1.0]],), lambda d, a: d.Dirichlet(a)),
    "StudentT": (([3.5, 5.0], [0.0, 1.0], [1.0, 2.0]), lambda d, *a: d.StudentT(*a)),
    "FisherSnedecor": (([3.5, 5.0], [6.0, 7.0]), lambda d, a, b: d.FisherSnedecor(a, b)),
    "Gumbel": (([0.5, -1.0], [1.0, 2.0]), lambda d, a, b: d.Gumbel(a, b)),
    "Pareto": (([0.5, 1.0], [3.0, 4.0]), lambda d, a, b: d.Pareto(a, b)),
    "GeneralizedPareto": (
        ([0.5, 1.0], [1.0, 2.0], [0.3, 0.2]),
        lambda d, *a: d.GeneralizedPareto(*a),
    ),
    "Weibull": (([0.5, 1.0], [1.5, 2.0]), lambda d, a, b: d.Weibull(a, b)),
    "Kumaraswamy": (([1.5, 2.0], [1.5, 3.0]), lambda d, a, b: d.Kumaraswamy(a, b)),
    "VonMises": (([0.5, -1.0], [1.0, 5.0]), lambda d, a, b: d.VonMises(a, b)),
    "Bernoulli": (([0.3, 0.8],), lambda d, a: d.Bernoulli(a)),
    "Bernoulli-logits": (([-0.3, 0.8],), lambda d, a: d.Bernoulli(logits=a)),
    "ContinuousBernoulli": (([0.3, 0.8, 0.5],), lambda d, a: d.ContinuousBernoulli(a)),
    "Geometric": (([0.3, 0.8],), lambda d, a: d.Geometric(a)),
    "Binomial": (([0.3, 0.8],), lambda d, a: d.Binomial(5, a)),
    "NegativeBinomial": (([0.3, 0.6],), lambda d, a: d.NegativeBinomial(5, a)),
    "Poisson": (([0.5, 3.0],), lambda d, a: d.Poisson(a)),
    "Categorical": (([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]],), lambda d, a: d.Categorical(a)),
    "Categorical-logits": (([0.2, -0.3, 0.5],), lambda d, a: d.Categorical(logits=a)),
    "OneHotCategorical": (([[0.2, 0.3, 0.5]],), lambda d, a: d.OneHotCategorical(a)),
    "OneHotStraightThrough": (
        ([[0.2, 0.3, 0.5]],),
        lambda d, a: d.OneHotCategoricalStraightThrough(a),
    ),
    "Multinomial": (([[0.2, 0.3, 0.5]],), lambda d, a: d.Multinomial(6, a)),
    "RelaxedBernoulli": (([0.7], [0.3, 0.8]), lambda d, t, a: d.RelaxedBernoulli(t, a)),
    "RelaxedOneHot": (([0.7], [0.3, 0.5, 0.2]), lambda d, t, a: d.RelaxedOneHotCategorical(t, a)),
    "LogisticNormal": (([0.5, -1.0], [1.0, 2.0]), lambda d, a, b: d.LogisticNormal(a, b)),
    "MultivariateNormal": (([1.0, 0, 2], A), lambda d, a, b: d.MultivariateNormal(a, b)),
    "MultivariateNormal-precision": (
        ([[1.0, 0, 2], [0, 0, 1]], A),
        lambda d, a, b: d.MultivariateNormal(a, precision_matrix=b),
    ),
    "LowRank": (
        ([1.0, 0, 2], [[1.0], [0.5], [0.2]], [1.0, 2.0, 0.5]),
        lambda d, *a: d.LowRankMultivariateNormal(*a),
    ),
    "Independent": (
        ([[0.5, -1.0]], [[1.0, 2.0]]),
        lambda d, a, b: d.Independent(d.Normal(a, b), 1),
    ),
    "Mixture": (
        ([0.3, 0.7], [0.0, 3.0], [1.0, 0.5]),
        lambda d, w, a, b: d.MixtureSameFamily(d.Categorical(w), d.Normal(a, b)),
    ),
    "Transformed": (
        ([0.5, -1.0], [1.0, 2.0]),
        lambda d, a, b: d.TransformedDistribution(
            d.Normal(a, b), [d.AffineTransform(1.0, -2.0), d.SigmoidTransform()]
        ),
    ),
    "LKJ": (([1.5],), lambda d, a: d.LKJCholesky(3, a)),
}
each = pytest.mark.parametrize("name", CASES)
#: Rounding in these is worse: series, or many steps.
LOOSE = {
    "LKJ",
    "VonMises",
    "StudentT",
    "Gamma",
    "Chi2",
    "InverseGamma",
    "FisherSnedecor",
    "LowRank",
    "MultivariateNormal-precision",
    "Kumaraswamy",
}


def built(t, name):
    arrays, of = CASES[name]
    params = [P(t, a) for a in arrays]
    return of(t.distributions, *params), params


def compare(name, ours, theirs, rtol=2e-5, atol=2e-6):
    if name in LOOSE:
        rtol, atol = 20 * rtol, 20 * atol
    same(ours, theirs, name, rtol=rtol, atol=atol)


def gradients(t, result, params):
    total = (result * t.arange(1, result.numel() + 1).reshape(result.shape)).sum()
    return t.autograd.grad(total, params, allow_unused=True)


@each
def test_samples(name):
    (mine, _), (theirs, _) = built(torchlike, name), built(torch, name)
    for shape in ((), (4,), (2, 3)):
        torchlike.manual_seed(7)
        torch.manual_seed(7)
        compare(name, mine.sample(shape), theirs.sample(shape), 1e-4, 1e-5)
        assert bool((torchlike.get_rng_state().numpy() == torch.get_rng_state().numpy()).all())
    assert mine.has_rsample == theirs.has_rsample


@each
def test_reparametrized_samples(name):
    (mine, params), (theirs, their_params) = built(torchlike, name), built(torch, name)
    if not theirs.has_rsample:
        with pytest.raises(NotImplementedError):
            mine.rsample()
        return
    torchlike.manual_seed(3)
    torch.manual_seed(3)
    a, b = mine.rsample((3,)), theirs.rsample((3,))
    compare(name, a, b, 1e-4, 1e-5)
    for g, h in zip(
        gradients(torchlike, a, params), gradients(torch, b, their_params), strict=True
    ):
        assert (g is None) == (h is None)
        if g is not None:
            # PyTorch's derivatives of gamma and Dirichlet samples are good to three digits.
            rtol = 5e-3 if name in ("Beta", "Dirichlet", *LOOSE) else 2e-4
            np.testing.assert_allclose(g.numpy(), h.numpy(), rtol=rtol, atol=10 * rtol * 1e-2)


@pytest.mark.sampled(every=9, of=lambda p: p["jitted"])
@each
@pytest.mark.parametrize("jitted", [False, True])
def test_log_prob(name, jitted):
    theirs, their_params = built(torch, name)
    torch.manual_seed(5)
    value = theirs.sample((4,))
    expected = theirs.log_prob(value)
    arrays, of = CASES[name]
    params = [P(torchlike, a) for a in arrays]

    def log_prob(value, *params):
        return of(torchlike.distributions, *params).log_prob(value)

    if jitted:
        log_prob = torchlike.jit(log_prob)
    found = log_prob(torchlike.tensor(value.numpy()), *params)
    compare(name, found, expected, 1e-4, 1e-5)
    if not expected.requires_grad:
        return
    for g, h in zip(
        gradients(torchlike, found, params), gradients(torch, expected, their_params), strict=True
    ):
        assert (g is None) == (h is None)
        if g is not None:
            np.testing.assert_allclose(g.numpy(), h.numpy(), rtol=1e-5, atol=1e-5)


@each
def test_what_it_says(name):
    (mine, _), (theirs, _) = built(torchlike, name), built(torch, name)
    for key in ("mean", "mode", "variance", "stddev"):
        try:
            expected = getattr(theirs, key)
        except NotImplementedError:
            with pytest.raises(NotImplementedError):
                getattr(mine, key)
            continue
        compare(name, getattr(mine, key), expected)
    for key in ("entropy", "perplexity"):
        try:
            expected = getattr(theirs, key)()
        except NotImplementedError:
            with pytest.raises(NotImplementedError):
                getattr(mine, key)()
            continue
        compare(name, getattr(mine, key)(), expected, 1e-4, 1e-5)
    assert repr(mine) == repr(theirs)
    assert repr(mine.arg_constraints) == repr(theirs.arg_constraints)
    assert tuple(mine.batch_shape) == tuple(theirs.batch_shape)
    assert tuple(mine.event_shape) == tuple(theirs.event_shape)
    assert mine.support.event_dim == theirs.support.event_dim
    assert mine.support.is_discrete == theirs.support.is_discrete
    assert mine.has_enumerate_support == theirs.has_enumerate_support
    if theirs.has_enumerate_support:
        for expand in (True, False):
            compare(name, mine.enumerate_support(expand), theirs.enumerate_support(expand))


@each
def test_cumulative(name):
    (mine, _), (theirs, _) = built(torchlike, name), built(torch, name)
    torch.manual_seed(1)
    value = theirs.sample((3,))
    try:
        expected = theirs.cdf(value)
    except NotImplementedError:
        with pytest.raises(NotImplementedError):
            mine.cdf(torchlike.tensor(value.numpy()))
    else:
        compare(name, mine.cdf(torchlike.tensor(value.numpy())), expected)
    shares = np.linspace(0.1, 0.9, 5, dtype=np.float32)[:, None]
    try:
        expected = theirs.icdf(torch.tensor(shares))
    except NotImplementedError:
        with pytest.raises(NotImplementedError):
            mine.icdf(torchlike.tensor(shares))
    else:
        compare(name, mine.icdf(torchlike.tensor(shares)), expected, 1e-4)


#: What asks for values while it runs: loops of rejection, and a greatest total count.
UNCOMPILED = {
    **dict.fromkeys(
        (
            "Beta",
            "Chi2",
            "Dirichlet",
            "FisherSnedecor",
            "Gamma",
            "InverseGamma",
            "LKJ",
            "NegativeBinomial",
            "Poisson",
            "StudentT",
            "VonMises",
        ),
        ("sample",),
    ),
    "Binomial": ("sample", "entropy"),
}


def told(d, key):
    if key == "sample":
        return d.sample((3,))
    return d.entropy() if key == "entropy" else getattr(d, key) * 1


@pytest.mark.sampled(every=9)
@each
def test_compiled(name):
    arrays, of = CASES[name]
    params = [P(torchlike, a) for a in arrays]

    def said(keys, *params):
        d = of(torchlike.distributions, *params)
        return {key: told(d, key) for key in keys}

    refused, keys = UNCOMPILED.get(name, ()), []
    for key in ("sample", "mean", "mode", "variance", "entropy"):
        # What an eager distribution does not say, a compiled one does not either.
        with contextlib.suppress(NotImplementedError):
            said([key], *params)
            keys.append(key)
    for key in refused:
        keys.remove(key)
        with pytest.raises(torchlike._core.errors.JitCaptureError):
            torchlike.jit(said)([key], *params)
    torchlike.manual_seed(3)
    expected = said(keys, *params)
    torchlike.manual_seed(3)
    found = torchlike.jit(said)(keys, *params)
    for key in keys:
        compare(name, found[key], expected[key], 1e-4, 1e-5)


@pytest.mark.sampled(every=2)
@each
def test_expanded(name):
    (mine, _), (theirs, _) = built(torchlike, name), built(torch, name)
    shape = (5, *theirs.batch_shape)
    mine, theirs = mine.expand(shape), theirs.expand(shape)
    torchlike.manual_seed(7)
    torch.manual_seed(7)
    a, b = mine.sample((2,)), theirs.sample((2,))
    compare(name, a, b, 1e-4, 1e-5)
    compare(name, mine.log_prob(torchlike.tensor(b.numpy())), theirs.log_prob(b), 1e-4, 1e-4)
    assert tuple(mine.batch_shape) == shape


def test_a_subclass_says_how_it_is_expanded():
    def run(t):
        class Shifted(t.distributions.Normal):
            def __init__(self, loc, scale, shift):
                self.shift = shift
                super().__init__(loc, scale)

        class Told(Shifted):
            def expand(self, batch_shape, _instance=None):
                new = self._get_checked_instance(Told, _instance)
                new.shift = self.shift.expand(batch_shape)
                return super().expand(batch_shape, _instance=new)

        args = (t.zeros(2), t.ones(2), t.ones(2))
        new = Told(*args).expand((3, 2))
        with pytest.raises(NotImplementedError) as refused:
            Shifted(*args).expand((3, 2))
        return type(new).__name__, tuple(new.shift.shape), tuple(new.loc.shape), str(refused.value)

    assert run(torchlike) == run(torch)


#: name -> two of a family, given (module distributions, tensor of the arguments).
FAMILIES = {
    "Bernoulli": lambda d, v: (d.Bernoulli(v(0.3, 0.0)), d.Bernoulli(v(0.6, 0.5))),
    "Beta": lambda d, v: (d.Beta(v(0.5, 3.0), v(1.5, 2.0)), d.Beta(v(1.5, 2.0), v(0.5, 1.0))),
    "Binomial": lambda d, v: (d.Binomial(5, v(0.3, 0.6)), d.Binomial(5, v(0.5, 0.2))),
    "Categorical": lambda d, v: (d.Categorical(v(0.2, 0.8, 0.0)), d.Categorical(v(0.5, 0.3, 0.2))),
    "OneHotCategorical": lambda d, v: (
        d.OneHotCategorical(v(0.2, 0.8, 0.0)),
        d.OneHotCategorical(v(0.5, 0.3, 0.2)),
    ),
    "Cauchy": lambda d, v: (d.Cauchy(v(0.0, 1.0), v(1.0, 2.0)), d.Cauchy(v(0.5, 0.0), v(2.0, 1.0))),
    "ContinuousBernoulli": lambda d, v: (
        d.ContinuousBernoulli(v(0.3, 0.8)),
        d.ContinuousBernoulli(v(0.6, 0.5)),
    ),
    "Dirichlet": lambda d, v: (d.Dirichlet(v(0.5, 3.0)), d.Dirichlet(v(1.5, 2.0))),
    "Exponential": lambda d, v: (d.Exponential(v(0.5, 3.0)), d.Exponential(v(1.5, 2.0))),
    "Gamma": lambda d, v: (d.Gamma(v(2.5, 3.0), v(1.5, 2.0)), d.Gamma(v(1.5, 2.0), v(0.5, 1.0))),
    "Geometric": lambda d, v: (d.Geometric(v(0.3, 0.8)), d.Geometric(v(0.6, 0.5))),
    "Gumbel": lambda d, v: (d.Gumbel(v(0.0, 1.0), v(1.0, 2.0)), d.Gumbel(v(0.5, 0.0), v(2.0, 1.0))),
    "HalfNormal": lambda d, v: (d.HalfNormal(v(1.0, 2.0)), d.HalfNormal(v(2.0, 1.0))),
    "Independent": lambda d, v: (
        d.Independent(d.Normal(v(1.0, 2.0), v(1.0, 2.0)), 1),
        d.Independent(d.Normal(v(1.0, 2.0) * 0, v(1.0, 2.0)), 1),
    ),
    "Laplace": lambda d, v: (
        d.Laplace(v(0.0, 1.0), v(1.0, 2.0)),
        d.Laplace(v(0.5, 0.0), v(2.0, 1.0)),
    ),
    "LogNormal": lambda d, v: (
        d.LogNormal(v(0.0, 1.0), v(1.0, 2.0)),
        d.LogNormal(v(0.5, 0.0), v(1.0, 2.0)),
    ),
    "Normal": lambda d, v: (d.Normal(v(0.0, 1.0), v(1.0, 2.0)), d.Normal(v(0.5, 0.0), v(2.0, 1.0))),
    "Pareto": lambda d, v: (d.Pareto(v(1.0, 0.5), v(3.0, 4.0)), d.Pareto(v(0.5, 1.0), v(2.5, 1.5))),
    "Poisson": lambda d, v: (d.Poisson(v(0.5, 3.0)), d.Poisson(v(1.5, 2.0))),
    "Uniform": lambda d, v: (
        d.Uniform(v(0.2, 0.1), v(0.7, 0.9)),
        d.Uniform(v(-1.0, 0.5), v(2.0, 1.5)),
    ),
    "MultivariateNormal": lambda d, v: (
        d.MultivariateNormal(v(1.0, 2.0), v([1.0, 0.0], [0.0, 1.0]) * 2),
        d.MultivariateNormal(v(1.0, 2.0) * 0, v([1.0, 0.0], [0.0, 1.0]) + 0.5),
    ),
    "LowRank": lambda d, v: (
        d.LowRankMultivariateNormal(v(1.0, 2.0), v([1.0], [0.5]), v(1.0, 2.0)),
        d.LowRankMultivariateNormal(v(1.0, 2.0) * 0, v([1.0], [0.5]), v(1.0, 2.0) * 2),
    ),
    "StudentT": lambda d, v: (d.StudentT(v(1.0, 2.0)), d.StudentT(v(1.0, 2.0))),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_divergences(name):
    def pairs(t):
        return {n: of(t.distributions, lambda *v: t.tensor(v)) for n, of in FAMILIES.items()}

    mine, theirs = pairs(torchlike), pairs(torch)
    for other in FAMILIES:
        try:
            expected = torch.distributions.kl_divergence(theirs[name][0], theirs[other][1])
        except NotImplementedError:
            with pytest.raises(NotImplementedError):
                torchlike.distributions.kl_divergence(mine[name][0], mine[other][1])
            continue
        found = torchlike.distributions.kl_divergence(mine[name][0], mine[other][1])
        same(found, expected, other, rtol=5e-5, atol=5e-6)


@pytest.mark.parametrize("other", ["Beta", "Gamma", "Exponential", "Normal"])
def test_divergences_at_the_edge(other):
    """Of a uniform distribution from 0, and of one without mean or variance."""
    said = []
    for t in (torchlike, torch):
        d = t.distributions
        two = t.tensor([0.5, 2.0, 1.5])
        q = d.Exponential(two) if other == "Exponential" else getattr(d, other)(two, two)
        first = t.tensor([0.0, 0.0, 0.5])
        ps = [d.Uniform(first, t.ones(3)), d.Pareto(two, t.tensor([1.0, 2.0, 3.0]))]
        said.append([d.kl_divergence(p, q).numpy() for p in ps])
    for ours, theirs in zip(*said, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)  # differences of logarithms


@pytest.mark.parametrize("dim", [-2, -1, 0, 1])
def test_events_of_a_stack(dim):
    said = []
    for t in (torchlike, torch):
        d = t.distributions
        maps = [d.ExpTransform(), d.AffineTransform(0.0, 2.0)]
        stack = d.transforms.StackTransform(maps, dim=dim)
        base = d.Normal(t.ones(2, 2), t.tensor([0.5, 1.0]))
        made = d.TransformedDistribution(base, [stack])
        vectors = d.constraints.stack([d.constraints.real_vector] * 2, dim)
        told = made.log_prob(t.tensor([[0.5, 1.5], [2.5, 0.25]]))
        said.append((stack.codomain.event_dim, vectors.event_dim, tuple(made.event_shape), told))
    assert said[0][:3] == said[1][:3]
    np.testing.assert_allclose(said[0][3].numpy(), said[1][3].numpy(), rtol=1e-5)


REGIONS = {
    "real": lambda c, t: c.real,
    "positive": lambda c, t: c.positive,
    "above": lambda c, t: c.greater_than(2.0),
    "below": lambda c, t: c.less_than(-1.0),
    "interval": lambda c, t: c.interval(-1.0, 3.0),
    "unit": lambda c, t: c.unit_interval,
    "simplex": lambda c, t: c.simplex,
    "vector": lambda c, t: c.real_vector,
    "cholesky": lambda c, t: c.lower_cholesky,
    "definite": lambda c, t: c.positive_definite,
    "correlation": lambda c, t: c.corr_cholesky,
    "independent": lambda c, t: c.independent(c.positive, 1),
    "cat": lambda c, t: c.cat([c.positive, c.real], -1, [1, 2]),
    "stack": lambda c, t: c.stack([c.positive, c.unit_interval, c.real], -1),
}


@pytest.mark.parametrize("name", REGIONS)
@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
def test_transforms_to_regions(name, registry):
    results = []
    rng = np.random.default_rng(0)
    shape = (4, 3, 3) if name in ("cholesky", "definite") else (4, 3)
    x = rng.standard_normal(shape).astype(np.float32)
    for t in (torchlike, torch):
        d = t.distributions
        region = REGIONS[name](d.constraints, t)
        try:
            transform = getattr(d, registry)(region)
        except NotImplementedError as error:
            results.append([str(error)])
            continue
        a = t.tensor(x, requires_grad=True)
        y = transform(a)
        assert bool(region.check(y).all())
        back = transform.inv(y)
        found = [y.detach(), back.detach()]
        if transform.bijective:
            volume = transform.log_abs_det_jacobian(a, y)
            found += [volume.detach()]
            if volume.requires_grad:
                found += [t.autograd.grad(volume.sum(), a)[0]]
        results.append([repr(transform), repr(region), *found])
    for a, b in zip(*results, strict=True):
        if isinstance(a, str):
            assert a == b
        else:
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=2e-5)


def said(function, t):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            function(t)
        except Exception as error:
            return type(error), " ".join(str(error).split())
    return [(w.category, str(w.message)) for w in caught]


COMPLAINTS = {
    "scale": lambda t: t.distributions.Normal(0.0, t.tensor([1.0, -1.0])),
    "value": lambda t: t.distributions.Exponential(1.0).log_prob(t.tensor([-1.0])),
    "shape": lambda t: t.distributions.Normal(t.zeros(3), 1.0).log_prob(t.zeros(2)),
    "event": lambda t: t.distributions.Dirichlet(t.ones(3)).log_prob(t.ones(2)),
    "number": lambda t: t.distributions.Normal(0.0, 1.0).log_prob(3),
    "both": lambda t: t.distributions.Bernoulli(0.5, 0.5),
    "neither": lambda t: t.distributions.Categorical(),
    "probs": lambda t: t.distributions.Bernoulli(1.5),
    "low": lambda t: t.distributions.Uniform(1.0, 0.0),
    "simplex": lambda t: t.distributions.Categorical(t.tensor(0.5)),
    "independent": lambda t: t.distributions.Independent(t.distributions.Normal(0.0, 1.0), 1),
    "matrix": lambda t: t.distributions.MultivariateNormal(t.zeros(2), t.zeros(2)),
    "one": lambda t: t.distributions.MultivariateNormal(t.zeros(2)),
    "dependent": lambda t: t.distributions.constraints.dependent.check(t.zeros(2)),
    "registry": lambda t: t.distributions.biject_to(t.distributions.constraints.boolean),
    "kl": lambda t: t.distributions.kl_divergence(
        t.distributions.Gamma(1.0, 1.0), t.distributions.Poisson(1.0)
    ),
    "cat": lambda t: t.distributions.utils.broadcast_all("a"),
}


@pytest.mark.parametrize("name", COMPLAINTS)
def test_complaints(name):
    assert said(COMPLAINTS[name], torchlike) == said(COMPLAINTS[name], torch)


@pytest.mark.parametrize("given", ["covariance_matrix", "precision_matrix", "scale_tril"])
def test_wishart(given):
    def run(t):
        df = t.tensor(6.0, requires_grad=True)
        matrix = np.linalg.cholesky(A) if given == "scale_tril" else A
        matrix = t.tensor(matrix, requires_grad=True)
        d = t.distributions.Wishart(df, **{given: matrix})
        value = t.tensor(A * 5 + np.eye(3, dtype=np.float32))
        found = d.log_prob(value)
        slopes = t.autograd.grad(found, [df, matrix])
        more = d.expand((2,))
        return [found, *slopes, d.mean, d.variance, d.mode, d.entropy(), more.log_prob(value)]

    for a, b in zip(run(torchlike), run(torch), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize("shape", [(), (2, 3)])
def test_wishart_samples(batch, shape):
    def run(t):
        t.manual_seed(3)
        d = t.distributions.Wishart(t.tensor(6.0), t.tensor(A)).expand(batch)
        # PyTorch calls valid samples singular, warns, and draws them again.
        with pytest.warns(UserWarning, match="Singular sample detected"):
            drawn = d.sample(shape)
        return drawn.numpy(), t.get_rng_state().numpy()

    (mine, state), (theirs, their_state) = run(torchlike), run(torch)
    np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2e-5)
    assert (state == their_state).all()


def test_a_policy_gradient_step_is_jitted():
    policy = torchlike.nn.Linear(4, 3)

    @torchlike.jit
    def loss(x, action):
        d = torchlike.distributions.Categorical(logits=policy(x))
        return -(d.log_prob(action)).mean() - 0.01 * d.entropy().mean()

    x, action = torchlike.rand(5, 4), torchlike.tensor([0, 1, 2, 0, 1])
    for _ in range(3):
        loss(x, action).backward()
    assert loss.compiles == 1
    assert policy.weight.grad is not None


def test_rules_of_divergence_for_mixins():
    for t in (torch, torchlike):

        class Mixin:
            """No distribution."""

        class Mixed(t.distributions.Distribution, Mixin):
            arg_constraints = {}  # noqa: RUF012 - as distributions say it

        kl = t.distributions.kl
        kl.register_kl(Mixed, Mixin)(lambda p, q: 42)
        assert kl.kl_divergence(Mixed(), Mixed()) == 42


def test_a_distribution_that_is_a_module():
    for t in (torch, torchlike):

        class Prior(t.distributions.Normal, t.nn.Module):
            def __init__(self, t=t):
                t.nn.Module.__init__(self)
                t.distributions.Normal.__init__(self, 0.0, 1.0)

        prior = Prior()
        prior.register_buffer("kept", t.ones(2))
        prior.weight = t.nn.Parameter(t.ones(2))
        assert [n for n, _ in prior.named_parameters()] == ["weight"]
        assert str(prior.to(dtype=t.float64).kept.dtype) == "torch.float64"
        assert list(prior.state_dict()) == ["weight", "kept"]
        assert float(prior.log_prob(t.tensor(0.0))) == pytest.approx(-0.9189385, abs=1e-6)
