"""Exponential families: entropy from the log normalizer (Nielsen & Nock 2010)."""

from __future__ import annotations

from typing import Any

from torchlike import autograd
from torchlike.autograd.grad_mode import enable_grad
from torchlike.distributions.distribution import Distribution, Unknown


class ExponentialFamily(Distribution):
    """Subclasses give natural parameters and the log normalizer."""

    #: The mean of the carrier measure's logarithm.
    _mean_carrier_measure: Any = Unknown()

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError

    def entropy(self) -> Any:
        """Compute the entropy as the Bregman divergence of the log normalizer."""
        with enable_grad():
            params = [p.detach().requires_grad_() for p in self._natural_params]
            normalizer = self._log_normalizer(*params)
            gradients = autograd.grad(normalizer.sum(), params, create_graph=True)
        result = -self._mean_carrier_measure + normalizer
        for p, g in zip(params, gradients, strict=True):
            product = p * g
            result = result - product.reshape(*self._batch_shape, -1).sum(-1)
        return result
