"""Muon: momentum made orthogonal by Newton-Schulz iterations (Jordan et al. 2024)."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from torchlike.optim.rules import RuleOptimizer, like, moment, numbers
from torchlike.tensor import Tensor


class Muon(RuleOptimizer):
    """For the matrices of hidden layers; other parameters want another optimizer.

    Args:
      ns_coefficients, ns_steps: the quintic iteration, computed in bfloat16.
      adjust_lr_fn: None or "original": the rate grows with tall matrices; "match_rms_adamw": the
        update has the root mean square AdamW's would have.

    ValueError for parameters that are no matrices.
    """

    _live = ("lr", "weight_decay", "momentum")
    _complex = False

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for bad, text in (
            (lr < 0, f"Learning rate should be >= 0 but is: {lr}"),
            (momentum < 0, f"momentum should be >= 0 but is: {momentum}"),
            (weight_decay < 0, f"weight decay should be >= 0 but is: {weight_decay}"),
            (
                adjust_lr_fn not in (None, "original", "match_rms_adamw"),
                f"Adjust learning rate function {adjust_lr_fn} is not supported",
            ),
        ):
            if bad:
                raise ValueError(text)
        super().__init__(
            params,
            {
                "lr": lr,
                "weight_decay": weight_decay,
                "momentum": momentum,
                "nesterov": nesterov,
                "ns_coefficients": ns_coefficients,
                "eps": eps,
                "ns_steps": ns_steps,
                "adjust_lr_fn": adjust_lr_fn,
            },
        )
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a "
                        f"parameter with size: {p.size()}"
                    )

    def _state_names(self, p: Tensor, group: dict[str, Any]) -> tuple[str, ...]:
        return ("momentum_buffer",)

    def _settings(self, group: dict[str, Any]) -> tuple[Any, ...]:
        if group["ns_steps"] >= 100:
            raise ValueError("Number of steps must be less than 100 for computational efficiency")
        if len(group["ns_coefficients"]) != 3:
            raise ValueError("Coefficients must be a tuple of exactly 3 values")
        return (
            group["nesterov"],
            tuple(map(float, group["ns_coefficients"])),
            float(group["eps"]),
            group["ns_steps"],
            group["adjust_lr_fn"],
        )

    @staticmethod
    def _rule(settings: Any, p: Any, g: Any, states: Any, scalars: Any) -> tuple[Any, ...]:
        nesterov, coefficients, eps, n, adjust = settings
        lr, weight_decay, momentum = scalars
        buffer = moment(states[0], g, momentum)
        update = moment(buffer, g, momentum) if nesterov else buffer
        update = _orthogonalized(update, coefficients, eps, n).astype(p.dtype)
        rows, columns = p.shape
        factor = (
            0.2 * math.sqrt(max(rows, columns))
            if adjust == "match_rms_adamw"
            else math.sqrt(max(1, rows / columns))
        )
        lr, weight_decay = numbers(p, lr, weight_decay)
        kept, rate = like(p, 1 - lr * weight_decay, lr * factor)
        return kept * p - rate * update, (buffer,)


def _orthogonalized(x: Any, coefficients: tuple[float, ...], eps: float, n: int) -> jax.Array:
    """Return the nearest orthogonal matrix, roughly: its singular values lie around 1."""
    a, b, c = coefficients
    tall = x.shape[0] > x.shape[1]
    x = x.astype(jnp.bfloat16)
    x = x.T if tall else x
    wide = x.astype(jnp.float32)
    norm = jnp.sqrt(jnp.sum(wide * wide)).astype(jnp.bfloat16)
    x = x / jnp.maximum(norm, jnp.asarray(eps, jnp.bfloat16))
    for _ in range(n):
        gram = x @ x.T
        # The products are rounded to bfloat16 once, after the addition.
        wide = jnp.matmul(gram, gram, preferred_element_type=jnp.float32)
        change = (b * gram.astype(jnp.float32) + c * wide).astype(jnp.bfloat16)
        wide = jnp.matmul(change, x, preferred_element_type=jnp.float32)
        x = (a * x.astype(jnp.float32) + wide).astype(jnp.bfloat16)
    return x.T if tall else x
