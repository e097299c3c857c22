"""What the nets in flax nnx share: taking PyTorch's weights, and the jitted training step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from benchmarks.workloads.contract import JaxTraining


def fill(model: Any, weights: Mapping[str, np.ndarray]) -> Any:
    """Give a model weights under PyTorch's names and in its layouts; gives the model."""
    for name, array in weights.items():
        *path, last = name.split(".")
        layer = model
        for part in path:
            layer = layer[int(part)] if part.isdigit() else getattr(layer, part)
        if last == "bias":
            variable = layer.bias
        elif isinstance(layer, nnx.Embed):
            variable = layer.embedding
        elif isinstance(layer, (nnx.LayerNorm, nnx.BatchNorm)):
            variable = layer.scale
        else:
            variable = layer.kernel
            array = array.transpose(2, 3, 1, 0) if array.ndim == 4 else array.T
        assert variable.shape == array.shape, name
        variable[...] = jnp.asarray(array)
    return model


def training(
    model: Any,
    loss: Callable[[Any, jax.Array, jax.Array], jax.Array],
    transformation: optax.GradientTransformation,
    x: np.ndarray,
    y: np.ndarray,
) -> JaxTraining:
    """Make the step of flax's guides: state is handed over as objects, and written in place."""
    optimizer = nnx.Optimizer(model, transformation, wrt=nnx.Param)

    @nnx.jit
    def step(model: Any, optimizer: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        value, grads = nnx.value_and_grad(loss)(model, x, y)
        optimizer.update(model, grads)
        return value

    def contract(model: Any, optimizer: Any, x: Any, y: Any) -> tuple[Any, Any, jax.Array]:
        return model, optimizer, step(model, optimizer, x, y)

    y = y.astype(np.int32) if np.issubdtype(y.dtype, np.integer) else y
    return JaxTraining(contract, model, optimizer, jnp.asarray(x), jnp.asarray(y))
