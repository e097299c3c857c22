"""Rprop: steps by the gradient's sign (Riedmiller & Braun 1993)."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from torchlike.optim.fused import full_outside
from torchlike.optim.rules import RuleOptimizer, check_rate, like
from torchlike.tensor import Tensor


class Rprop(RuleOptimizer):
    """Each element's step grows by ``etas[1]`` while its gradient keeps its sign, and shrinks by
    ``etas[0]`` when that turns. ``lr`` is the first step; ``step_sizes`` bound it."""

    _live = ("lr",)  # it is in the state; a schedule that changes it changes nothing

    _starts_at_rate = True

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: Any = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(
            params,
            {
                "lr": lr,
                "etas": etas,
                "step_sizes": step_sizes,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def _state_names(self, p: Tensor, group: dict[str, Any]) -> tuple[str, ...]:
        return ("step", "prev", "step_size")

    def _first(self, name: str, p: Tensor, group: dict[str, Any]) -> Tensor:
        if name != "step_size":
            return super()._first(name, p, group)
        lr = float(group["lr"])
        return full_outside(p, complex(lr, lr) if p.is_complex() else lr)

    def _settings(self, group: dict[str, Any]) -> tuple[Any, ...]:
        return (group["maximize"], *map(float, (*group["etas"], *group["step_sizes"])))

    @staticmethod
    def _rule(settings: Any, p: Any, g: Any, states: Any, scalars: Any) -> tuple[Any, ...]:
        maximize, shrink, grow, least, most = settings
        step, before, size = states
        if maximize:
            g = -g
        turn = _sign(g * before)
        shrink, grow = like(p, shrink, grow)
        factor = jnp.where(turn > 0, grow, jnp.where(turn < 0, shrink, jnp.ones_like(p)))
        size = jnp.clip(size * factor, *like(p, least, most))
        g = jnp.where(turn < 0, 0, g)  # where it turned, this step is left out
        return p - _sign(g) * size, (step + 1, g, size)


def _sign(x: Any) -> jax.Array:
    """Return the sign, 1, -1 or 0; that of NaN is 0, as in PyTorch, so that such a gradient moves
    nothing."""
    return jnp.where(x > 0, jnp.ones_like(x), jnp.where(x < 0, -jnp.ones_like(x), 0))
