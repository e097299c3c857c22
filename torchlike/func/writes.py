"""``functionalize``. Every op of torchlike is a pure function already, views and writes included
(see views), so there is nothing to remove: the function keeps its meaning."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """``func`` without in-place ops (and, with remove="mutations_and_views", without views) in what
    it computes. RuntimeError for another value of ``remove``."""
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. "
            "Valid options are:\n     remove='mutations': all inplace and out= operators will be "
            "removed from the program.\n     remove='mutations_and_views': In addition to the "
            "above, all aliasing operators will be replaced with copies."
        )

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return wrapped
