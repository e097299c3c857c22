"""The table of rules for ragged tensors, and the checks and numbers that rules share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torchlike._core import errors
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike.nested._internal.nested_tensor import NestedTensor
from torchlike.tensor import Tensor

torch = NAMESPACES[""]
functional = NAMESPACES["nn.functional"]


def rule(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Have ``function(func, *args, **kwargs)`` stand for the public functions of these names."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            if name in NestedTensor.rules:
                raise TypeError(f"there are two rules for {name}")
            NestedTensor.rules[name] = function
        return function

    return register


def require_contiguous(input: Any, name: str, argument: str = "self") -> NestedTensor:
    """Return the argument. Raises ValueError unless it is ragged along dimension 1 and has no
    holes."""
    if not isinstance(input, NestedTensor) or input._lengths is not None or input._ragged_idx != 1:
        raise ValueError(
            f"NestedTensor {name}(): expected {argument} to be a contiguous jagged layout "
            "NestedTensor"
        )
    return input


def inner_dim(input: NestedTensor, dim: int) -> int:
    """Return the values' dimension for one of the tensor's; for the batch's it is the ragged
    one."""
    return input._ragged_idx - 1 if dim == 0 else dim - 1


def regular_dim(input: NestedTensor, dim: int, name: str, more: int = 0) -> int:
    """Return the values' dimension for one that is neither the batch's nor ragged. Raises
    RuntimeError for those. ``more``: dimensions that a result has more."""
    wrapped = errors.wrap_dim(dim, input.dim() + more)
    if wrapped == input._ragged_idx and not more:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on ragged dim")
    if wrapped == 0:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on dim=0")
    return wrapped - 1


def raggedness_matches(input: NestedTensor, size: Iterable[Any]) -> bool:
    """Return whether a size is the tensor's up to the ragged dimension; -1 matches any."""
    end = input._ragged_idx + 1
    own, given = tuple(input.shape)[:end], tuple(size)[:end]
    return len(own) == len(given) and all(
        a == b or b == -1 for a, b in zip(own, given, strict=True)
    )


def owners(input: NestedTensor) -> Tensor:
    """Return the part to which each position along the ragged dimension belongs (total,): n for
    those before the first part and behind the last."""
    total = input._held.shape[input._ragged_idx - 1]
    places = torch["arange"](total)
    offsets: Any = input._offsets
    found = torch["searchsorted"](offsets[1:].contiguous(), places, right=True)
    return torch["where"](places < offsets[0], input.shape[0], found)


def sums_of_parts(input: NestedTensor, rows: Any) -> Any:
    """Return the sums (n, …) of the rows (total, …) of each part."""
    n = input.shape[0]
    return rows.new_zeros((n + 1, *rows.shape[1:])).index_add(0, owners(input), rows)[:n]


def spread(input: NestedTensor, of_parts: Any) -> Any:
    """Spread the values of each part (n, …) to each of its rows (total, …)."""
    return of_parts[owners(input).clamp(max=max(input.shape[0] - 1, 0))]  # type: ignore[attr-defined]
