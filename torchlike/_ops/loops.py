"""Loops over rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax import lax


def scan(
    body: Callable[[Any, Any], Any], init: Any, xs: Any, *, reverse: bool = False
) -> tuple[Any, ...]:
    """Run ``lax.scan``, which stays a loop where JAX's jits are disabled.

    Programs for NumPy are traced so (``first_calls``), and JAX would unroll the loop there.
    """
    disabled = bool(jax.config.jax_disable_jit)  # pyright: ignore[reportAttributeAccessIssue]
    if not disabled:
        return lax.scan(body, init, xs, reverse=reverse)

    def inner(carry: Any, row: Any) -> tuple[Any, ...]:
        with jax.disable_jit():
            return body(carry, row)

    with jax.disable_jit(False):
        return lax.scan(inner, init, xs, reverse=reverse)
