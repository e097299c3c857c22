"""Adafactor: second moments as an outer product (Shazeer & Stern 2018)."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from torchlike.optim.fused import full_outside
from torchlike.optim.rules import RuleOptimizer, decayed, like, numbers
from torchlike.tensor import Tensor


class Adafactor(RuleOptimizer):
    """Keeps row and column means of the squared gradient for matrices, all of it for vectors.

    Args:
      eps: (lower bound of the variance, by default the dtype's epsilon; of the parameter's scale).
      d: the largest root mean square of an update.
    """

    _complex = False

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: Any = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for bad, text in (
            (lr < 0, f"Learning rate should be >= 0 but is: {lr}"),
            (beta2_decay > 0, f"beta2_decay should be <= 0 but is: {beta2_decay}"),
            (eps[0] is not None and eps[0] < 0, f"epsilon1 should be >= 0 but is: {eps[0]}"),
            (eps[1] < 0, f"epsilon2 should be >= 0 but is: {eps[1]}"),
            (d < 1, f"Clipping threshold d should be >= 1 but is: {d}"),
            (weight_decay < 0, f"weight_decay should be >= 0 but is: {weight_decay}"),
        ):
            if bad:
                raise ValueError(text)
        super().__init__(
            params,
            {
                "lr": lr,
                "beta2_decay": beta2_decay,
                "eps": eps,
                "d": d,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
            },
        )

    def _state_names(self, p: Tensor, group: dict[str, Any]) -> tuple[str, ...]:
        return ("step", "row_var", "col_var") if p.dim() > 1 else ("step", "variance")

    def _first(self, name: str, p: Tensor, group: dict[str, Any]) -> Tensor:
        if name == "row_var":
            return full_outside(p, 0, None, (*p.shape[:-1], 1))
        if name == "col_var":
            return full_outside(p, 0, None, (*p.shape[:-2], 1, p.shape[-1]))
        return super()._first(name, p, group)

    def _settings(self, group: dict[str, Any]) -> tuple[Any, ...]:
        eps1, eps2 = group["eps"]
        return (
            group["weight_decay"] != 0,
            group["maximize"],
            float(group["beta2_decay"]),
            None if eps1 is None else float(eps1),
            float(eps2),
            float(group["d"]),
        )

    @staticmethod
    def _rule(settings: Any, p: Any, g: Any, states: Any, scalars: Any) -> tuple[Any, ...]:
        decay, maximize, power, eps1, eps2, d = settings
        lr, weight_decay = scalars
        step, *moments = states
        if maximize:
            g = -g
        if eps1 is None:
            eps1 = float(jnp.finfo(p.dtype).eps)
        step = step + 1
        rate, count, scale = numbers(p, lr, step, _root_mean_square(p))
        take = count**power
        keep, take = like(p, 1 - take, take)
        alpha = jnp.maximum(eps2, scale) * jnp.minimum(rate, 1 / jnp.sqrt(count))
        p, g = decayed(p, g, lr, weight_decay, decay, True)
        squares = g * g
        if len(moments) == 2:
            rows, columns = moments
            rows = keep * rows + take * squares.mean(-1, keepdims=True)
            columns = keep * columns + take * squares.mean(-2, keepdims=True)
            moments = [rows, columns]
            variance = rows @ columns / jnp.maximum(rows.mean(-2, keepdims=True), eps1)
        else:
            variance = keep * moments[0] + take * squares
            moments = [variance]
        update = g / jnp.sqrt(jnp.maximum(variance, eps1 * eps1))
        clipped = jnp.maximum(1.0, numbers(p, _root_mean_square(update))[0] / d)
        return p - like(p, alpha / clipped)[0] * update, (step, *moments)


def _root_mean_square(x: Any) -> jax.Array:
    return jnp.sqrt(jnp.mean(x * x))
