"""SparseAdam: Adam on the rows that a sparse gradient names."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from torchlike.autograd.grad_mode import no_grad
from torchlike.optim.fused import zeros_outside
from torchlike.optim.optimizer import Optimizer
from torchlike.optim.rules import check_betas, correction, lerp, like, numbers
from torchlike.tensor import Tensor


class SparseAdam(Optimizer):
    """Adam that leaves parameters and moments alone where a sparse gradient has nothing.

    RuntimeError for dense gradients.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        params = [
            ([i, k], p)
            for i, group in enumerate(self.param_groups)
            for k, p in enumerate(group["params"])
        ]
        found = [at for at, p in params if p.is_sparse]
        if found:
            raise ValueError(
                f"Sparse params at indices {found}: SparseAdam requires dense parameter tensors"
            )
        found = [at for at, p in params if p.is_complex()]
        if found:
            raise ValueError(
                f"Complex params at indices {found}: SparseAdam does not support complex parameters"
            )

    @no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the entries that the gradients name. The step count is an int, as in PyTorch."""
        loss = self.loss_of(closure)
        for group in self.param_groups:
            for p in self.with_gradients(group):
                gradient: Any = p._held_grad()
                if not gradient.is_sparse:
                    raise RuntimeError(
                        "SparseAdam does not support dense gradients, please consider Adam instead"
                    )
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    state["exp_avg"], state["exp_avg_sq"] = zeros_outside(p), zeros_outside(p)
                state["step"] += 1
                if not gradient._nnz():
                    continue
                owned = [p, state["exp_avg"], state["exp_avg_sq"]]
                rates = [float(x) for x in (group["lr"], *group["betas"])]
                new = _updated(
                    *[t._read() for t in owned],
                    *gradient._read().parts(),
                    float(state["step"]),
                    *rates,
                    eps=float(group["eps"]),
                    maximize=bool(group["maximize"]),
                )
                for t, array in zip(owned, new, strict=True):
                    t._write(array)
        return loss


@functools.partial(jax.jit, static_argnames=("eps", "maximize"))
def _updated(
    p: Any,
    m: Any,
    v: Any,
    at: Any,
    values: Any,
    step: Any,
    lr: Any,
    b1: Any,
    b2: Any,
    *,
    eps: float,
    maximize: bool,
) -> tuple[Any, ...]:
    """Return parameter and moments after a step: computed everywhere, kept where there is a
    gradient.

    Of the named rows alone it would be compiled anew for each number of them without duplicates.
    """
    places = tuple(at)
    g = jnp.zeros_like(p).at[places].add(-values if maximize else values)
    named = jnp.zeros(p.shape[: at.shape[0]], bool).at[places].set(True)
    named = named.reshape(*named.shape, *(1,) * (p.ndim - at.shape[0]))
    m2, v2 = lerp(m, g, b1), lerp(v, g * g, b2)
    rate = numbers(p, lr)[0] * jnp.sqrt(correction(p, b2, step)) / correction(p, b1, step)
    p2 = p - like(p, rate)[0] * (m2 / (jnp.sqrt(v2) + eps))
    return tuple(jnp.where(named, new, old) for new, old in ((p2, p), (m2, m), (v2, v)))
