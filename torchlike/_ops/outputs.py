"""``out=`` for functions made of several ops."""

from __future__ import annotations

from typing import Any

from torchlike._core.dispatch.out import store_all


def write_out(
    out: Any, values: Any, *, cast: Any = False, resizes: Any = False, name: str = "out"
) -> Any:
    """Write ``values`` (a tensor or a named tuple) into ``out`` and return it; return ``values``
    where no ``out`` is given.

    ``cast``: whether PyTorch casts the result to the dtype of ``out``, or demands the same.
    ``resizes``: whether ``out`` takes the size of the result without a warning. ``name``: the
    function's, for messages.
    """
    if out is None:
        return values
    name = type(values).__name__ if isinstance(values, tuple) else name
    store_all(out, values, name, cast, resizes)
    return type(values)(*out) if hasattr(values, "_fields") else out
