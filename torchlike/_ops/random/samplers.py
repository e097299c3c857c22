"""Draws whose parameters are tensors: poisson, binomial, gamma, Dirichlet.

How many numbers an element takes depends on its parameters: for the CPU's generator these are
looked at on the host, for a GPU's nothing leaves the program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import lax

from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Input, require_tensor
from torchlike._extensions.meta import MetaArray
from torchlike._ops.random.sampling import by_values, draw, source_of
from torchlike._ops.value_checks import refuse_tensor
from torchlike.random import fills
from torchlike.random.engine import Engine
from torchlike.random.poisson import NO_RATE
from torchlike.tensor import Tensor, wrap


def _drawn(
    name: str, fill: Callable[..., np.ndarray], *parameters: Tensor, generator: Any = None
) -> Tensor:
    is_of_gpu = source_of(generator, parameters[0]).is_of_gpu

    def value(t: Tensor) -> Any:
        if is_of_gpu:
            return t.detach()._read()
        return np.asarray(t.detach()._value(name, "draw outside the jit and pass the sample in"))

    def sample(*parameters: Tensor) -> Tensor:
        values = [value(t) for t in parameters]

        def numbers(engine: Engine) -> np.ndarray:
            return fill(engine, *values)

        return wrap(draw(generator, numbers, parameters[0]))

    return by_values(sample, *parameters)


def _is_no_rate(rates: Any) -> Any:
    return ~(rates >= 0)


@op("poisson_sample", namespaces=(), method=False, needs="nothing", grad_name="PoissonBackward0")
def poisson_sample(input: Input, sample: Input):
    """Return the sample; as in PyTorch the gradient of the rates is zero."""
    return sample


@composite(method=False, differentiable=False)
def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Draw a Poisson count for each rate in ``input``, in its shape and dtype.

    RuntimeError for a negative rate; NotImplementedError for integers; for the CPU's generator
    JitCaptureError under a jit.
    """
    require_tensor(input, "poisson")
    if input.is_meta:
        return poisson_sample(input, wrap(MetaArray(input.shape, input.dtype.numpy)))
    if source_of(generator, input).is_of_gpu and input.is_floating_point():
        refuse_tensor(input.detach(), _is_no_rate, RuntimeError, NO_RATE)
    return poisson_sample(input, _drawn("poisson", fills.poisson, input, generator=generator))


@composite(method=False)
def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """Draw the number of successes in ``count`` trials of probability ``prob``, which broadcast
    together.

    ValueError and RuntimeError for dtypes that are not floating or not the same; for the CPU's
    generator JitCaptureError under a jit.
    """
    require_tensor(count, "binomial", "count")
    require_tensor(prob, "binomial", "prob", 2)
    return _drawn("binomial", fills.binomial, count, prob, generator=generator)


#: The annotation in JAX is that of an internal form with one parameter more.
_gamma_slope: Any = lax.random_gamma_grad


@jax.custom_jvp
def _gamma(alpha: Any, sample: Any) -> jax.Array:
    return sample


@_gamma.defjvp
def _gamma_jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
    """Compute the tangent by implicit reparameterisation (Figurnov et al., "Implicit
    Reparameterization Gradients", 2018)."""
    alpha, sample = primals
    return sample, _gamma_slope(alpha, sample) * tangents[0]


@op("standard_gamma_sample", namespaces=(), method=False, grad_name="StandardGammaBackward0")
def standard_gamma_sample(input: Input, sample: Input):
    """Return the sample, with its derivative by the concentration."""
    return _gamma(input, sample)


@composite(method=False)
def _standard_gamma(input: Tensor, generator: Any = None) -> Tensor:
    """Draw a Gamma(alpha, 1) value for each concentration in ``input``; differentiable.

    NotImplementedError for other dtypes than float32 and float64; for the CPU's
    generator JitCaptureError under a jit.
    """
    if input.is_meta:
        return standard_gamma_sample(input, wrap(MetaArray(input.shape, input.dtype.numpy)))
    sample = _drawn("_standard_gamma", fills.standard_gamma, input, generator=generator)
    return standard_gamma_sample(input, sample)


@op("_standard_gamma_grad", method=False, differentiable=False)
def _standard_gamma_grad(input: Input, output: Input):
    """Return the derivative of a gamma sample ``output`` by its concentration ``input``."""
    return _gamma_slope(input, output)


@composite(method=False)
def _sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    """Draw a point of the simplex for each row of concentrations.

    NotImplementedError for other dtypes than float32 and float64; for the CPU's
    generator JitCaptureError under a jit.
    """
    return _drawn("_sample_dirichlet", fills.dirichlet, input, generator=generator)
