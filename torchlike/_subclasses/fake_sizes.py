"""Sizes of fake tensors: products of symbols, sizes that are set, indices that are masks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from torchlike._compat.symbolic import expression_of, hint_of, is_symbolic


def product(sizes: Sequence[Any]) -> Any:
    """Return the product of sizes, of which no recording is told."""
    env = next((n.node.shape_env for n in sizes if is_symbolic(n)), None)
    found = math.prod(map(expression_of, sizes))
    return found if env is None else env.number(found)


def set_size(fake: Any, size: tuple[Any, ...]) -> None:
    """Have a fake say a size of symbols. RuntimeError where it is not the fake's for the sizes at
    hand."""
    if tuple(map(hint_of, size)) != tuple(fake._geometry.size):
        raise RuntimeError(
            f"a tensor of size {tuple(fake._geometry.size)} was to be of the symbolic size {size}"
        )
    if any(map(is_symbolic, size)):
        fake.symbolic_size = size


def by_mask(args: Any) -> bool:
    """True if one of the indices of ``index`` is a mask."""
    return any(i is not None and str(i.dtype) in ("torch.bool", "torch.uint8") for i in args[1])
