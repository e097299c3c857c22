"""Relatives of Adam: Adamax, NAdam, RAdam."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from torchlike.optim.optimizer import check_range
from torchlike.optim.rectification import averaged_over
from torchlike.optim.rules import (
    MomentOptimizer,
    corrected,
    correction,
    decayed,
    lerp,
    like,
    moment,
    numbers,
    one_number,
)
from torchlike.tensor import Tensor


class Adamax(MomentOptimizer):
    """Adam with the infinity norm (Kingma & Ba 2014, section 7.1)."""

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: Any = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        self._check_moments(lr, eps, betas, weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def _state_names(self, p: Tensor, group: dict[str, Any]) -> tuple[str, ...]:
        return ("step", "exp_avg", "exp_inf")

    def _settings(self, group: dict[str, Any]) -> tuple[Any, ...]:
        return (group["weight_decay"] != 0, group["maximize"], float(group["eps"]))

    @staticmethod
    def _rule(settings: Any, p: Any, g: Any, states: Any, scalars: Any) -> tuple[Any, ...]:
        decay, maximize, eps = settings
        lr, weight_decay, b1, b2 = scalars
        step, m, largest = states
        p, g = decayed(p, -g if maximize else g, lr, weight_decay, decay, False)
        step = step + 1
        m = lerp(m, g, b1)
        largest = jnp.maximum(like(p, b2)[0] * largest, jnp.abs(g) + eps)
        (rate,) = like(p, corrected(p, lr, b1, step))
        return p - rate * m / largest, (step, m, largest)


class NAdam(MomentOptimizer):
    """Adam with Nesterov momentum (Dozat 2016)."""

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: Any = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        self._check_moments(lr, eps, betas, weight_decay)
        check_range("momentum_decay value", momentum_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "momentum_decay": momentum_decay,
                "decoupled_weight_decay": decoupled_weight_decay,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
            },
        )

    def _state_names(self, p: Tensor, group: dict[str, Any]) -> tuple[str, ...]:
        return ("step", "mu_product", "exp_avg", "exp_avg_sq")

    def _first(self, name: str, p: Tensor, group: dict[str, Any]) -> Tensor:
        return one_number(p, 1) if name == "mu_product" else super()._first(name, p, group)

    def _settings(self, group: dict[str, Any]) -> tuple[Any, ...]:
        return (
            group["weight_decay"] != 0,
            group["decoupled_weight_decay"],
            group["maximize"],
            float(group["eps"]),
            float(group["momentum_decay"]),
        )

    @staticmethod
    def _rule(settings: Any, p: Any, g: Any, states: Any, scalars: Any) -> tuple[Any, ...]:
        decay, decoupled, maximize, eps, momentum_decay = settings
        lr, weight_decay, b1, b2 = scalars
        step, product, m, v = states
        p, g = decayed(p, -g if maximize else g, lr, weight_decay, decay, decoupled)
        step = step + 1
        (count,) = numbers(p, step)
        mu, rest = _momentum(p, b1, count, momentum_decay)
        mu_next, _ = _momentum(p, b1, count + 1, momentum_decay)
        product = (product * jnp.asarray(mu, product.dtype)).astype(product.dtype)
        m = lerp(m, g, b1)
        v = moment(v, g * g, b2)
        root = jnp.sqrt(v / like(p, correction(p, b2, step))[0]) + eps
        lr, done = numbers(p, lr, product)
        now, ahead = like(p, lr * rest / (1 - done), lr * mu_next / (1 - done * mu_next))
        return p - now * g / root - ahead * m / root, (step, product, m, v)


def _momentum(p: Any, decay: Any, count: Any, momentum_decay: float) -> tuple[Any, Any]:
    """Return the momentum of Dozat's schedule, with his 0.96 and his half, and one minus it."""
    faded = 0.5 * 0.96 ** (count * momentum_decay)
    momentum = numbers(p, decay)[0] * (1.0 - faded)
    if count.dtype == jnp.float64:
        return momentum, 1 - momentum
    taken, kept = numbers(p, 1 - decay, decay)
    return momentum, taken + kept * faded


class RAdam(MomentOptimizer):
    """Adam whose adaptive rate waits until its variance can be told (Liu et al. 2020)."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: Any = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        self._check_moments(lr, eps, betas, weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "decoupled_weight_decay": decoupled_weight_decay,
                "differentiable": differentiable,
            },
        )

    def _state_names(self, p: Tensor, group: dict[str, Any]) -> tuple[str, ...]:
        return ("step", "exp_avg", "exp_avg_sq")

    def _settings(self, group: dict[str, Any]) -> tuple[Any, ...]:
        return (
            group["weight_decay"] != 0,
            group["decoupled_weight_decay"],
            group["maximize"],
            float(group["eps"]),
        )

    @staticmethod
    def _rule(settings: Any, p: Any, g: Any, states: Any, scalars: Any) -> tuple[Any, ...]:
        decay, decoupled, maximize, eps = settings
        lr, weight_decay, b1, b2 = scalars
        step, m, v = states
        p, g = decayed(p, -g if maximize else g, lr, weight_decay, decay, decoupled)
        step = step + 1
        m = lerp(m, g, b1)
        v = moment(v, g * g, b2)
        second = correction(p, b2, step)
        longest, length = averaged_over(p, b2, step, second)
        known = length > 5.0
        safe = jnp.where(known, length, 6.0)
        factor = (safe - 4) * (safe - 2) * longest / ((longest - 4) * (longest - 2) * safe)
        rate, adaptive = like(p, corrected(p, lr, b1, step), jnp.sqrt(factor * second))
        scale = jnp.where(known, adaptive / (jnp.sqrt(v) + eps), 1)
        return p - rate * m * scale, (step, m, v)
