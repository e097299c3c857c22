"""What a training workload hands to the benchmark: the same net twice, on the same numbers.

A workload module holds

- ``TITLE``, one line with every size that matters,
- ``problem(seed)``: inputs, targets and initial weights as NumPy arrays, the weights under the
  names and in the layouts of PyTorch's ``state_dict``,
- ``in_torch(torch, problem)``: the net in PyTorch's public API; `torch` is real PyTorch or
  torchlike, so both run the same lines,
- ``in_jax(problem)``: the step as an experienced JAX user would write it,
- ``in_nnx(problem)``: the same with flax's layers and ``nnx.jit``, as flax's guides write it.

Neither library is imported here: a PyTorch process must not carry JAX, nor the other way round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Problem:
    """One fixed batch and the initial weights, as NumPy arrays."""

    x: np.ndarray
    y: np.ndarray
    weights: dict[str, np.ndarray]


@dataclass(frozen=True)
class TorchTraining:
    """A model under training in PyTorch's API."""

    model: Any
    optimizer: Any
    loss: Callable[[Any, Any], Any]
    x: Any
    y: Any


@dataclass(frozen=True)
class JaxTraining:
    """A step ``(params, opt_state, x, y) -> (params, opt_state, loss)``, jitted, state donated."""

    step: Callable[..., tuple[Any, Any, Any]]
    params: Any
    opt_state: Any
    x: Any
    y: Any


def uniform(rng: np.random.Generator, shape: tuple[int, ...], fan_in: int) -> np.ndarray:
    """Draw float32 weights within ±1/sqrt(fan_in), PyTorch's default for most layers."""
    bound = 1.0 / np.sqrt(fan_in)
    return rng.uniform(-bound, bound, shape).astype(np.float32)


def load_weights(torch: Any, model: Any, weights: dict[str, np.ndarray]) -> None:
    """Give the model its initial weights; a missing or an extra name raises."""
    model.load_state_dict({name: torch.tensor(array) for name, array in weights.items()})
