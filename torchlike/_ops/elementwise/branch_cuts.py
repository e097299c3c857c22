"""Complex functions on their branch cuts, where the sign of a zero says from which side.

XLA's take one side whatever the zero's sign: its root of -4 - 0j is 2j, in C and PyTorch -2j.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


def _mirrored(
    fn: Callable[[Any], Any], beyond: Callable[[Any], Any], mirror: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    """Wrap ``fn`` to be computed, where ``beyond`` holds, as the mirror image of its value at the
    mirror image."""

    @functools.wraps(fn)
    def of(x: Any) -> jax.Array:
        if x.dtype.kind != "c":
            return fn(x)
        far = beyond(x)
        found = fn(jnp.where(far, mirror(x), x))
        return jnp.where(far, mirror(found), found)

    return of


def _is_minus_zero(x: Any) -> jax.Array:
    return (x == 0) & jnp.signbit(x)


def along_reals(fn: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Wrap a function with ``fn(conj(z)) = conj(fn(z))`` and cuts on the real axis, so that -0.0
    chooses the side of the cut."""
    return _mirrored(fn, lambda x: _is_minus_zero(x.imag), jnp.conj)


def along_imaginaries(fn: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Wrap an odd function of the same kind with cuts on the imaginary axis."""
    return _mirrored(fn, lambda x: _is_minus_zero(x.real), lambda x: -jnp.conj(x))
