"""ASGD: stochastic gradient descent that also averages (Polyak & Juditsky 1992)."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from torchlike.optim.optimizer import check_range
from torchlike.optim.rules import RuleOptimizer, check_rate, decayed, like, numbers, one_number
from torchlike.tensor import Tensor


class ASGD(RuleOptimizer):
    """The average of the parameters, from step ``t0`` on, is the state ``ax``."""

    _starts_at_rate = True

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: Any = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_rate(lr)
        check_range("weight_decay value", weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "lambd": lambd,
                "alpha": alpha,
                "t0": t0,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def _state_names(self, p: Tensor, group: dict[str, Any]) -> tuple[str, ...]:
        return ("step", "eta", "mu", "ax")

    def _first(self, name: str, p: Tensor, group: dict[str, Any]) -> Tensor:
        if name == "eta":
            return one_number(p, float(group["lr"]))
        return one_number(p, 1) if name == "mu" else super()._first(name, p, group)

    def _settings(self, group: dict[str, Any]) -> tuple[Any, ...]:
        return (
            group["weight_decay"] != 0,
            group["maximize"],
            float(group["lambd"]),
            float(group["alpha"]),
            float(group["t0"]),
        )

    @staticmethod
    def _rule(settings: Any, p: Any, g: Any, states: Any, scalars: Any) -> tuple[Any, ...]:
        decay, maximize, shrink, alpha, start = settings
        lr, weight_decay = scalars
        step, eta, mu, average = states
        p, g = decayed(p, -g if maximize else g, lr, weight_decay, decay, False)
        step = step + 1
        lr, count, before = numbers(p, lr, step, eta)
        rate, kept = like(p, eta, 1 - shrink * before)
        p = kept * p - rate * g
        average = jnp.where(mu == 1, p, average + (p - average) * mu.astype(p.dtype))
        eta = lr / (1 + shrink * lr * count) ** alpha
        mu = 1 / jnp.maximum(1.0, count - start)
        return p, (step, eta, mu, average)
