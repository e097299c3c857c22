"""Kernels of the collectives: what each rank does, in a program over the ranks, with its arrays.

XLA's reduce-scatter between CPUs gives up where ranks arrive 30 s apart, whatever the timeout; the
others wait. So it is an exchange and a sum there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from torchlike._runtime import targets
from torchlike.distributed.reductions import reduced, reduced_of_parts

AXIS = "ranks"
Kernel = Callable[..., tuple[Any, ...]]


def all_reduce(op: str, size: int) -> Kernel:
    """Return a kernel in which each array becomes the reduction of all ranks'."""
    return lambda *arrays: tuple(reduced(x, op, AXIS, size) for x in arrays)


def reduce(op: str, size: int, to: int) -> Kernel:
    """Return a kernel in which one rank's array becomes the reduction of all ranks'; the others'
    stay."""

    def kernel(x: Any) -> tuple[Any, ...]:
        return (jnp.where(lax.axis_index(AXIS) == to, reduced(x, op, AXIS, size), x),)

    return kernel


def only_at(rank: int) -> Kernel:
    """Return a kernel that gives the array on one rank, zeros on the others."""
    return lambda x: (jnp.where(lax.axis_index(AXIS) == rank, x, jnp.zeros_like(x)),)


def broadcast(source: int, size: int) -> Kernel:
    """Return a kernel in which each array becomes that of one rank: those that have it pass it on,
    twice as many each time. A sum with zeros would lose the sign of -0.0, and not every dtype has
    one."""

    def kernel(*arrays: Any) -> tuple[Any, ...]:
        distance = (lax.axis_index(AXIS) - source) % size
        have = 1
        while have < size:
            pairs = [
                ((source + i) % size, (source + i + have) % size)
                for i in range(min(have, size - have))
            ]
            new = (distance >= have) & (distance < 2 * have)
            arrays = tuple(jnp.where(new, lax.ppermute(x, AXIS, pairs), x) for x in arrays)
            have *= 2
        return arrays

    return kernel


def all_gather(x: Any) -> tuple[Any, ...]:
    """Concatenate all ranks' arrays."""
    return (lax.all_gather(x, AXIS, tiled=True),)


def all_gather_list(size: int) -> Kernel:
    """Return a kernel that gives all ranks' arrays, each by itself."""

    def kernel(x: Any) -> tuple[Any, ...]:
        every = lax.all_gather(x, AXIS)
        return tuple(every[i] for i in range(size))

    return kernel


def scatter(source: int) -> Kernel:
    """Return a kernel that gives this rank's one of one rank's arrays."""
    return lambda *arrays: (lax.all_to_all(jnp.stack(arrays), AXIS, 0, 0)[source],)


def all_to_all(x: Any) -> tuple[Any, ...]:
    """Send the first part of each rank's array to the first rank, the second to the second."""
    return (lax.all_to_all(x, AXIS, 0, 0, tiled=True),)


def all_to_all_list(*arrays: Any) -> tuple[Any, ...]:
    """Send the first array of each rank to the first rank, the second to the second."""
    found = lax.all_to_all(jnp.stack(arrays), AXIS, 0, 0)
    return tuple(found[i] for i in range(len(arrays)))


def reduce_scatter(op: str, size: int) -> Kernel:
    """Return a kernel that gives this rank's row of the reduction of all arrays, which have a
    row for each."""

    def kernel(x: Any) -> tuple[Any, ...]:
        if op == "SUM" and not targets.is_cpu():
            return (lax.psum_scatter(x, AXIS, tiled=True)[0],)
        return (reduced_of_parts(lax.all_to_all(x, AXIS, 0, 0), op, size),)

    return kernel


def reduce_scatter_list(op: str, size: int) -> Kernel:
    """Return a kernel that does ``reduce_scatter`` of rows that are given each by itself."""
    whole = reduce_scatter(op, size)
    return lambda *rows: whole(jnp.stack(rows))


def force_async_dispatch(axes: str | tuple[str, ...] = AXIS) -> jax.Array:
    """Return a result that nobody needs, of 2,048 products. XLA's CPU client computes a program of
    less than 1,000 operations at once, in the thread that asks for it: that would wait for the
    other ranks without end and without hearing of signals."""
    return jnp.arange(2048, dtype=jnp.float32) * lax.axis_index(axes).astype(jnp.float32)
