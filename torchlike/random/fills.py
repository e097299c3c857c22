"""Every fill, under one roof: ``fill(engine, ...)`` takes words from the engine and gives numpy.

Each is a function of the engine's state and of its other arguments alone: shapes are tuples,
dtypes numpy dtypes, parameters Python numbers, all hashable; probabilities and rates given per
element are numpy arrays. So a compiled function can keep ``(fill, arguments)`` and draw afresh
before each of its calls. The values come in memory order, row-major for ``shape``.
"""

from __future__ import annotations

from torchlike.random.bernoulli import bernoulli, bernoulli_mask, bernoulli_tensor
from torchlike.random.binomial import binomial
from torchlike.random.continuous import cauchy, exponential, geometric, log_normal
from torchlike.random.dropout import (
    AlphaNoise,
    alpha_dropout_noise,
    check_dropout_probability,
    dropout_mask,
    dropout_noise,
    dropout_scale,
    feature_noise_shape,
    rrelu_slopes,
)
from torchlike.random.gamma import dirichlet, standard_gamma
from torchlike.random.integers import randint, random
from torchlike.random.multinomial import multinomial
from torchlike.random.normal import normal
from torchlike.random.permutation import randperm
from torchlike.random.poisson import poisson
from torchlike.random.truncated import trunc_normal
from torchlike.random.uniform import uniform

__all__ = [
    "AlphaNoise",
    "alpha_dropout_noise",
    "bernoulli",
    "bernoulli_mask",
    "bernoulli_tensor",
    "binomial",
    "cauchy",
    "check_dropout_probability",
    "dirichlet",
    "dropout_mask",
    "dropout_noise",
    "dropout_scale",
    "exponential",
    "feature_noise_shape",
    "geometric",
    "log_normal",
    "multinomial",
    "normal",
    "poisson",
    "randint",
    "random",
    "randperm",
    "rrelu_slopes",
    "standard_gamma",
    "trunc_normal",
    "uniform",
]
