"""``out=`` for functions made of several ops."""

from __future__ import annotations

from typing import Any

from torchlike.dispatch.out import store_all


def given(out: Any, values: Any, *, cast: Any = False) -> Any:
    """``values`` (a tensor or a named tuple), written into ``out`` when that is given.

    ``cast``: whether PyTorch casts the result to the dtype of ``out``, or demands the same.
    """
    if out is None:
        return values
    store_all(out, values, type(values).__name__ if isinstance(values, tuple) else "out", cast)
    return type(values)(*out) if hasattr(values, "_fields") else out
