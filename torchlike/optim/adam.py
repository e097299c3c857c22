"""Adam and AdamW."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from torchlike.optim.rules import (
    MomentOptimizer,
    corrected,
    correction,
    decayed,
    lerp,
    like,
    moment,
)
from torchlike.tensor import Tensor

_TENSOR_RATE = "lr as a Tensor is not supported for capturable=False and foreach=True"


class Adam(MomentOptimizer):
    """Update by Adam (Kingma & Ba 2014): steps scaled by running moments of the gradients.

    Args:
      params: tensors, (name, tensor) pairs, or groups with their own options.
      lr: the learning rate, a number or a tensor of one element.
      betas: how much of the first and second moment is kept at a step, each within [0, 1).
      eps: added to the root of the second moment.
      weight_decay: times the parameter, added to the gradient.
      amsgrad: whether the largest second moment so far is used (Reddi et al. 2018).
      maximize: whether the gradients are negated first.
      foreach, fused, capturable: accepted; a step is one compiled call in any case.
      differentiable: whether steps are recorded on the tape.

    Raises:
      ValueError: a hyperparameter out of its range, or no parameters.

    Example:
      >>> w = torch.nn.Parameter(torch.tensor([1.0]))
      >>> optimizer = torch.optim.Adam([w], lr=0.1)
      >>> for _ in range(100):
      ...     optimizer.zero_grad()
      ...     (w - 3).square().sum().backward()
      ...     optimizer.step()
      >>> abs(w.item() - 3) < 0.5
      True
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: Any = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: Any = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError(_TENSOR_RATE)
        self._check_moments(lr, eps, betas, weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
                "fused": fused,
                "decoupled_weight_decay": decoupled_weight_decay,
            },
        )

    def _state_names(self, p: Tensor, group: dict[str, Any]) -> tuple[str, ...]:
        names = ("step", "exp_avg", "exp_avg_sq")
        return (*names, "max_exp_avg_sq") if group["amsgrad"] else names

    def _check_sparse(self, group: dict[str, Any]) -> None:
        # AdamW is Adam by another name, also where it says so.
        raise RuntimeError(
            "Adam does not support sparse gradients, please consider SparseAdam instead"
        )

    def _settings(self, group: dict[str, Any]) -> tuple[Any, ...]:
        if group["foreach"] and isinstance(group["lr"], Tensor) and not group["capturable"]:
            raise RuntimeError(_TENSOR_RATE)
        return (
            group["weight_decay"] != 0,
            group["decoupled_weight_decay"],
            group["maximize"],
            group["amsgrad"],
            float(group["eps"]),
        )

    @staticmethod
    def _rule(settings: Any, p: Any, g: Any, states: Any, scalars: Any) -> tuple[Any, ...]:
        decay, decoupled, maximize, amsgrad, eps = settings
        lr, weight_decay, b1, b2 = scalars
        step, m, v, *largest = states
        p, g = decayed(p, -g if maximize else g, lr, weight_decay, decay, decoupled)
        step = step + 1
        m = lerp(m, g, b1)
        v = moment(v, g * g, b2)
        second = v
        if amsgrad:
            second = largest[0] = jnp.maximum(largest[0], v)
        rate, root = like(p, corrected(p, lr, b1, step), jnp.sqrt(correction(p, b2, step)))
        p = p - rate * m / (jnp.sqrt(second) / root + eps)
        return p, (step, m, v, *largest)


class AdamW(Adam):
    """Update by Adam with decoupled weight decay (Loshchilov & Hutter 2019).

    Arguments and errors are those of ``Adam``; ``weight_decay`` times the rate shrinks the
    parameter itself, and is 0.01 by default.

    Example:
      >>> w = torch.nn.Parameter(torch.ones(1))
      >>> optimizer = torch.optim.AdamW([w], lr=0.5, weight_decay=0.5)
      >>> w.grad = torch.zeros(1)
      >>> optimizer.step()
      >>> w.detach()
      tensor([0.7500])
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: Any = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: Any = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:  # Adam's checkpoints, too, go on decoupled
            group["decoupled_weight_decay"] = True
