"""``laid_out``: activations on a slice of a mesh, with the other dimensions of the mesh left alone.

``Replicate()`` on ``mesh["tp"]`` says nothing of ``mesh["dp"]``. Where an array lies is known of
what has been computed; inside a program that is being captured it is not, and there dimension 0 is
taken to be cut along the axes of the batch, which ``fully_shard`` says while its modules run.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterator, Sequence

from jax.sharding import NamedSharding, PartitionSpec

from torchlike._core import modes
from torchlike.distributed.device_mesh import DeviceMesh
from torchlike.distributed.lent_meshes import lend
from torchlike.distributed.tensor._api import DTensor, keeping, to_local, where
from torchlike.distributed.tensor._declared import declared, declared_of
from torchlike.distributed.tensor._moves import moved
from torchlike.distributed.tensor._specs import checked, entries_of, sharding_for
from torchlike.distributed.tensor.placement_types import Placement
from torchlike.distributed.transfers import shared
from torchlike.tensor import Tensor


class _Batch(threading.local):
    """The axes of JAX's mesh that this thread's batch is cut along, and whether the processes along
    them each have a batch of their own."""

    axes: tuple[str, ...] = ()
    is_own = False


_batch = _Batch()


@contextlib.contextmanager
def batch_along(axes: tuple[str, ...], is_own: bool = False) -> Iterator[None]:
    """Take dimension 0 of activations to be cut along these axes in a ``with`` block; with
    ``is_own`` each process along them computes with a batch that the others do not see."""
    before = _batch.axes, _batch.is_own
    _batch.axes, _batch.is_own = axes, is_own
    try:
        yield
    finally:
        _batch.axes, _batch.is_own = before


def laid_out(t: Tensor, mesh: DeviceMesh, placements: Sequence[Placement]) -> Tensor:
    """Give an activation these placements."""
    mesh = _seen_by(t, mesh)
    wanted = checked(placements, mesh, t.dim())
    shape = tuple(t.shape)
    said = declared(wanted, mesh, shape)
    to = _with_others(sharding_for(wanted, mesh, shape), t, mesh)
    place = where(t)
    if place is not None and place[0] == to and declared_of(t) == said:
        return t
    found = moved(t, to)
    if said is None and (not modes.is_capturing() or mesh.is_local):
        return found
    return keeping(
        found, to, mesh, said
    )  # or nobody could tell where it lies: there is no array yet


def _seen_by(t: Tensor, mesh: DeviceMesh) -> DeviceMesh:
    """Return the mesh that an activation lies on: for one of a process' own batch the process' own
    line of a slice."""
    if _batch.is_own and mesh.is_slice:
        place = where(t)
        if place is None or place[0].mesh != mesh.jax_mesh:
            return mesh.own_submesh()
    return mesh


def _with_others(to: NamedSharding, t: Tensor, mesh: DeviceMesh) -> NamedSharding:
    """Return ``to``, cut along the axes that are not of this slice as ``t`` is."""
    own = {a for axes in mesh.axes for a in axes}
    sizes = mesh.jax_mesh.shape
    if len(own) == len(sizes) or not t.dim():
        return to
    place = where(t)
    if place is not None and place[0].mesh == mesh.jax_mesh:
        others = entries_of(place[0], t.dim())
    else:
        others = [_batch.axes, *[()] * (t.dim() - 1)]
    entries = []
    for n, mine, theirs in zip(t.shape, entries_of(to, t.dim()), others, strict=True):
        both = (*[a for a in theirs if a not in own and a in sizes], *mine)
        fits = n % math.prod(sizes[a] for a in both) == 0
        entries.append(both if fits else mine)
    return NamedSharding(
        mesh.jax_mesh,
        PartitionSpec(*[e if len(e) > 1 else e[0] if e else None for e in entries]),
    )


def entering(t: Tensor, mesh: DeviceMesh, placements: Sequence[Placement]) -> Tensor:
    """Return an input of a parallel module: a plain one is, where the mesh spans processes, what
    this process holds of it under these placements. On a slice of such a mesh that is the batch of
    the processes of one line, which is for a fully sharded module around to say
    (NotImplementedError outside of one)."""
    if mesh.is_local or where(t) is not None or _is_shared(t):
        return t
    if mesh.is_slice and not _batch.is_own:
        raise NotImplementedError(
            "a plain tensor as input of a parallel module on a slice of a mesh that spans "
            "processes: fully_shard(model, mesh=mesh['dp']) takes plain batches, or make it global "
            "with DTensor.from_local(x, mesh, [Shard(0), Replicate()])"
        )
    return DTensor.from_local(t, _seen_by(t, mesh), placements)


def leaving(t: Tensor, mesh: DeviceMesh, use_local_output: bool) -> Tensor:
    """Return an output of a parallel module: this process' part where the mesh spans processes and
    the style is to give that."""
    if not use_local_output:
        return t
    if mesh.is_local:
        lend(mesh.jax_mesh)
        return t
    if where(t) is not None:
        return to_local(t)
    if _is_shared(t):
        modes.the_capture().refuse(
            "a style with use_local_output=True whose output lies where XLA puts it",
            "use_local_output=False",
        )
    return t


def _is_shared(t: Tensor) -> bool:
    """Return whether a result in a program that is being captured is a DTensor."""
    return modes.is_capturing() and shared(t) is not None
