"""Finds the tensors that a body has put into objects from outside.

A tensor that the body made (or was given) may be put into a list, an attribute, a closure, a new
module's table, an optimizer's groups. Whoever holds it holds the very object that the function
returns or binds to a slot, so the capture has to know them all.
"""

from __future__ import annotations

import gc
import types
from collections.abc import Callable, Iterable
from typing import Any

from torchlike._core.tensor_copies import FIELDS
from torchlike._jit.capture.guard_collector import ATOMS
from torchlike.tensor import Tensor

_PASSED_OVER = (type, types.ModuleType, types.CodeType)


def tensors_held(roots: Iterable[Any], is_own: Callable[[Any], bool]) -> list[Tensor]:
    """Return the tensors reached from ``roots`` through objects that the body made. What was there
    before was not changed, or it would be a root."""
    found: list[Tensor] = []
    seen: dict[int, Any] = {}
    stack: list[Any] = []

    def enter(x: Any) -> None:
        seen[id(x)] = x  # kept alive, so that its id stays its own
        if isinstance(x, Tensor):
            found.append(x)
            stack.extend(v for k, v in vars(x).items() if k == "_grad" or k not in FIELDS)
        elif not isinstance(x, _PASSED_OVER):
            stack.extend(gc.get_referents(x))

    for root in roots:
        if type(root) not in ATOMS and id(root) not in seen:
            enter(root)
    while stack:
        x = stack.pop()
        if type(x) in ATOMS or id(x) in seen:
            continue
        if isinstance(x, Tensor) or not gc.is_tracked(x) or is_own(x):
            enter(x)
    return found
