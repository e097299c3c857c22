"""Optimizers that are one rule for one parameter, and the arithmetic such rules share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core import modes
from torchlike._runtime import targets
from torchlike.autograd.grad_mode import no_grad
from torchlike.optim.differentiable import recorded_update
from torchlike.optim.fused import full_outside, update_group
from torchlike.optim.older_checkpoints import complete_groups, complete_states
from torchlike.optim.optimizer import Optimizer, check_range, hyperparameter
from torchlike.tensor import Tensor


class RuleOptimizer(Optimizer):
    """A subclass gives the state of a parameter, the settings that are compiled in, the
    hyperparameters that may change from step to step, and the rule, a pure function

        rule(settings, parameter, gradient, states, hyperparameters) -> parameter, states

    Hyperparameters arrive as float64 scalars: ``numbers(p, …)`` gives what a rule computes with
    them, ``like(p, …)`` makes the result the parameter's.
    """

    #: Names, or (name, index) for one of a pair.
    _live: tuple[Any, ...] = ("lr", "weight_decay")
    #: Whether parameters may be complex; the rule then sees real and imaginary parts.
    _complex = True
    #: Whether a new state depends on the rate of the moment: it must be known when it is made.
    _starts_at_rate = False

    def _state_names(self, p: Tensor, group: dict[str, Any]) -> tuple[str, ...]:
        """Return the names of the states that the rule keeps of a parameter, in the order in which
        it takes them, PyTorch's."""
        raise NotImplementedError

    def _first(self, name: str, p: Tensor, group: dict[str, Any]) -> Tensor:
        """Return a state before the first step: zeros like the parameter; ``step`` is one
        number."""
        return one_number(p, 0) if name == "step" else full_outside(p, 0)

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Tensor]:
        return {name: self._first(name, p, group) for name in self._state_names(p, group)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        complete_groups(self)
        complete_states(self)

    def _settings(self, group: dict[str, Any]) -> tuple[Any, ...]:
        """Return the settings that are compiled into the rule."""
        return (group["weight_decay"] != 0, group["maximize"])

    _rule: Callable[..., Any]

    @no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient. RuntimeError for complex or sparse ones that
        the optimizer does not take."""
        loss = self.loss_of(closure)
        for group in self.param_groups:
            kinds: dict[tuple[str, ...], list[Tensor]] = {}
            for p in self.with_gradients(group):
                self._check_parameter(p, group)
                state = self.state[p]
                if not state:
                    if self._starts_at_rate:
                        modes.running_capture().check_gradient(p._held_grad())
                    state.update(self._new_state(p, group))
                kinds.setdefault(self._state_names(p, group), []).append(p)
            settings = self._settings(group)
            named = [k if isinstance(k, tuple) else (k, None) for k in self._live]
            live = [hyperparameter(group, name, index) for name, index in named]
            rule = functools.partial(type(self)._rule, settings)
            for names, params in kinds.items():
                states = [[self.state[p][name] for name in names] for p in params]
                update = recorded_update if group.get("differentiable") else update_group
                update((type(self), names, settings), rule, params, states, live)
        return loss

    def _check_parameter(self, p: Tensor, group: dict[str, Any]) -> None:
        gradient = p._held_grad()
        assert gradient is not None
        if not self._complex and p.is_complex():
            raise RuntimeError(f"{type(self).__name__} does not support complex parameters")
        if gradient.is_sparse:
            self._check_sparse(group)

    def _check_sparse(self, group: dict[str, Any]) -> None:
        """Raise RuntimeError for a sparse gradient, unless the rule takes it, as a dense one."""
        raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")


class MomentOptimizer(RuleOptimizer):
    """Rules with two moments of the gradient, as Adam's."""

    _live = ("lr", "weight_decay", ("betas", 0), ("betas", 1))

    @staticmethod
    def _check_moments(lr: Any, eps: Any, betas: Any, weight_decay: Any) -> None:
        """Raise ValueError for hyperparameters that no such rule takes, in PyTorch's order."""
        check_rate(lr)
        check_range("epsilon value", eps)
        check_betas(betas)
        check_range("weight_decay value", weight_decay)


def one_number(p: Tensor, value: float) -> Tensor:
    """Return a state that is one number, as PyTorch keeps it: 0-dim and float32."""
    return full_outside(p, value, np.float32, ())


def check_rate(lr: Any) -> None:
    """Raise ValueError for a negative rate, or a tensor of several."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    check_range("learning rate", lr)


def check_betas(betas: Sequence[Any]) -> None:
    """Raise ValueError for decay rates outside [0, 1)."""
    for i in (0, 1):
        check_range(f"beta parameter at index {i}", betas[i], 0.0, 1.0)


# -- arithmetic ------------------------------------------------------------------------------------


def numbers(p: Any, *scalars: Any) -> list[Any]:
    """Return scalars in the dtype in which a rule computes with them: float64 on the CPU, as
    PyTorch computes with Python numbers; on accelerators that of the parameter, at least
    float32. A TPU emulates float64, in fifty instructions a quotient, and each parameter counts
    its own steps."""
    kind = jnp.float64 if targets.is_cpu() else jnp.promote_types(p.dtype, jnp.float32)
    return [s if getattr(s, "dtype", None) == kind else jnp.asarray(s, kind) for s in scalars]


def like(p: Any, *scalars: Any) -> list[Any]:
    """Convert what was computed of `numbers` to the parameter's dtype: rounded once, as by
    PyTorch."""
    return [jnp.asarray(s, p.dtype) for s in scalars]


def moment(old: Any, value: Any, decay: Any) -> jax.Array:
    """Return ``decay * old + (1 - decay) * value``. In float32 1 - 0.999 would be off by 5e-5."""
    keep, take = like(old, decay, 1 - decay)
    return keep * old + take * value


def lerp(old: Any, value: Any, decay: Any) -> jax.Array:
    """Return `moment` rounded as in PyTorch's ``lerp_``: ``old + (1 - decay) * (value - old)``."""
    return old + like(old, 1 - decay)[0] * (value - old)


def correction(p: Any, decay: Any, step: Any) -> jax.Array:
    """Return ``1 - decay ** step``, the bias correction of a moment, among the `numbers` of ``p``:
    as exact in float32 as in float64 (a hundred powers of that took a TPU's compiler 40 s)."""
    (count,) = numbers(p, step)
    if count.dtype == jnp.float64:
        return 1 - jnp.asarray(decay, jnp.float64) ** count
    (taken,) = numbers(p, 1 - decay)
    return -jnp.expm1(count * jnp.log1p(-taken))


def corrected(p: Any, lr: Any, decay: Any, step: Any) -> jax.Array:
    """Return ``lr / correction(p, decay, step)``."""
    return numbers(p, lr)[0] / correction(p, decay, step)


def decayed(
    p: Any, g: Any, lr: Any, weight_decay: Any, decay: Any, decoupled: Any
) -> tuple[Any, ...]:
    """Return parameter and gradient after weight decay."""
    if decay and decoupled:
        rate, weight_decay = numbers(p, lr, weight_decay)
        return p * like(p, 1 - rate * weight_decay)[0], g
    if decay:
        return p, g + like(p, weight_decay)[0] * p
    return p, g
