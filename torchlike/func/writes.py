"""``functionalize``: in a graph that ``make_fx`` traces, new values in the place of writes.

Elsewhere every op is a pure function already, views and writes included, so there is nothing to
remove.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torchlike._core import overrides
from torchlike._runtime.trees import leaves
from torchlike.tensor import Tensor


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """Return a function that computes what ``func`` does without in-place ops (and, with
    remove="mutations_and_views", without views). Raises RuntimeError for another value of
    ``remove``."""
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. "
            "Valid options are:\n     remove='mutations': all inplace and out= operators will be "
            "removed from the program.\n     remove='mutations_and_views': In addition to the "
            "above, all aliasing operators will be replaced with copies."
        )

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        running = overrides.state.dispatch_modes
        traced = getattr(running[-1], "functionalized", None) if running else None
        if traced is None:
            return func(*args, **kwargs)
        with traced(views=remove == "mutations_and_views") as mode:
            result = func(*args, **kwargs)
        mode.write_back(leaves((args, kwargs), Tensor))
        return result

    return wrapped
