"""``torch._compile``: what PyTorch's compiler is told not to look into."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def _disable_dynamo(fn: Callable[..., Any] | None = None, recursive: bool = True) -> Any:
    """Return the function itself, which a compiled program may contain here; without one return a
    decorator."""
    return functools.partial(_disable_dynamo, recursive=recursive) if fn is None else fn
