"""Products with ragged tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike.nested._internal.nested_tensor import NestedTensor
from torchlike.nested._internal.rules.padding import from_padded, to_padded
from torchlike.nested._internal.rules.shapes import unbind
from torchlike.nested._internal.rules.table import (
    raggedness_matches,
    require_contiguous,
    rule,
    torch,
)
from torchlike.tensor import Tensor


@rule("linear")
def linear(
    func: Callable[..., Any], input: Any, weight: Tensor, bias: Tensor | None = None
) -> Tensor:
    return require_contiguous(input, "linear")._with(func(input._held, weight, bias))


def _by_parts(input: Any, other: Any, nested: NestedTensor) -> Tensor:
    """Multiply each part with a matrix of its own, on padded parts."""
    at, total = nested._ragged_idx, nested._held.shape[nested._ragged_idx - 1]
    width = nested._get_max_seqlen()
    first, second = (
        to_padded(t, 0, width) if isinstance(t, NestedTensor) else t for t in (input, other)
    )
    product = torch["matmul"](first, second)
    return nested._with(from_padded(product, nested._offsets, at, total))


@rule("matmul", "__matmul__", "__rmatmul__")
def matmul(func: Any, input: Any, other: Any) -> Tensor:
    """Multiply with a dense matrix, with one for each part, or two ragged tensors. Raises
    RuntimeError where neither the ragged dimension is kept nor both are ragged along it."""
    product = torch["matmul"]
    left, right = isinstance(input, NestedTensor), isinstance(other, NestedTensor)
    if left and not right and input._ragged_idx < input.dim() - 1:
        if input.dim() >= 3 and input.dim() == other.dim():
            return _by_parts(input, other, input)
        if other.dim() == 2 and input.dim() > 2:
            return input._with(product(input._held, other))
    if right and not left and other._ragged_idx >= 2:
        if other.dim() >= 3 and other.dim() == input.dim():
            return _by_parts(input, other, other)
        if input.dim() == 2 and other.dim() > 2:
            return other._with(product(input, other._held))
    if left and right:
        if min(input.dim(), other.dim()) > 3 and raggedness_matches(input, other.shape):
            return input._with(product(input._held, other._held))
        if (
            input.dim() == other.dim() == 3
            and (input._ragged_idx, other._ragged_idx) == (2, 1)
            and input.ragged_size == other.ragged_size
        ):
            parts = zip(unbind(None, input), unbind(None, other), strict=True)
            return torch["stack"]([product(a, b) for a, b in parts])
    first = tuple(input.shape) if left else input.shape
    raise RuntimeError(
        f"matmul(): not supported between inputs of shapes {first} and {other.shape}"
    )


@rule("bmm")
def bmm(func: Any, input: Any, mat2: Any) -> Tensor:
    """Apply `matmul` to tensors of three dimensions. Raises ValueError for others."""
    for name, t in (("input", input), ("mat2", mat2)):
        if t.dim() != 3:
            raise ValueError(f"bmm(): {name} must be 3D")
    return matmul(func, input, mat2)
