"""The pieces of hand-written JAX that more than one workload needs, in their fast lowerings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.workloads.contract import JaxTraining


def training(
    loss: Callable[..., jax.Array],
    params: dict[str, Any],
    optimizer: optax.GradientTransformation,
    x: np.ndarray,
    y: np.ndarray,
) -> JaxTraining:
    """One jitted step that is given its parameters and optimizer state to keep."""

    def step(params: Any, opt_state: Any, x: jax.Array, y: jax.Array) -> tuple[Any, Any, jax.Array]:
        value, grads = jax.value_and_grad(loss)(params, x, y)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, value

    return JaxTraining(
        step=jax.jit(step, donate_argnums=(0, 1)),
        params=params,
        opt_state=optimizer.init(params),
        x=jnp.asarray(x),
        y=jnp.asarray(y, jnp.int32) if np.issubdtype(y.dtype, np.integer) else jnp.asarray(y),
    )


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Mean cross entropy; logits (..., classes), integer labels (...)."""
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def linear(x: jax.Array, weight: jax.Array, bias: jax.Array | None = None) -> jax.Array:
    """``x @ weight + bias``, weight (in, out).

    The leading axes are flattened: contracting two axes at once in the weight gradient is
    1.4 to 3.2 times slower on XLA's CPU backend.
    """
    out = x.reshape(-1, x.shape[-1]) @ weight
    if bias is not None:
        out = out + bias
    return out.reshape(*x.shape[:-1], weight.shape[-1])


def layer_norm(x: jax.Array, weight: jax.Array, bias: jax.Array, eps: float = 1e-5) -> jax.Array:
    """Normalise over the last axis."""
    mean = x.mean(-1, keepdims=True)
    centred = x - mean
    variance = jnp.square(centred).mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(variance + eps) * weight + bias


def max_pool_2x2(x: jax.Array) -> jax.Array:
    """Non-overlapping 2×2 max pooling of (N, H, W, C), H and W even.

    Reshape and maximum: the gradient of `reduce_window` takes six times as long.
    """
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).max((2, 4))


def gelu(x: jax.Array) -> jax.Array:
    """The exact GELU, by erf: jax.nn.gelu's erfc has two branches, 2.5 % of a GPT step."""
    return 0.5 * x * (1 + jax.lax.erf(x * np.float32(0.5**0.5)))


@jax.custom_vjp
def causal_attention(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    """softmax(q kᵀ / sqrt(D)) v under the causal mask; all (batch, heads, T, D).

    The exponentials are normalised after the product with v, where there are D and not T columns
    to divide, and the softmax's gradient takes its row sums from the output (Dao et al. 2022,
    arXiv:2205.14135, section B.2). Together 5 % of a GPT step.
    """
    return _attention_forward(q, k, v)[0]


def _attention_forward(q: jax.Array, k: jax.Array, v: jax.Array) -> tuple[jax.Array, Any]:
    length, width = q.shape[2:]
    mask = np.where(np.tril(np.ones((length, length), bool)), 0, -np.inf).astype(np.float32)
    scores = (q @ k.swapaxes(2, 3)) * width**-0.5 + mask
    exponentials = jnp.exp(scores - scores.max(-1, keepdims=True))
    scale = 1 / exponentials.sum(-1, keepdims=True)
    out = (exponentials @ v) * scale
    return out, (q, k, v, exponentials, scale, out)


def _attention_backward(residuals: Any, grad: jax.Array) -> tuple[jax.Array, ...]:
    q, k, v, exponentials, scale, out = residuals
    grad_v = exponentials.swapaxes(2, 3) @ (grad * scale)
    grad_weights = grad @ v.swapaxes(2, 3)
    row_sums = (grad * out).sum(-1, keepdims=True)
    grad_scores = exponentials * (grad_weights - row_sums) * (scale * q.shape[3] ** -0.5)
    return grad_scores @ k, grad_scores.swapaxes(2, 3) @ q, grad_v


causal_attention.defvjp(_attention_forward, _attention_backward)
