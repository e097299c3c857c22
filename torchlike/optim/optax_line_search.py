"""Steps that evaluate the loss at other parameters: optax.lbfgs and other searches along a line.

optax calls ``value_fn`` inside of loops of JAX. Here the loops run in Python (``disable_jit``), and
each evaluation is the user's closure, with the parameters of the moment in their cells: what it
prints, draws and counts happens as often as in PyTorch's LBFGS.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from torchlike.autograd.grad_mode import enable_grad
from torchlike.optim.fused import gradient_array
from torchlike.optim.optax_step import ParameterTree
from torchlike.tensor import Tensor


def value_function(
    tree: ParameterTree, params: Sequence[Tensor], closure: Callable[[], Any]
) -> Callable[[Any], Any]:
    """Return the loss as a function of a tree of arrays, with the gradients that the closure
    computes."""

    def evaluate(at: Any) -> tuple[Any, Any]:
        for p, array in zip(params, tree.leaves(at), strict=True):
            p._write(jnp.array(array, p.dtype.numpy))
        with enable_grad():
            loss = closure()
        value = loss._read() if isinstance(loss, Tensor) else loss
        gradients = [
            jnp.zeros_like(array)
            if p._held_grad() is None
            else jnp.asarray(gradient_array(p), array.dtype)
            for p, array in zip(params, tree.leaves(at), strict=True)
        ]
        return jnp.asarray(value).reshape(()), tree.built(gradients)

    @jax.custom_vjp
    def value_fn(at: Any) -> Any:
        return evaluate(at)[0]

    def backward(gradients: Any, cotangent: Any) -> tuple[Any]:
        return (jax.tree.map(lambda g: (g * cotangent).astype(g.dtype), gradients),)

    value_fn.defvjp(evaluate, backward)
    return value_fn


def searched(
    stepped: Callable[..., list[Any]],
    owners: Sequence[Tensor],
    gradients: Any,
    numbers: Any,
    arrays: Any,
) -> list[Any]:
    """Run ``stepped`` in Python, without compiling it. Where it fails the parameters are put back
    as they were."""
    owned = [jnp.copy(t._read()) for t in owners]
    arrays = tuple(map(jnp.asarray, arrays))
    # The closure compiles as ever: it runs under its own setting.
    try:
        with jax.disable_jit():
            return stepped(owned, tuple(map(jnp.asarray, gradients)), numbers, arrays)
    finally:
        for t, array in zip(owners, owned, strict=True):
            t._write(array)
