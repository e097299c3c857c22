"""Ops that are one instruction of XLA, on arrays of short rows: computed as one long row.

XLA's CPU backend vectorises the innermost loop, and where that is shorter than a few vectors it
computes exponentials, logarithms and their kin one by one, though the array is one piece of memory.
Float32, µs on two threads, as it is and as one row: ``exp`` of (32, 64, 14, 14) 780 and 277,
``tanh`` 595 and 154, ``log1p`` 1,623 and 452; ``exp`` of (512, 512, 3, 3) 4,400 and 1,100. From 144
elements a row on there is no difference.

A reshape around the instruction is moved away or fused with it by XLA, unless it is told not to,
which only a program of its own can be: in a captured graph the op is like any other.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import numpy as np
from jax import core

from torchlike._runtime import first_calls, targets
from torchlike._runtime.jax_private.tracing import trace_state_clean

#: Elements of a short row, and of an array where it matters.
_SHORT = 128
_LARGE = 1 << 12
_FLOATS = frozenset((np.dtype(np.float32), np.dtype(np.float64)))
_OPTIONS = {"xla_disable_hlo_passes": "reshape-mover,algsimp,fusion"}


class AsOneRow:
    """The compiled forward of such an op: ``plain``, or ``pure`` on the flat array."""

    __slots__ = ("__weakref__", "_flat", "plain")

    def __init__(
        self, plain: Callable[[jax.Array], jax.Array], pure: Callable[[jax.Array], jax.Array]
    ) -> None:
        def flat(x: jax.Array) -> jax.Array:
            return pure(x.reshape(-1)).reshape(x.shape)

        self.plain = plain
        self._flat = first_calls.jit(flat, name=pure.__name__, compiler_options=_OPTIONS)

    def __call__(self, x: jax.Array) -> jax.Array:
        if isinstance(x, core.Tracer):  # whose sizes may be symbols
            return self.plain(x)
        shape = x.shape
        if len(shape) > 1 and shape[-1] < _SHORT and x.size >= _LARGE and x.dtype in _FLOATS:
            return self._of_short_rows(x)
        return self.plain(x)

    def _of_short_rows(self, x: jax.Array) -> jax.Array:
        # Within a trace the form would be a part of its program, which takes no options.
        return self._flat(x) if targets.is_cpu() and trace_state_clean() else self.plain(x)
