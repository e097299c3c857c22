"""What code for PyTorch takes from ``torch.nested._internal.ops``."""

from __future__ import annotations

from typing import Any

from torchlike.nested._internal.nested_tensor import NestedTensor


def extract_kwargs(arg: NestedTensor) -> dict[str, Any]:
    """The keyword arguments by which `NestedTensor` makes another of other values."""
    return {
        "offsets": arg.offsets(),
        "lengths": arg.lengths(),
        "_metadata_cache": arg._metadata_cache,
        "_ragged_idx": arg._ragged_idx,
    }
