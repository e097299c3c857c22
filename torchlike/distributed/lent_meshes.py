"""Meshes of one process on which arrays of ordinary tensors lie beside those of DTensors.

What a fully sharded module computes lies on its mesh and is no DTensor in PyTorch, and neither is
what ``to_local`` gives. Such an array looks like that of ``d * 2``. So each mesh remembers whether
it may have some: on any other mesh all that lies there is a DTensor.
"""

from __future__ import annotations

from jax.sharding import Mesh

_lent: set[Mesh] = set()


def lend(mesh: Mesh) -> None:
    """Let arrays of ordinary tensors lie on a mesh from now on."""
    _lent.add(mesh)


def is_lent(mesh: Mesh) -> bool:
    """Return whether arrays of ordinary tensors may lie on a mesh."""
    return mesh in _lent
