"""``torch.fx``: programs as graphs of Python are not there; ``torchlike.jit`` captures them."""

from __future__ import annotations

from typing import Any

from torchlike._compat.unsupported import functions as _unsupported
from torchlike.fx import experimental as experimental


def wrap(fn_or_name: Any) -> Any:
    """Its argument: no tracer would stop at the function. RuntimeError for what is neither a
    function nor a name."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    return fn_or_name


def has_side_effect(fn: Any) -> Any:
    """Its argument: no graph is made from which a call could be dropped."""
    return fn


globals().update(_unsupported("fx"))
