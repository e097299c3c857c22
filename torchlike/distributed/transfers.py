"""Whose a value is inside a captured program, and where it becomes another's.

In a program over the devices of a mesh a value is shared by all processes (a DTensor), or by those
of one line of the mesh (what tensor parallelism computes of their batch), or a process' own. Along
its *own axes* each process has another value: all axes of the mesh for an ordinary tensor, none for
a DTensor. A `transfer` is the equation where one becomes another: shards are gathered into a local
tensor, local gradients are summed into shards, ``to_local`` and ``from_local``. Within it each
process works on the part that it holds; `scoped_programs` compiles what lies between.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jax import core
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from torchlike._runtime.jax_private import tracing
from torchlike._runtime.jax_private.primitives import make_primitive
from torchlike.distributed.device_mesh import mesh_of
from torchlike.tensor import Tensor


class Side(NamedTuple):
    """How a value lies on one side of a transfer.

    Attributes:
      own: the axes of the mesh along which each process has another value, in the mesh's order.
      spec: how it is cut along the others.
      shape: its size, to whoever has it.
    """

    own: tuple[str, ...]
    spec: PartitionSpec
    shape: tuple[int, ...]


class Shared(NamedTuple):
    """That a value is shared: over the devices of which mesh, but for which axes."""

    mesh: Mesh
    own: tuple[str, ...]


def side_of(sharding: NamedSharding, shape: Sequence[int]) -> tuple[Mesh, Side]:
    """Return the whole mesh, and how a value lies on it that has this sharding: on the whole mesh,
    or on this process' line of a slice (``DeviceMesh.own_line``)."""
    mesh = mesh_of(sharding.mesh)
    if mesh._slice is None:
        return mesh.jax_mesh, Side((), sharding.spec, tuple(shape))
    whole = mesh._slice.jax_mesh
    axes = dict(zip(mesh.jax_mesh.axis_names, mesh._slice.axes, strict=True))
    entries: list[Any] = []
    for e in sharding.spec:
        names = (e,) if isinstance(e, str) else tuple(e or ())
        found = tuple(a for name in names for a in axes[name])
        entries.append(found if len(found) > 1 else found[0] if found else None)
    kept = {a for part in mesh._slice.axes for a in part}
    if mesh.size() == 1:  # a line of one: its values are its process' own
        return whole, own_side(whole, shape)
    own = tuple(a for a in whole.axis_names if a not in kept)
    return whole, Side(own, PartitionSpec(*entries), tuple(shape))


def own_side(mesh: Mesh, shape: Sequence[int]) -> Side:
    """Return how a process' own value lies on a mesh."""
    return Side(tuple(mesh.axis_names), PartitionSpec(), tuple(shape))


#: ``transfer_p.bind(*arrays, name=, mesh=, body=, in_sides=, out_sides=, gathers=)``: ``body``
#: takes the parts that a process holds of the arrays, which lie as ``in_sides`` say (None: as they
#: do), and whether the processes have met in the program before; it gives the parts of results that
#: lie as ``out_sides`` say.
transfer_p = make_primitive("transfer", is_many=True)


@transfer_p.def_abstract_eval
def _avals(*arrays: Any, out_sides: Any, dtypes: Any, **_: Any) -> list[Any]:
    return [core.ShapedArray(s.shape, d) for s, d in zip(out_sides, dtypes, strict=True)]


#: Who shares the results of equations, by their ids, for as long as each lives.
_known: dict[int, tuple[Any, Shared | None]] = {}


def shared(t: Tensor) -> Shared | None:
    """Return which processes share a tensor's value, also inside a program that is being captured;
    None for a process' own, and for one that needs nobody's (a constant)."""
    sharding = getattr(t._storage, "sharding", None) if t._view is None else None
    return _of_sharding(sharding) or _of_array(t._read())


def _of_sharding(sharding: Any) -> Shared | None:
    if not isinstance(sharding, NamedSharding) or not isinstance(sharding.mesh, Mesh):
        return None
    if mesh_of(sharding.mesh).is_local:
        return None
    mesh, side = side_of(sharding, ())
    return Shared(mesh, side.own)


def _of_array(array: Any) -> Shared | None:
    if not isinstance(array, core.Tracer):
        return _of_sharding(getattr(array, "sharding", None))
    eqn = tracing.maker_of(array)
    if eqn is None:
        value = tracing.constant_of(array)
        return None if isinstance(value, core.Tracer) else _of_array(value)
    _find(eqn)
    return _of_result(eqn, array)


def _find(last: Any) -> None:
    """Have all equations before one known. Not by recursion: programs are long."""
    waiting = [last]
    while waiting:
        eqn = waiting[-1]
        before = [
            p
            for x in tracing.read_by(eqn)
            if (p := tracing.maker_of(x)) is not None and id(p) not in _known
        ]
        if id(eqn) in _known or eqn.primitive is transfer_p or not before:
            waiting.pop()
            if id(eqn) not in _known:
                gone = weakref.ref(eqn, functools.partial(_forget, id(eqn)))
                _known[id(eqn)] = gone, _of_equation(eqn)
        else:
            waiting += before


def _forget(key: int, _: Any) -> None:
    _known.pop(key, None)


def _of_equation(eqn: Any) -> Shared | None:
    """Return which processes share the results of an equation, None for a transfer."""
    if eqn.primitive is transfer_p:
        return None
    if eqn.primitive.name == "sharding_constraint":
        found = _of_sharding(eqn.params["sharding"])
        if found is not None:
            return found
    operands = [
        _of_result(p, x) if (p := tracing.maker_of(x)) is not None else _of_array(x)
        for x in tracing.read_by(eqn)
    ]
    return min((s for s in operands if s is not None), key=lambda s: len(s.own), default=None)


def _of_result(eqn: Any, tracer: Any) -> Shared | None:
    if eqn.primitive is not transfer_p:
        return _known[id(eqn)][1]
    side = eqn.params["out_sides"][tracing.result_number(eqn, tracer)]
    mesh = eqn.params["mesh"]
    return None if len(side.own) == len(mesh.axis_names) else Shared(mesh, side.own)


Body = Callable[..., tuple[Any, ...]]
