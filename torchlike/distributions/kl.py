"""Kullback-Leibler divergences, by pairs of classes.

Between different families a divergence is the cross entropy minus the entropy; the cross entropy
needs a few moments of the first (its mean, the mean of its logarithm, …), so those stand once for
each family, and the formulas are each second family's.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

from torchlike import autograd
from torchlike._ops import functions as f
from torchlike.distributions.bernoulli import Bernoulli
from torchlike.distributions.beta import Beta
from torchlike.distributions.binomial import Binomial
from torchlike.distributions.categorical import Categorical
from torchlike.distributions.cauchy import Cauchy
from torchlike.distributions.continuous_bernoulli import ContinuousBernoulli
from torchlike.distributions.dirichlet import Dirichlet
from torchlike.distributions.distribution import Distribution
from torchlike.distributions.exp_family import ExponentialFamily
from torchlike.distributions.exponential import Exponential
from torchlike.distributions.gamma import Gamma
from torchlike.distributions.geometric import Geometric
from torchlike.distributions.gumbel import Gumbel
from torchlike.distributions.half_normal import HalfNormal
from torchlike.distributions.independent import Independent
from torchlike.distributions.laplace import Laplace
from torchlike.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from torchlike.distributions.multivariate_normal import MultivariateNormal
from torchlike.distributions.normal import Normal
from torchlike.distributions.normal_vectors import batch_mahalanobis
from torchlike.distributions.one_hot_categorical import OneHotCategorical
from torchlike.distributions.pareto import Pareto
from torchlike.distributions.poisson import Poisson
from torchlike.distributions.transformed_distribution import TransformedDistribution
from torchlike.distributions.uniform import Uniform
from torchlike.distributions.utils import euler_constant, sum_rightmost
from torchlike.tensor import Tensor

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}
_found: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}


def register_kl(type_p: Any, type_q: Any) -> Callable[[Any], Any]:
    """Decorate a function of two distributions; the pair of classes nearest to theirs is used.

    TypeError for what is no class. It need not be one of Distribution's: mixins have rules too.
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def register(function: Any) -> Any:
        _KL_REGISTRY[type_p, type_q] = function
        _found.clear()
        return function

    return register


def _dispatch(type_p: type, type_q: type) -> Any:
    """Return the function of the nearest registered pair of classes: by the first class where the
    two orders disagree."""
    matches = [
        pair for pair in _KL_REGISTRY if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])
    ]
    if not matches:
        return NotImplemented

    def distance(pair: tuple[type, type], order: tuple[int, int]) -> tuple[int, int]:
        steps = (type_p.__mro__.index(pair[0]), type_q.__mro__.index(pair[1]))
        return steps[order[0]], steps[order[1]]

    left = min(matches, key=lambda pair: distance(pair, (0, 1)))
    right = min(matches, key=lambda pair: distance(pair, (1, 0)))
    if _KL_REGISTRY[left] is not _KL_REGISTRY[right]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please "
            f"register_kl({left[0].__name__}, {right[1].__name__})",
            RuntimeWarning,
        )
    return _KL_REGISTRY[left]


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """Return ``KL(p ‖ q)``, of the batch's shape. Raises NotImplementedError for pairs not
    registered."""
    pair = (type(p), type(q))
    function = _found.get(pair)
    if function is None:
        function = _dispatch(*pair)
        _found[pair] = function
    if function is NotImplemented:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type "
            f"{q.__class__.__name__}"
        )
    return function(p, q)


# -- the same family -------------------------------------------------------------------------------


@register_kl(ExponentialFamily, ExponentialFamily)
def _families(p: Any, q: Any) -> Any:
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed "
            "using Bregman divergences"
        )
    params = [x.detach().requires_grad_() for x in p._natural_params]
    normalizer = p._log_normalizer(*params)
    gradients = autograd.grad(normalizer.sum(), params, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - normalizer
    for a, b, g in zip(params, q._natural_params, gradients, strict=True):
        result = result - sum_rightmost((b - a) * g, len(q.event_shape))
    return result


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Tensor:
    softplus = f.nn_functional.softplus
    one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    one = f.where(p.probs == 0, 0.0, f.where(q.probs == 0, math.inf, one))
    zero = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return one + f.where(p.probs == 1, 0.0, f.where(q.probs == 1, math.inf, zero))


@register_kl(Beta, Beta)
@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Tensor:
    p, q = (getattr(d, "_dirichlet", d) for d in (p, q))
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    slopes = a.digamma() - total.digamma().unsqueeze(-1)
    return (
        total.lgamma()
        - b.sum(-1).lgamma()
        - (a.lgamma() - b.lgamma()).sum(-1)
        + ((a - b) * slopes).sum(-1)
    )


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    one = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return f.where(p.total_count > q.total_count, math.inf, p.total_count * one)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Tensor:
    t = p.probs * (p.logits - q.logits)
    return f.where(p.probs == 0, 0.0, f.where(q.probs == 0, math.inf, t)).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    return (
        b * (p.rate / q.rate).log()
        + f.lgamma(b)
        - f.lgamma(a)
        + (a - b) * f.digamma(a)
        + (q.rate - p.rate) * (a / p.rate)
    )


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Tensor:
    ratio, shift = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return (
        -ratio.log()
        + shift
        + ratio * euler_constant
        + f.exp((1 + ratio).lgamma() - shift)
        - (1 + euler_constant)
    )


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Tensor:
    return -p.entropy() - f.log1p(-q.probs) / p.probs - q.logits


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Tensor:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + apart / q.scale + ratio * f.exp(-apart / p.scale) - 1


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return f.where(p.scale < q.scale, math.inf, result)


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return f.where((q.low > p.low) | (q.high < p.high), math.inf, result)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Tensor:
    above = ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log()
    return above - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return (
        p.mean * (p.logits - q.logits)
        + p._cont_bern_log_norm()
        + f.log1p(-p.probs)
        - q._cont_bern_log_norm()
        - f.log1p(-q.probs)
    )


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


# -- normal vectors --------------------------------------------------------------------------------


def _factor(d: Any) -> Tensor:
    """Return the Cholesky factor of the covariance."""
    return d.scale_tril if isinstance(d, LowRankMultivariateNormal) else d._unbroadcasted_scale_tril


def _normal_vectors(p: Any, q: Any) -> Tensor:
    if p.event_shape != q.event_shape:
        low = "(Low Rank) " if type(p) is not type(q) else ""
        raise ValueError(
            f"KL-divergence between two {low}Multivariate Normals with different "
            "event shapes cannot be computed"
        )
    a, b = _factor(p), _factor(q)
    log_dets = [x.diagonal(dim1=-2, dim2=-1).log().sum(-1) for x in (a, b)]
    n = p.event_shape[0]
    batch = f.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    solved = f.linalg.solve_triangular(
        b.expand((*batch, n, n)), a.expand((*batch, n, n)), upper=False
    )
    trace = solved.pow(2).sum((-1, -2))
    distance = batch_mahalanobis(b, q.loc - p.loc)
    return log_dets[1] - log_dets[0] + 0.5 * (trace + distance - n)


for _a in (MultivariateNormal, LowRankMultivariateNormal):
    for _b in (MultivariateNormal, LowRankMultivariateNormal):
        register_kl(_a, _b)(_normal_vectors)


# -- different families ----------------------------------------------------------------------------


def _x_log_x(x: Any) -> Tensor:
    return f.xlogy(x, x)


class _Moments:
    """Expectations under a distribution."""

    def __init__(self, p: Any) -> None:
        self.p = p

    @property
    def mean(self) -> Tensor:
        p = self.p
        if isinstance(p, Pareto):
            return f.where(p.alpha <= 1, math.inf, p.alpha * p.scale / (p.alpha - 1))
        return p.mean

    @property
    def square(self) -> Tensor:
        p = self.p
        if isinstance(p, Pareto):
            return f.where(p.alpha <= 2, math.inf, p.alpha * p.scale**2 / (p.alpha - 2))
        return p.variance + p.mean.pow(2)

    @property
    def log(self) -> Tensor:
        p = self.p
        if isinstance(p, Beta):
            a, b = p.concentration1, p.concentration0
            return a.digamma() - (a + b).digamma()
        if isinstance(p, Exponential):
            return -p.rate.log() - euler_constant
        if isinstance(p, Gamma):
            return p.concentration.digamma() - p.rate.log()
        if isinstance(p, Pareto):
            return p.scale.log() + p.alpha.reciprocal()
        width = p.high - p.low  # a uniform distribution
        return (_x_log_x(p.high) - _x_log_x(p.low) - width) / width

    @property
    def log_complement(self) -> Tensor:
        """Of ``log(1 - x)``, for a uniform distribution."""
        p = self.p
        width = p.high - p.low
        return (_x_log_x(1 - p.low) - _x_log_x(1 - p.high) - width) / width

    def exponential(self, scale: Any) -> Tensor:
        """Return the mean of ``exp(-x / scale)``."""
        p = self.p
        if isinstance(p, Exponential):
            return p.rate * scale / (p.rate * scale + 1)
        if isinstance(p, Gamma):
            return (1 + (p.rate * scale).reciprocal()) ** -p.concentration
        if isinstance(p, Normal):
            return f.exp(-p.loc / scale + 0.5 * (p.scale / scale) ** 2)
        return scale * (f.exp(-p.low / scale) - f.exp(-p.high / scale)) / (p.high - p.low)


def _cross_entropy(m: _Moments, q: Any) -> Tensor:
    """Return ``-E[log q(x)]``."""
    if isinstance(q, Exponential):
        return -q.rate.log() + q.rate * m.mean
    if isinstance(q, Gamma):
        return (
            q.concentration.lgamma()
            - q.concentration * q.rate.log()
            - (q.concentration - 1) * m.log
            + q.rate * m.mean
        )
    if isinstance(q, Normal):
        spread = m.square - 2 * q.loc * m.mean + q.loc.pow(2)
        return 0.5 * math.log(2 * math.pi) + q.scale.log() + spread / (2 * q.scale.pow(2))
    if isinstance(q, Gumbel):
        at = q.loc / q.scale
        return q.scale.log() + m.mean / q.scale - at + f.exp(at) * m.exponential(q.scale)
    if isinstance(q, Beta):
        a, b = q.concentration1, q.concentration0
        return (
            a.lgamma()
            + b.lgamma()
            - (a + b).lgamma()
            - (a - 1) * m.log
            - (b - 1) * m.log_complement
        )
    if isinstance(q, ContinuousBernoulli):
        return -m.mean * q.logits - f.log1p(-q.probs) - q._cont_bern_log_norm()
    if isinstance(q, Uniform):
        return (q.high - q.low).log()
    return (q.alpha + 1) * m.log - q.alpha.log() - q.alpha * q.scale.log()  # Pareto


def _cross(p: Any, q: Any, outside: Any = None) -> Tensor:
    result = _cross_entropy(_Moments(p), q) - p.entropy()
    return result if outside is None else f.where(outside(p, q), math.inf, result)


_INSIDE = {
    Beta: (ContinuousBernoulli, Exponential, Gamma, Normal),
    ContinuousBernoulli: (Exponential, Normal),
    Exponential: (Gamma, Gumbel, Normal),
    Gamma: (Exponential, Gumbel, Normal),
    Gumbel: (Normal,),
    Laplace: (Normal,),
    Normal: (Gumbel,),
    Pareto: (Exponential, Gamma),
    Uniform: (Gumbel, Normal),
}
_NEVER_INSIDE = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}
#: Where the first may lie outside of the second, or has no variance: there the divergence is
#: infinite. Touching bounds count as outside for the continuous Bernoulli distribution, as in
#: PyTorch.
_MAYBE_INSIDE: dict[tuple[type, type], Any] = {
    (Beta, Uniform): lambda p, q: (q.low > 0) | (q.high < 1),
    (ContinuousBernoulli, Uniform): lambda p, q: (q.low >= 0) | (q.high <= 1),
    (Pareto, Normal): lambda p, q: p.alpha <= 2,
    (Uniform, Beta): lambda p, q: (p.high > 1) | (p.low < 0),
    (Uniform, ContinuousBernoulli): lambda p, q: (p.high >= 1) | (p.low <= 0),
    (Uniform, Exponential): lambda p, q: p.low < 0,
    (Uniform, Gamma): lambda p, q: p.low < 0,
    (Uniform, Pareto): lambda p, q: p.low < q.scale,
}


def _infinite(p: Any, q: Any) -> Tensor:
    return f.full_like(p.mean, math.inf)


for _p, _qs in _INSIDE.items():
    for _q in _qs:
        register_kl(_p, _q)(_cross)
for _p, _qs in _NEVER_INSIDE.items():
    for _q in _qs:
        register_kl(_p, _q)(_infinite)
for _pair, _outside in _MAYBE_INSIDE.items():
    register_kl(*_pair)(functools.partial(_cross, outside=_outside))


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Tensor:
    apart = p.loc - q.loc
    z = apart / p.scale
    deviation = math.sqrt(2 / math.pi) * p.scale * f.exp(-0.5 * z.pow(2)) + apart * f.erf(
        math.sqrt(0.5) * z
    )
    return (2 * q.scale).log() + deviation / q.scale - p.entropy()
