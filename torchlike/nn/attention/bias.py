"""Causal masks of attention between sequences of unequal lengths."""

from __future__ import annotations

import enum
import warnings
from typing import Any

import numpy as np

from torchlike._core.storage import device_array
from torchlike._ops.creation.wrap_result import finish
from torchlike.tensor import Tensor

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """From which corner the diagonal runs: query i sees keys 0…i, or 0…i + S - L."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A mask (L, S), True where a query may look, for ``scaled_dot_product_attention``.

    AssertionError for a variant that is none; UserWarning for LOWER_RIGHT with L > S, where the
    first queries see nothing.

    Differs from PyTorch: its values are the mask itself, so that any function can take it; and
    queries that see nothing get 0, as they get from any bool mask.
    """

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> Any:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant)}")
        if variant is CausalVariant.LOWER_RIGHT and seq_len_q > seq_len_kv:
            warnings.warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > "
                "seq_len_kv!",
                stacklevel=3,
            )
        below = seq_len_kv - seq_len_q if variant is CausalVariant.LOWER_RIGHT else 0
        mask = finish(device_array(np.tri(seq_len_q, seq_len_kv, below, dtype=bool)))
        self = cls._on(mask._storage, mask._view)
        self.variant, self.seq_len_q, self.seq_len_kv = variant, seq_len_q, seq_len_kv
        return self

    def _materialize(self, device: Any = None) -> Tensor:
        """Return the mask as a plain tensor."""
        mask = Tensor._on(self._storage, self._view)
        return mask if device is None else mask.to(device)


def causal_upper_left(*size: int) -> CausalBias:
    """Return the mask (L, S) of ``is_causal=True``. Raises AssertionError unless there are two
    sizes."""
    return _build("causal_upper_left", CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size: int) -> CausalBias:
    """Return the mask (L, S) whose last query sees all keys. Raises AssertionError unless there are
    two sizes."""
    return _build("causal_lower_right", CausalVariant.LOWER_RIGHT, size)


def _build(name: str, variant: CausalVariant, size: tuple[int, ...]) -> CausalBias:
    if len(size) != 2:
        raise AssertionError(f"{name} only supports 2D tensors")
    return CausalBias(variant, *size)
