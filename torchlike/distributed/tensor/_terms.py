"""Terms: what `Partial` marks, one of each process, beside the tensor that they make up.

XLA has no array that is still to be reduced. A tensor with `Partial` among its placements has its
values in its cell, reduced, so that whatever reads it is right; its terms lie beside them
(`PlacedStorage.terms`), *stacked*: an array with one more dimension in front for each `Partial`,
cut along that dimension of the mesh. ``to_local`` gives this process' term. ``_term_rules`` says
which ops make terms, and which keep them. A write forgets them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from torchlike._core import views
from torchlike._runtime.transfer import to_device
from torchlike.autograd.function import Function
from torchlike.distributed.device_mesh import DeviceMesh
from torchlike.distributed.tensor._specs import placements_of, sharding_for
from torchlike.distributed.tensor._storage import PlacedStorage, held_here
from torchlike.distributed.tensor.placement_types import Partial, Placement
from torchlike.tensor import Tensor, wrap

_REDUCTIONS = {
    "sum": jnp.sum,
    "avg": jnp.mean,
    "product": jnp.prod,
    "max": jnp.max,
    "min": jnp.min,
}
#: A tensor's terms, stacked, and its placements.
Terms = tuple[Any, tuple[Placement, ...]]


def reductions_of(placements: Sequence[Placement]) -> tuple[str, ...]:
    """Return how each of the dimensions in front is reduced."""
    return tuple(p.reduce_op for p in placements if isinstance(p, Partial))


def total(stacked: Any, how: Sequence[str]) -> Any:
    """Reduce the dimensions in front of a traced array of terms, the last one first."""
    for at in reversed(range(len(how))):
        stacked = _REDUCTIONS[how[at]](stacked, axis=at).astype(stacked.dtype)
    return stacked


def in_front(placements: Sequence[Placement], mesh: DeviceMesh) -> list[tuple[str, ...]]:
    """Return the axes of JAX's mesh along which the dimensions in front are cut."""
    return [axes for p, axes in zip(placements, mesh.axes, strict=True) if isinstance(p, Partial)]


def terms_of(t: Tensor) -> Terms | None:
    """Return the terms of a tensor, which may be a view; None where it has none."""
    storage, view = t._storage, t._view
    if not isinstance(storage, PlacedStorage) or storage.terms is None:
        return None
    stacked, placements = storage.terms, storage.declared
    assert placements is not None
    if view is None:
        return stacked, placements
    found = _viewed(view.steps, len(reductions_of(placements)))(stacked, *view.dynamic)
    return found, _placed(found, placements, storage.mesh)


def _placed(
    stacked: jax.Array, before: Sequence[Placement], mesh: DeviceMesh
) -> tuple[Placement, ...]:
    """Return the placements of stacked terms, which are `Partial` where they were."""
    n = len(reductions_of(before))
    spec = tuple(stacked.sharding.spec)[n:] if isinstance(stacked.sharding, NamedSharding) else ()
    there = placements_of(
        NamedSharding(mesh.jax_mesh, PartitionSpec(*spec)), mesh, stacked.ndim - n
    )
    return tuple(p if isinstance(p, Partial) else q for p, q in zip(before, there, strict=True))


@functools.cache
def _viewed(steps: Any, n: int) -> Any:
    def read(x: Any, *dynamic: Any) -> Any:
        return views.read_chain(steps, x, *dynamic)

    return jax.jit(over_terms(read, n, lambda i: 0 if i == 0 else None))


def over_terms(function: Any, n: int, axis: Any) -> Any:
    """Map a function of arrays over ``n`` dimensions in front of those arguments for whose position
    ``axis`` gives 0, and not None."""

    def mapped(*args: Any) -> Any:
        found = function
        for _ in range(n):
            found = jax.vmap(found, in_axes=tuple(axis(i) for i in range(len(args))))
        return found(*args)

    return mapped


def with_terms(t: Tensor, mesh: DeviceMesh, stacked: jax.Array, before: Any) -> Tensor:
    """Give ``t``, whose cell was just made, the terms of its values, and return it. ``before``: the
    placements, of which those of `Partial` count."""
    held = t._storage
    made = PlacedStorage(held.cell, held.cell.sharding, mesh, _placed(stacked, before, mesh))
    made.strides, made.terms = held.strides, stacked
    t._storage = made
    return t


def remaining(
    stacked: jax.Array,
    placements: Sequence[Placement],
    wanted: Sequence[Placement],
    mesh: DeviceMesh,
) -> jax.Array:
    """Return stacked terms, reduced along the dimensions of the mesh where no `Partial` is
    wanted."""
    how = reductions_of(placements)
    stays = [
        isinstance(q, Partial) for p, q in zip(placements, wanted, strict=True) if p.is_partial()
    ]
    to = sharding_for(wanted, mesh, stacked.shape[len(how) :])
    spec = PartitionSpec(*in_front(wanted, mesh), *to.spec)

    def reduced(x: Any) -> Any:
        for at in reversed(range(len(how))):
            if not stays[at]:
                x = _REDUCTIONS[how[at]](x, axis=at).astype(x.dtype)
        return x

    return jax.jit(reduced, out_shardings=NamedSharding(mesh.jax_mesh, spec))(stacked)


def stacked_of(local: Any, placements: Sequence[Placement], mesh: DeviceMesh) -> jax.Array:
    """Return the stacked terms, of which this process has one. Where several of its devices lie
    along a dimension in front, the others' terms change nothing."""
    own = np.asarray(local)
    front, how = in_front(placements, mesh), reductions_of(placements)
    there = NamedSharding(mesh.jax_mesh, PartitionSpec(*front))
    sizes = tuple(math.prod(mesh.jax_mesh.shape[a] for a in along) for along in front)
    parts = there.addressable_devices_indices_map(sizes).values()
    held = own.reshape((1,) * len(front) + own.shape)
    for at, kind in enumerate(how):
        n = len({part[at].indices(sizes[at]) for part in parts if part is not None})
        others = np.full_like(held, 0 if kind == "sum" else 1)
        if kind in ("avg", "max", "min"):
            others = held
        held = np.concatenate([held, *[others] * (n - 1)], axis=at)
    whole = sharding_for(placements, mesh, tuple(n * mesh.jax_mesh.size for n in own.shape))
    to = NamedSharding(mesh.jax_mesh, PartitionSpec(*front, *whole.spec))
    return jax.make_array_from_process_local_data(to, held)


class OwnTerm(Function):
    """This process' term; its gradient is that of the whole's."""

    @staticmethod
    def forward(ctx: Any, t: Tensor, terms: Terms, mesh: DeviceMesh) -> Tensor:
        stacked, placements = terms
        ctx.given = mesh, placements, tuple(t.shape)
        own = held_here(stacked)
        how = reductions_of(placements)
        if own.shape[: len(how)] == (1,) * len(how):
            return wrap(to_device(own.reshape(own.shape[len(how) :])))
        return wrap(total(jnp.asarray(own), how))  # of this process' devices

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:
        mesh, placements, shape = ctx.given
        to = sharding_for(placements, mesh, shape)
        array = jax.make_array_from_process_local_data(to, np.asarray(g._read()))
        return wrap(array), None, None
