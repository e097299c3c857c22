"""What code for PyTorch takes from ``torch.nested._internal.ops``."""

from __future__ import annotations

from typing import Any

from torchlike.nested._internal.nested_tensor import NestedTensor


def extract_kwargs(arg: NestedTensor) -> dict[str, Any]:
    """Return the keyword arguments with which `NestedTensor` divides other values in the same
    way."""
    return {
        "offsets": arg.offsets(),
        "lengths": arg.lengths(),
        "_metadata_cache": arg._metadata_cache,
        "_ragged_idx": arg._ragged_idx,
    }
