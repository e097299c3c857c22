"""One MLIR context for many lowerings.

JAX makes an MLIR context for each program that it lowers: 2.5 to 3 ms, as much as lowering a small
operation itself. Here each thread keeps one and makes another after ``_RENEWED_AFTER`` programs,
because MLIR never frees the types and attributes that a context has met.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import jax
from jax._src.interpreters import mlir

from torchlike._runtime import logs

log = logs.logger("first_calls")

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
    made = getattr(mlir, "make_ir_context", None)
    if made is None:
        log.warning("JAX %s has no mlir.make_ir_context: each lowering makes one", jax.__version__)
    elif not isinstance(made, KeptContext):
        mlir.make_ir_context = KeptContext(made)
