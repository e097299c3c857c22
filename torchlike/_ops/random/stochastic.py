"""Functions of nn.functional that draw: rrelu and gumbel_softmax."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from torchlike._core import modes
from torchlike._core.dispatch.registry import composite
from torchlike._core.dispatch.schema import require_tensor
from torchlike._extensions import boxes
from torchlike._ops.elementwise.activation import leaky_relu
from torchlike._ops.random.dropout import apply_noise
from torchlike._ops.random.sampling import draw
from torchlike.random.dropout import rrelu_slopes
from torchlike.tensor import Tensor, wrap


def _slopes(input: Tensor, lower: float, upper: float, generator: Any) -> Tensor:
    """Draw a slope for each negative element and return the slopes. Which elements are drawn for
    depends on their values, so these are looked at."""
    if input.is_meta:
        return input.new_empty(input.shape)
    cell = input._read()
    if type(cell) is boxes.Batched and cell.batched:
        raise RuntimeError("vmap: we do not yet support aten::rrelu. Please file an issue")
    values = input.detach()._value("rrelu in training", "leaky_relu, or call it outside the jit")
    return wrap(draw(generator, lambda e: rrelu_slopes(e, np.asarray(values), lower, upper), input))


def _rrelu(
    input: Tensor, lower: float, upper: float, training: bool, inplace: bool, generator: Any = None
) -> Tensor:
    lower, upper = float(lower), float(upper)
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound:g}")
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        slope = (lower + upper) / 2
        return leaky_relu.spec.in_place(input, slope) if inplace else leaky_relu(input, slope)
    noise = _slopes(input, lower, upper, generator)
    return (
        apply_noise.spec.in_place(input, noise)
        if inplace
        else apply_noise(input.contiguous(), noise)
    )


@composite(
    "rrelu", namespaces=("nn.functional",), method=False, python_signature=True, pointwise=True
)
def functional_rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """Return ``input`` where positive, else times a slope: uniform on [lower, upper] in training
    (drawn for each element), their mean otherwise (Xu et al. 2015).

    RuntimeError when lower > upper; JitCaptureError in training under a jit, because how many
    numbers are drawn depends on the signs.
    """
    return _rrelu(input, lower, upper, training, inplace)


@composite(method=False)
def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    generator: Any = None,
) -> Tensor:
    """Apply ``nn.functional.rrelu``, with a generator."""
    return _rrelu(input, lower, upper, training, False, generator)


@composite(namespaces=("", "nn.functional"), method=False, one_object=True)
def rrelu_(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    generator: Any = None,
) -> Tensor:
    """Apply ``rrelu`` in place."""
    return _rrelu(input, lower, upper, training, True, generator)


@composite(namespaces=("nn.functional",), method=False, python_signature=True)
def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """Return a sample of the Gumbel-softmax distribution (Jang et al. 2016; Maddison et al. 2016),
    in the logits' shape; ``hard``: one-hot, with the gradient of the soft sample.
    """
    require_tensor(logits, "gumbel_softmax", "logits")
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.")
    # A mapped tensor of logits has noise for each example.
    mapped = modes.current.levels
    held = logits.detach().clone() if mapped else logits.new_empty(logits.shape)
    noise = -held.exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.detach().max(dim, keepdim=True)[1]
    one_hot = logits.new_zeros(logits.shape).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft
