"""An optimizer whose steps end with an average of the parameters, when it is time for one."""

from __future__ import annotations

import warnings
from typing import Any

from torchlike.distributed.algorithms.model_averaging.averagers import ModelAverager
from torchlike.optim.optimizer import Optimizer

__all__ = ["PostLocalSGDOptimizer"]


class PostLocalSGDOptimizer(Optimizer):
    """Steps ``optim``, then has ``averager`` average the parameters; all else is ``optim``'s.

    ``state_dict`` has the averager's ``step`` beside the optimizer's entries.
    """

    def __init__(self, optim: Optimizer, averager: ModelAverager) -> None:
        self.optim = optim
        self.averager = averager
        self.param_groups = optim.param_groups

    @property
    def state(self) -> Any:  # type: ignore[override]
        """The optimizer's."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict[str, Any]:
        """Return the optimizer's state dict, with ``step``."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load both. A warning where there is no ``step``, which is 0 then."""
        self.optim.load_state_dict(state_dict)
        self.param_groups = self.optim.param_groups
        if "step" not in state_dict:
            warnings.warn(
                "Loaded state dict does not contain a step counter for an averager. Setting step "
                "counter to 0.",
                stacklevel=2,
            )
        self.averager.step = state_dict.get("step", 0)

    def step(self, closure: Any = None) -> None:
        """Do the optimizer's step, and the averager's."""
        self.optim.step(closure)
        self.averager.average_parameters(self.param_groups)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients, as the optimizer does."""
        self.optim.zero_grad(set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group to the optimizer's."""
        self.optim.add_param_group(param_group)
