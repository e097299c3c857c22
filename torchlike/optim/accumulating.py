"""Rates from accumulated squares of gradients: Adagrad, Adadelta, RMSprop."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from torchlike._core import errors
from torchlike._ops.creation.shared_memory import share
from torchlike.nn.parameter import is_lazy
from torchlike.optim.fused import full_outside
from torchlike.optim.optimizer import check_range
from torchlike.optim.rules import RuleOptimizer, check_rate, decayed, like, moment, numbers
from torchlike.tensor import Tensor


class Adagrad(RuleOptimizer):
    """Rates divided by the root of all squared gradients so far (Duchi et al. 2011)."""

    _live = ("lr", "weight_decay", "lr_decay")

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: Any = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: Any = None,
    ) -> None:
        check_rate(lr)
        check_range("lr_decay value", lr_decay)
        check_range("weight_decay value", weight_decay)
        check_range("initial_accumulator_value value", initial_accumulator_value)
        check_range("epsilon value", eps)
        super().__init__(
            params,
            {
                "lr": lr,
                "lr_decay": lr_decay,
                "eps": eps,
                "weight_decay": weight_decay,
                "initial_accumulator_value": initial_accumulator_value,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "fused": fused,
            },
        )
        for group in self.param_groups:
            for p in group["params"]:  # PyTorch has the state from the beginning
                if is_lazy(p):
                    raise ValueError(errors.uninitialized("torch.optim.Adagrad"))
                self.state[p] = self._new_state(p, group)

    def _state_names(self, p: Tensor, group: dict[str, Any]) -> tuple[str, ...]:
        return ("step", "sum")

    def _first(self, name: str, p: Tensor, group: dict[str, Any]) -> Tensor:
        if name != "sum":
            return super()._first(name, p, group)
        first = group["initial_accumulator_value"]
        return full_outside(p, complex(first, first) if p.is_complex() else first)

    def share_memory(self) -> None:
        """Move the sums of squares to memory that processes share."""
        share(state["sum"] for state in self.state.values())

    def _settings(self, group: dict[str, Any]) -> tuple[Any, ...]:
        return (group["weight_decay"] != 0, group["maximize"], float(group["eps"]))

    def _check_sparse(self, group: dict[str, Any]) -> None:
        if group["weight_decay"] != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        if group["fused"]:
            raise RuntimeError("`fused` does not support sparse grad or complex param")

    @staticmethod
    def _rule(settings: Any, p: Any, g: Any, states: Any, scalars: Any) -> tuple[Any, ...]:
        decay, maximize, eps = settings
        lr, weight_decay, lr_decay = scalars
        step, total = states
        p, g = decayed(p, -g if maximize else g, lr, weight_decay, decay, False)
        lr, count, lr_decay = numbers(p, lr, step, lr_decay)
        (rate,) = like(p, lr / (1 + count * lr_decay))
        total = total + g * g
        return p - rate * g / (jnp.sqrt(total) + eps), (step + 1, total)


class Adadelta(RuleOptimizer):
    """Steps in the units of earlier steps (Zeiler 2012)."""

    _live = ("lr", "weight_decay", "rho")

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: Any = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_range("epsilon value", eps)
        check_range("weight_decay value", weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "rho": rho,
                "eps": eps,
                "weight_decay": weight_decay,
                "maximize": maximize,
                "capturable": capturable,
                "foreach": foreach,
                "differentiable": differentiable,
            },
        )

    def _state_names(self, p: Tensor, group: dict[str, Any]) -> tuple[str, ...]:
        return ("step", "square_avg", "acc_delta")

    def _settings(self, group: dict[str, Any]) -> tuple[Any, ...]:
        return (group["weight_decay"] != 0, group["maximize"], float(group["eps"]))

    @staticmethod
    def _rule(settings: Any, p: Any, g: Any, states: Any, scalars: Any) -> tuple[Any, ...]:
        decay, maximize, eps = settings
        lr, weight_decay, rho = scalars
        step, squares, steps = states
        p, g = decayed(p, -g if maximize else g, lr, weight_decay, decay, False)
        squares = moment(squares, g * g, rho)
        delta = jnp.sqrt(steps + eps) / jnp.sqrt(squares + eps) * g
        steps = moment(steps, delta * delta, rho)
        return p - like(p, lr)[0] * delta, (step + 1, squares, steps)


class RMSprop(RuleOptimizer):
    """Gradients divided by the root of their mean square (Hinton 2012); ``centered`` by their
    standard deviation (Graves 2013). PyTorch adds epsilon outside the root."""

    _live = ("lr", "weight_decay", "alpha", "momentum")

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: Any = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check_range("epsilon value", eps)
        check_range("momentum value", momentum)
        check_range("weight_decay value", weight_decay)
        check_range("alpha value", alpha)
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "alpha": alpha,
                "eps": eps,
                "centered": centered,
                "weight_decay": weight_decay,
                "capturable": capturable,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
            },
        )

    def _state_names(self, p: Tensor, group: dict[str, Any]) -> tuple[str, ...]:
        more = ["momentum_buffer"] * (group["momentum"] > 0) + ["grad_avg"] * group["centered"]
        return ("step", "square_avg", *more)

    def _settings(self, group: dict[str, Any]) -> tuple[Any, ...]:
        return (
            group["weight_decay"] != 0,
            group["maximize"],
            group["momentum"] > 0,
            group["centered"],
            float(group["eps"]),
        )

    @staticmethod
    def _rule(settings: Any, p: Any, g: Any, states: Any, scalars: Any) -> tuple[Any, ...]:
        decay, maximize, with_momentum, centered, eps = settings
        lr, weight_decay, alpha, momentum = scalars
        step, squares, *rest = states
        p, g = decayed(p, -g if maximize else g, lr, weight_decay, decay, False)
        squares = moment(squares, g * g, alpha)
        spread = squares
        if centered:
            rest[-1] = moment(rest[-1], g, alpha)
            spread = squares - rest[-1] * rest[-1]
        change = g / (jnp.sqrt(spread) + eps)
        if with_momentum:
            change = rest[0] = like(p, momentum)[0] * rest[0] + change
        return p - like(p, lr)[0] * change, (step + 1, squares, *rest)
