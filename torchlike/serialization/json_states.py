"""States of optimizers in JSON, which has no tuples, no arrays and no keys but names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from torchlike.tensor import Tensor


def encoded(value: Any, leaves: list[Any] | None = None) -> Any:
    """Encode a state as JSON has it, a number in the place of each array, which goes to ``leaves``.

    TypeError for what has no place in it, an array without ``leaves`` too.
    """
    if leaves is not None and isinstance(value, (Tensor, jax.Array, np.ndarray)):
        leaves.append(value)
        return {"array": len(leaves) - 1}
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"plain": value}
    if isinstance(value, np.generic):
        return {"plain": value.item()}
    if isinstance(value, Mapping):
        return {"dict": [[encoded(k, leaves), encoded(v, leaves)] for k, v in value.items()]}
    if isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [encoded(v, leaves) for v in value]}
    raise TypeError(f"a checkpoint has no place for a {type(value).__name__}: {value!r}")


def decoded(value: Any, arrays: Mapping[str, Any] | None = None) -> Any:
    """Decode a state of `encoded`; ``arrays``: those that go into it, by their numbers as text."""
    ((kind, held),) = value.items()
    if kind == "array":
        assert arrays is not None
        return arrays[str(held)]
    if kind == "plain":
        return held
    if kind == "dict":
        return {decoded(k, arrays): decoded(v, arrays) for k, v in held}
    parts: Sequence[Any] = [decoded(v, arrays) for v in held]
    return tuple(parts) if kind == "tuple" else parts
