"""Mixtures of one family."""

from __future__ import annotations

from typing import Any

from torchlike._ops import functions as f
from torchlike.autograd.grad_mode import no_grad
from torchlike.distributions import constraints
from torchlike.distributions.categorical import Categorical
from torchlike.distributions.distribution import Distribution
from torchlike.distributions.utils import taken
from torchlike.tensor import Tensor


class MixtureSameFamily(Distribution):
    """A mixture: a Categorical chooses along the components' last batch dimension."""

    arg_constraints = {}
    has_rsample = False
    mixture_distribution = taken("_mixture_distribution", "What chooses.")
    component_distribution = taken("_component_distribution", "What is chosen from.")

    def __init__(
        self,
        mixture_distribution: Any,
        component_distribution: Any,
        validate_args: bool | None = None,
    ) -> None:
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an instance of "
                "torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution need to be an instance of "
                "torch.distributions.Distribution"
            )
        batch = component_distribution.batch_shape[:-1]
        for a, b in zip(reversed(mixture_distribution.batch_shape), reversed(batch), strict=False):
            if a != 1 and b != 1 and a != b:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixture_distribution.batch_shape}) is "
                    "not compatible with `component_distribution.batch_shape`"
                    f"({component_distribution.batch_shape})"
                )
        kinds = mixture_distribution.logits.shape[-1]
        components = component_distribution.batch_shape[-1]
        if kinds != components:
            raise ValueError(
                f"`mixture_distribution component` ({kinds}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({components})"
            )
        self._num_component = components
        event = component_distribution.event_shape
        self._event_ndims = len(event)
        super().__init__(batch, event, validate_args=validate_args)

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def _weights(self) -> Tensor:
        return self._pad_mixture_dimensions(self.mixture_distribution.probs)

    @property
    def mean(self) -> Tensor:
        return (self._weights * self.component_distribution.mean).sum(-1 - self._event_ndims)

    @property
    def variance(self) -> Tensor:
        # The law of total variance.
        dim = -1 - self._event_ndims
        within = (self._weights * self.component_distribution.variance).sum(dim)
        apart = (self.component_distribution.mean - self._pad(self.mean)).pow(2.0)
        return within + (self._weights * apart).sum(dim)

    def cdf(self, value: Any) -> Tensor:
        each = self.component_distribution.cdf(self._pad(value))
        return (each * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Any) -> Tensor:
        each = self.component_distribution.log_prob(self._pad(self._valid(value)))
        weights = f.log_softmax(self.mixture_distribution.logits, dim=-1)
        return f.logsumexp(each + weights, dim=-1)

    @no_grad()
    def sample(self, sample_shape: Any = ()) -> Tensor:
        n, batch = len(sample_shape), len(self.batch_shape)
        dim = n + batch
        event = self.event_shape
        chosen = self.mixture_distribution.sample(sample_shape)
        values = self.component_distribution.sample(sample_shape)
        index = chosen.reshape(*chosen.shape, *(1,) * (len(event) + 1))
        index = index.repeat((1,) * (len(chosen.shape) + 1) + tuple(event))
        return f.gather(values, dim, index).squeeze(dim)

    def _pad(self, x: Any) -> Tensor:
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x: Any) -> Tensor:
        own, mixture = len(self.batch_shape), len(self.mixture_distribution.batch_shape)
        missing = 0 if mixture == 0 else own - mixture
        shape = x.shape
        return x.reshape(shape[:-1] + (1,) * missing + shape[-1:] + (1,) * self._event_ndims)

    def __repr__(self) -> str:
        return (
            f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
        )
