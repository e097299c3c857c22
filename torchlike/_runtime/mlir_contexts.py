"""One MLIR context for many lowerings.

JAX makes an MLIR context for each program that it lowers: 2.5 to 3 ms, as much as lowering a small
operation itself. Here each thread keeps one and makes another after ``_RENEWED_AFTER`` programs,
because MLIR never frees the types and attributes that a context has met.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from torchlike._runtime.jax_private.lowering import MAKE_CONTEXT
from torchlike._runtime.patches import at_import

#: Programs lowered in one context: less than 1 % of a context's cost for each, and a few MB held.
_RENEWED_AFTER = 200


class _Contexts(threading.local):
    def __init__(self) -> None:
        self.context: Any = None
        self.left = 0


class KeptContext:
    """Stands for ``make_ir_context`` of JAX: gives this thread's context."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._contexts = _Contexts()

    def __call__(self) -> Any:
        contexts = self._contexts
        if not contexts.left:
            contexts.context, contexts.left = self._make(), _RENEWED_AFTER
        contexts.left -= 1
        return contexts.context


def keep() -> None:
    """Let JAX lower many programs in one context, from now on."""
    made = MAKE_CONTEXT.find()
    if made is not None and not isinstance(made, KeptContext):
        MAKE_CONTEXT.replace(at_import.MLIR_CONTEXTS, KeptContext(made))
