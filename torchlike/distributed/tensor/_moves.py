"""``moved``: the same values under another sharding, as a recorded op.

The gradient goes back to where the operand lay, which XLA makes of the sum over the devices that it
comes from: an all-gather forward is a reduce-scatter backward.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
from jax.sharding import NamedSharding

from torchlike._core import modes
from torchlike._core.dispatch.executable import Executable
from torchlike._core.dispatch.record import execute
from torchlike._extensions.meta import MetaArray
from torchlike.distributed.tensor._storage import in_own_memory
from torchlike.tensor import Tensor, wrap

Sharding = NamedSharding | None


@functools.cache
def _executable(
    to: Sharding, back: Sharding, dtype: Any, reduced: Any, mask: int, barrier: bool
) -> Executable:
    constrain = jax.lax.with_sharding_constraint

    def forward(x: Any) -> jax.Array:
        if barrier:  # or XLA would take it for the same all-gather as the first
            x = jax.lax.optimization_barrier(x)
        if dtype is not None:
            x = x.astype(dtype)
        return x if to is None else constrain(x, to)

    def moving(kind: Any) -> Callable[..., Any]:
        @jax.custom_vjp
        def move(x: Any) -> jax.Array:
            return forward(x)

        def backward(_: None, g: Any) -> tuple[Any]:
            if reduced is not None:
                g = g.astype(reduced)
            if back is not None:
                g = constrain(g, back)
            return (g.astype(kind),)

        move.defvjp(lambda x: (forward(x), None), backward)
        return move

    def pure(x: Any) -> jax.Array:
        return moving(x.dtype)(x)

    return Executable("RedistributeBackward", pure, mask, 1, kept=(), library=True)


def moved(
    t: Tensor,
    to: Sharding,
    back: Sharding = None,
    *,
    dtype: Any = None,
    reduced: Any = None,
    barrier: bool = False,
) -> Tensor:
    """Move ``t`` to the sharding ``to``, and its gradient to ``back`` (None: wherever it comes).

    ``dtype``: what the values are cast to before they travel; ``reduced``: what the gradient is
    cast to before it does. ``barrier``: keep XLA from finding that the same was done before.
    """
    recorded = t.requires_grad and modes.current.grad_enabled
    value = t._value_now()
    if type(value) is MetaArray and dtype is None and not recorded:
        return wrap(value)
    plain = dtype is None and not recorded and not modes.is_capturing()
    if plain and to is not None and not modes.current.levels:
        if getattr(value, "sharding", None) == to:
            return wrap(value)
        return wrap(in_own_memory(value, to))
    exe = _executable(to, back, dtype, reduced, int(recorded), barrier)
    return execute(exe, [t._read()], [t])
