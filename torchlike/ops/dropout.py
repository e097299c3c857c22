"""Dropout and its relatives: a noise tensor by PyTorch's CPU stream, and a product."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike import dtypes
from torchlike.dispatch.registry import composite, op
from torchlike.dispatch.schema import Input, Operand
from torchlike.ops.random import draw
from torchlike.random import bernoulli as coins
from torchlike.random.arithmetic import cast
from torchlike.tensor import Tensor, wrap


@op("apply_noise", namespaces=(), method=False, inplace=True, elementwise=True,
    needs={"input": ["noise"]}, grad_name="MulBackward0")  # fmt: skip
def apply_noise(input: Input, noise: Operand):
    """``input * noise``."""
    return input * noise.astype(input.dtype)


def check_probability(p: float) -> None:
    """ValueError in PyTorch's words outside [0, 1]."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout_noise(shape: tuple[int, ...], p: float, dtype: dtypes.dtype, generator: Any = None):
    """An array of zeros (probability p) and ``1 / (1 - p)``. Draws two words an element.

    The kept value is the quotient rounded in the dtype (half types through float32), as PyTorch
    rounds it.
    """
    keep = 1.0 - p
    kind = dtype.numpy
    wide = np.float32 if kind.itemsize == 2 else kind.type
    scale = cast(np.asarray(wide(1) / wide(keep)), kind)
    mask = draw(generator, lambda engine: coins.bernoulli_mask(engine, shape, keep))
    return jnp.where(mask, scale, jnp.zeros((), kind))


def _drop(input: Tensor, p: float, shape: tuple[int, ...], inplace: Any) -> Tensor:
    check_probability(p)
    if p == 0.0 or input.numel() == 0:
        return input
    noise: Any = wrap(dropout_noise(shape, p, input.dtype)) if p < 1.0 else 0.0
    return apply_noise.spec.in_place(input, noise) if inplace else apply_noise(input, noise)


def _feature_shape(input: Tensor) -> tuple[int, ...]:
    if input.dim() < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return (*input.shape[:2], *(1,) * (input.dim() - 2))


@composite(namespaces=("nn.functional",), method=False)
def dropout(input: Tensor, p: float = 0.5, training: Any = True, inplace: Any = False) -> Tensor:
    """Zero elements with probability p and scale the rest by ``1 / (1 - p)``, when training.

    ValueError for p outside [0, 1].
    """
    check_probability(p)
    return _drop(input, p, tuple(input.shape), inplace) if training else input


composite("dropout", method=False)(
    lambda input, p, train: dropout(input, p, train)  # torch.dropout's own argument order
)
composite("dropout_", method=False)(lambda input, p, train: dropout(input, p, train, True))


def _feature_dropout(name: str, dims: tuple[int, ...]) -> None:
    def function(
        input: Tensor, p: float = 0.5, training: Any = True, inplace: Any = False
    ) -> Tensor:
        check_probability(p)
        if not training:
            return input
        lifted = name == "dropout1d" and input.dim() == 2
        x = input.unsqueeze(0) if lifted else input
        result = _drop(x, p, _feature_shape(x), inplace)
        return result.squeeze(0) if lifted else result

    function.__doc__ = f"Zero whole channels with probability p, when training ({name})."
    composite(name, namespaces=("nn.functional",), method=False)(function)


for _name, _dims in (("dropout1d", (2, 3)), ("dropout2d", (3, 4)), ("dropout3d", (4, 5))):
    _feature_dropout(_name, _dims)
composite("feature_dropout", method=False)(
    lambda input, p, train: _drop(input, p, _feature_shape(input), False) if train else input
)


@op("apply_alpha_noise", namespaces=(), method=False, inplace=True, elementwise=True,
    needs={"input": ["noise"]}, grad_name="AddBackward0")  # fmt: skip
def apply_alpha_noise(input: Input, noise: Input, shift: Input):
    """``input * noise + shift``, the product rounded on its own."""
    info = jnp.finfo(input.dtype)
    # reduce_precision keeps XLA from contracting the product and the sum into one fma.
    return lax.reduce_precision(input * noise, info.nexp, info.nmant) + shift


def _alpha_drop(input: Tensor, p: float, shape: tuple[int, ...], inplace: Any) -> Tensor:
    """Dropout that keeps mean and variance of self-normalising networks."""
    check_probability(p)
    if p == 0.0 or input.numel() == 0:
        return input
    if p == 1.0:
        return apply_noise.spec.in_place(input, 0.0) if inplace else apply_noise(input, 0.0)
    alpha = 1.7580993408473766
    a = 1.0 / math.sqrt((alpha * alpha * p + 1) * (1 - p))
    kind = input.dtype.numpy
    wide = np.dtype(np.float32) if kind.itemsize == 2 else kind

    def rounded(x: Any) -> np.ndarray:
        return cast(np.asarray(x, wide), kind)

    mask = draw(None, lambda e: coins.bernoulli_mask(e, shape, 1 - p))
    values = []
    for kept in (0.0, 1.0):
        b = rounded(rounded(kept - 1).astype(wide) * wide.type(alpha * a))
        b = rounded(b.astype(wide) + wide.type(alpha * a * p))
        values.append((rounded(wide.type(kept) * wide.type(a)), b))
    noise = jnp.where(mask, values[1][0], values[0][0])
    shift = jnp.where(mask, values[1][1], values[0][1])
    run = apply_alpha_noise.spec.in_place if inplace else apply_alpha_noise
    return run(input, wrap(noise), wrap(shift))


@composite(namespaces=("nn.functional",), method=False)
def alpha_dropout(
    input: Tensor, p: float = 0.5, training: Any = False, inplace: Any = False
) -> Tensor:
    """Alpha dropout, when training. ValueError for p outside [0, 1]."""
    check_probability(p)
    return _alpha_drop(input, p, tuple(input.shape), inplace) if training else input


@composite(namespaces=("nn.functional",), method=False)
def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: Any = False, inplace: Any = False
) -> Tensor:
    """Alpha dropout of whole channels, when training."""
    check_probability(p)
    return _alpha_drop(input, p, _feature_shape(input), inplace) if training else input
