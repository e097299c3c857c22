"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torchlike._ops.shape.joining import cat
from torchlike.tensor import Tensor


def parameters_to_vector(parameters: Iterable[Any]) -> Tensor:
    """Return the elements of all parameters in one vector; gradients flow back to them."""
    return cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Any]) -> None:
    """Give each parameter its slice of the vector, as its ``data``."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    at = 0
    for p in parameters:
        n = p.numel()
        p.data = vec[at : at + n].view_as(p).data
        at += n
