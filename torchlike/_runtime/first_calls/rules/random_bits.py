"""Random bits of JAX's default generator, and what those of Philox are made by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from torchlike._runtime.first_calls.rules.registry import Equation, NoNumpyRule, rule

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)


@rule("threefry2x32")
def _threefry2x32(eqn: Equation) -> Callable[..., Any]:
    """Return the function of threefry-2x32 in 20 rounds (Salmon et al. 2011,
    doi:10.1145/2063384.2063405)."""
    shapes = [aval.shape for aval in eqn.results]

    def bits(key0: Any, key1: Any, x0: Any, x1: Any) -> list[Any]:
        keys = (key0, key1, key0 ^ key1 ^ _PARITY)
        x0, x1 = x0 + keys[0], x1 + keys[1]
        for block in range(5):
            for rotation in _ROTATIONS[block % 2]:
                x0 = x0 + x1
                x1 = (x1 << np.uint32(rotation)) | (x1 >> np.uint32(32 - rotation))
                x1 = x0 ^ x1
            x0 = x0 + keys[(block + 1) % 3]
            x1 = x1 + keys[(block + 2) % 3] + np.uint32(block + 1)
        return [np.broadcast_to(x, shape) for x, shape in zip((x0, x1), shapes, strict=True)]

    return bits


@rule("mulhi")
def _mulhi(eqn: Equation) -> Callable[..., Any]:
    """Return the function of the high halves of products of words of 32 bits."""
    if eqn.dtype != np.uint32:
        raise NoNumpyRule("mulhi")

    def high(a: Any, b: Any) -> Any:
        return ((a.astype(np.uint64) * b) >> np.uint64(32)).astype(np.uint32)

    return high
