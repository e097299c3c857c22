"""``torch._jit_internal``: TorchScript's markers, where libraries import them from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Optional, Union

from torchlike._jit.markers import (
    _overload,
    _overload_method,
    export,
    ignore,
    is_scripting,
    unused,
)

__all__ = [
    "Dict",
    "Final",
    "List",
    "Optional",
    "Tuple",
    "Union",
    "_copy_to_script_wrapper",
    "_overload",
    "_overload_method",
    "export",
    "ignore",
    "is_scripting",
    "unused",
]

Dict, List, Tuple = dict, list, tuple


def _copy_to_script_wrapper(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function as it is: a compiled module keeps its methods."""
    return fn
