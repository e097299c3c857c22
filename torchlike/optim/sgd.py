"""Stochastic gradient descent with momentum."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torchlike._core import modes
from torchlike.autograd.grad_mode import no_grad
from torchlike.optim.differentiable import recorded_update
from torchlike.optim.fused import update_group, zeros_outside
from torchlike.optim.older_checkpoints import complete_groups
from torchlike.optim.optimizer import Optimizer, check_range, hyperparameter
from torchlike.optim.rules import check_rate, decayed, like


class SGD(Optimizer):
    """Update by ``p -= lr * g``, with momentum, dampening, Nesterov's form and weight decay.

    Args:
      params: tensors, (name, tensor) pairs, or groups with their own options.
      lr: the learning rate.
      momentum: how much of the former step is kept; ``dampening`` how little of the gradient.
      weight_decay: times the parameter, added to the gradient.
      nesterov: whether the gradient is that of the place where momentum leads.
      maximize: whether the gradients are negated first.

    Raises:
      ValueError: a hyperparameter below 0, or ``nesterov`` without momentum or with dampening.

    Differs from PyTorch: the momentum of sparse gradients is dense. There it is sparse, and longer
    with every step.

    Example:
      >>> w = torch.nn.Parameter(torch.ones(2))
      >>> optimizer = torch.optim.SGD([w], lr=0.5)
      >>> w.sum().backward()
      >>> optimizer.step()
      >>> w.detach()
      tensor([0.5000, 0.5000])
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: Any = None,
        differentiable: bool = False,
        fused: Any = None,
    ) -> None:
        check_rate(lr)
        check_range("momentum value", momentum)
        check_range("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
                "foreach": foreach,
                "differentiable": differentiable,
                "fused": fused,
            },
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        complete_groups(self)

    @no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient."""
        loss = self.loss_of(closure)
        for group in self.param_groups:
            params = self.with_gradients(group)
            self._check_sparse(group, params)
            update = recorded_update if group["differentiable"] else update_group
            flags = (group["nesterov"], group["maximize"], group["weight_decay"] != 0)
            live = [hyperparameter(group, k) for k in ("lr", "weight_decay", "momentum")]
            if group["momentum"] == 0:
                rule = functools.partial(_rule, 0.0, False, *flags)
                update(("SGD", flags), rule, params, [()] * len(params), live)
                continue
            # The first buffer is the plain gradient: with dampening that step is a rule of its own.
            dampening = float(group["dampening"])
            old = [p for p in params if self.state[p].get("momentum_buffer") is not None]
            new = [p for p in params if self.state[p].get("momentum_buffer") is None]
            for p in new:
                self.state[p]["momentum_buffer"] = zeros_outside(p)
            for p in old:
                if self.state[p]["momentum_buffer"].is_sparse:  # PyTorch's, from a checkpoint
                    self.state[p]["momentum_buffer"] = self.state[p]["momentum_buffer"].to_dense()
            # So it is where a parameter is listed twice, for PyTorch looks for buffers beforehand.
            first = dampening != 0 or len(set(map(id, new))) < len(new)
            if first and new and modes.is_capturing():
                capture = modes.the_capture()
                for p in new:
                    capture.check_gradient(p._held_grad())
                capture.do_not_repeat(
                    "the first step of SGD is its own with dampening or parameters listed twice"
                )
            parts = ((new, True), (old, False)) if first else ((params, False),)
            for part, is_first in parts:
                rule = functools.partial(_rule, dampening, is_first, *flags)
                states = [(self.state[p]["momentum_buffer"],) for p in part]
                update(("SGD", dampening, is_first, flags), rule, part, states, live)
        return loss

    @staticmethod
    def _check_sparse(group: dict[str, Any], params: list[Any]) -> None:
        """Raise RuntimeError for settings that PyTorch refuses with sparse gradients."""
        if any(p._held_grad().is_sparse for p in params):
            if group["fused"]:
                raise RuntimeError("`_fused_sgd` does not support sparse gradients")
            if group["weight_decay"] != 0:
                raise RuntimeError(
                    "add(sparse, dense) is not supported. Use add(dense, sparse) instead."
                )


def _rule(
    dampening: float,
    first: bool,
    nesterov: bool,
    maximize: bool,
    decay: bool,
    p: Any,
    g: Any,
    states: Any,
    scalars: Any,
) -> tuple[Any, ...]:
    """Compute the step of Sutskever et al. 2013, as PyTorch writes it: the buffer is not scaled by
    the rate.

    optax.trace has no dampening, and its first step agrees only without one.
    """
    lr, weight_decay, momentum = scalars
    p, g = decayed(p, -g if maximize else g, lr, weight_decay, decay, False)
    rate, momentum = like(p, lr, momentum)
    if states:
        (buffer,) = states
        buffer = g if first else momentum * buffer + (1 - dampening) * g
        states = (buffer,)
        g = g + momentum * buffer if nesterov else buffer
    return p - rate * g, states
