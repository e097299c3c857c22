"""``out=`` for functions made of several ops."""

from __future__ import annotations

from typing import Any


def given(out: Any, values: Any) -> Any:
    """``out=`` of a function returning a tensor or a named tuple."""
    if out is None:
        return values
    pairs = zip(out, values, strict=True) if isinstance(values, tuple) else ((out, values),)
    for target, value in pairs:
        target.resize_(value.shape).copy_(value)
    return type(values)(*out) if isinstance(values, tuple) else out
