"""The pieces of hand-written JAX that more than one workload needs, in their fast lowerings."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
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
    """Make one jitted step that is given its parameters and optimizer state to keep."""

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
    """Return the mean cross entropy; logits (..., classes), integer labels (...)."""
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def linear(x: jax.Array, weight: jax.Array, bias: jax.Array | None = None) -> jax.Array:
    """Compute ``x @ weight + bias``, weight (in, out).

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
    """Take the non-overlapping 2×2 max pooling of (N, H, W, C), H and W even.

    Reshape and maximum: the gradient of `reduce_window` takes six times as long.
    """
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).max((2, 4))


def convolution(x: jax.Array, kernel: jax.Array, stride: int) -> jax.Array:
    """Convolve (N, H, W, C) by (k, k, C, O), padded by k // 2.

    On outputs of up to 4×4 XLA's CPU backend takes 80 times as long as the same by im2col and a
    matrix product; a 1×1 kernel is one.
    """
    k, outputs = kernel.shape[0], kernel.shape[-1]
    side = (x.shape[1] - 1) // stride + 1
    if k == 1:
        return x[:, ::stride, ::stride] @ kernel[0, 0]
    if side > 4:
        return jax.lax.conv_general_dilated(
            x,
            kernel,
            (stride, stride),
            [(k // 2, k // 2)] * 2,
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )
    columns = jnp.concatenate(list(_windows(x, k, stride, side, 0.0)), axis=-1)
    rows = columns.reshape(-1, columns.shape[-1]) @ kernel.reshape(-1, outputs)
    return rows.reshape(*columns.shape[:-1], outputs)


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def convolution_in_parts(x: jax.Array, kernel: jax.Array, images: int) -> jax.Array:
    """Do `convolution` with stride 1, its kernel's gradient of so many images at a time.

    All at once, what XLA lays out for it falls out of the cache: 2.25 ms instead of 1.5 for 32
    images of 14×14 with 32 and 64 channels, 4 at a time.
    """
    return convolution(x, kernel, 1)


def _parts_forward(x: jax.Array, kernel: jax.Array, images: int) -> Any:
    return convolution(x, kernel, 1), (x, kernel)


def _parts_backward(images: int, kept: Any, g: jax.Array) -> Any:
    x, kernel = kept
    (dx,) = jax.vjp(lambda x: convolution(x, kernel, 1), x)[1](g)
    cuts = [slice(i, i + images) for i in range(0, len(x), images)]
    dkernel = [
        jax.vjp(lambda k, x=x[cut]: convolution(x, k, 1), kernel)[1](g[cut])[0] for cut in cuts
    ]
    return dx, sum(dkernel[1:], dkernel[0])


convolution_in_parts.defvjp(_parts_forward, _parts_backward)


def max_pool_3x3(x: jax.Array) -> jax.Array:
    """Take the 3×3 max pooling of (N, H, W, C) by steps of 2, padded by 1, as a maximum of nine
    slices."""
    return functools.reduce(jnp.maximum, _windows(x, 3, 2, (x.shape[1] - 1) // 2 + 1, -np.inf))


def _windows(x: jax.Array, k: int, stride: int, side: int, fill: float) -> Iterator[jax.Array]:
    """Yield what each place of a k×k window sees, (N, side, side, C) each."""
    pad, last = k // 2, stride * (side - 1) + 1
    x = jnp.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)), constant_values=fill)
    for i, j in itertools.product(range(k), repeat=2):
        yield x[:, i : i + last : stride, j : j + last : stride]


def gelu(x: jax.Array) -> jax.Array:
    """Compute the exact GELU, by erf: jax.nn.gelu's erfc has two branches, 2.5 % of a GPT step."""
    return 0.5 * x * (1 + jax.lax.erf(x * np.float32(0.5**0.5)))


@jax.custom_vjp
def causal_attention(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    """Compute softmax(q kᵀ / sqrt(D)) v under the causal mask; all (batch, heads, T, D).

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
