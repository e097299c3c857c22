"""Parameters of a fully sharded module for processes that each have a batch of their own.

A plain tensor that goes into a module whose mesh spans processes is the process' own batch, as in
PyTorch: the module gathers its parameters into ordinary local tensors, and everything between is
local. One program gathers all parameters of a module, and one averages their gradients over the
processes and gives each its parts. Both are collectives like any other (``programs``): they meet,
and they say who is missing.

A parameter that tensor parallelism has cut is gathered along the mesh of ``fully_shard`` alone.
What comes of it is a DTensor on the mesh of the processes that share one batch (``own_submesh``).

While a program is captured both are transfers of it (``transfers``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec

from torchlike._core import modes
from torchlike._runtime import targets
from torchlike.autograd.function import Function
from torchlike.distributed.collective_kernels import AXIS, all_reduce, reduce_scatter
from torchlike.distributed.device_mesh import DeviceMesh
from torchlike.distributed.groups import ProcessGroup
from torchlike.distributed.programs import run
from torchlike.distributed.scoped_programs import transfer
from torchlike.distributed.tensor._moves import moved
from torchlike.distributed.tensor._specs import entries_of
from torchlike.distributed.transfers import Side, own_side, side_of
from torchlike.distributed.works import settle
from torchlike.tensor import Tensor, wrap

_MAKE = jax.make_array_from_single_device_arrays


class Place(NamedTuple):
    """How a parameter lies: its sharding, the dimension that is gathered (None where none is), and
    the sharding of what is gathered (None where that is a local tensor)."""

    sharding: NamedSharding
    dim: int | None
    line: NamedSharding | None


class Ranks:
    """The processes of a mesh of one dimension (parts), or of two (replicas, parts)."""

    def __init__(self, mesh: DeviceMesh) -> None:
        """Raise NotImplementedError where a process has several of the devices, or the processes
        stand in another order than their ranks."""
        devices = mesh.jax_mesh.devices.reshape(-1)
        if len({d.process_index for d in devices}) < len(devices):
            raise NotImplementedError(
                "a plain tensor as input of a fully sharded module whose mesh spans processes with "
                "several devices each: make batches (inputs and targets) global with "
                "DTensor.from_local(x, mesh, [Shard(0)])"
            )
        self.axes = mesh.axes[-1]
        self._mesh = mesh.jax_mesh
        self._of_mesh = {a for axes in mesh.axes for a in axes}
        others = tuple(a for a in mesh.jax_mesh.axis_names if a not in self._of_mesh)
        whole = mesh._get_root_mesh()
        #: The devices that compute with this process' batch, where it does not do so alone.
        self._line = (
            whole._of_axes(tuple((a,) for a in others), others).own_submesh() if others else None
        )
        self.parts = mesh.get_group(mesh.ndim - 1)
        several = mesh.ndim > 1 and mesh.size(0) > 1
        self.replicas = mesh.get_group(0) if several else None
        line = mesh._own_ranks().reshape(-1, self.parts.size())
        if self.parts.ranks not in line.tolist():
            raise NotImplementedError(
                f"fully_shard(mesh={mesh}): ranks that are not in rising order along it"
            )

    def place(self, sharding: NamedSharding, mesh: DeviceMesh, ndim: int) -> Place:
        """Return how a parameter lies: ``mesh`` has other dimensions than those of ``fully_shard``
        where a tensor-parallel style put it there first. NotImplementedError where another
        dimension of the mesh cuts the parts that are to be gathered."""
        entries = entries_of(sharding, ndim)
        cut = [d for d, axes in enumerate(entries) if set(axes) & self._of_mesh]
        kept = [tuple(a for a in axes if a not in self._of_mesh) for axes in entries]
        if any(entries[d] != (*kept[d], *self.axes) for d in cut):
            raise NotImplementedError(
                "a plain tensor as input of a fully sharded module whose parts tensor parallelism "
                "has cut again: call parallelize_module before fully_shard, or make batches "
                "(inputs and targets) global with DTensor.from_local(x, mesh, [Shard(0), "
                "Replicate()])"
            )
        line = None
        if self._line is not None and not {a for axes in mesh.axes for a in axes} <= self._of_mesh:
            spec = PartitionSpec(*[e if len(e) > 1 else e[0] if e else None for e in kept])
            line = NamedSharding(self._line.jax_mesh, spec)
        return Place(sharding, cut[0] if cut else None, line)

    def whole(
        self, arrays: Sequence[Any], places: Sequence[Place], dtype: Any, again: bool = False
    ) -> list[Any]:
        """Gather the whole of each parameter, of this process alone or of its line; ``dtype``: what
        floating-point values are cast to before they travel; ``again``: they were gathered before,
        and a program is not to keep that."""
        if modes.is_capturing():
            return self._whole_captured(arrays, places, dtype, again)
        dims = tuple(p.dim for p in places)

        def body(*parts: Any) -> tuple[Any, ...]:
            return tuple(
                x if d is None else lax.all_gather(x, AXIS, axis=d, tiled=True)
                for x, d in zip([_cast(x, dtype) for x in parts], dims, strict=True)
            )

        own = [a.addressable_data(0) for a in arrays]
        shapes = [
            a.shape if p.line is None else p.line.shard_shape(a.shape)
            for a, p in zip(arrays, places, strict=True)
        ]
        found = _shaped(_run(self.parts, "parameters", (dims, dtype), own, body), shapes)
        return [
            x if p.line is None else _MAKE(a.shape, p.line, [x])
            for x, a, p in zip(found, arrays, places, strict=True)
        ]

    def averaged(
        self, gradients: Sequence[Any], places: Sequence[Place], dtypes: Sequence[Any], reduced: Any
    ) -> list[Any]:
        """Average the processes' gradients, each as its parameter lies. ``dtypes``: those of the
        parameters; ``reduced``: that of the sum."""
        if modes.is_capturing():
            return self._averaged_captured(gradients, places, dtypes, reduced)
        n = self.parts.size()
        count = n * (self.replicas.size() if self.replicas is not None else 1)
        dims, kinds = tuple(p.dim for p in places), tuple(d.name for d in dtypes)
        summed, scattered = all_reduce("SUM", n), reduce_scatter("SUM", n)

        def body(*given: Any) -> tuple[Any, ...]:
            found = []
            for g, d in zip(given, dims, strict=True):
                x = _cast(g, reduced)
                if d is None:
                    (x,) = summed(x)
                else:
                    rows = jnp.moveaxis(
                        x.reshape(*x.shape[:d], n, x.shape[d] // n, *x.shape[d + 1 :]), d, 0
                    )
                    (x,) = scattered(rows)
                found.append(x)
            return _ended(found) if self.replicas is None else tuple(found)

        def _ended(found: Sequence[Any]) -> tuple[Any, ...]:
            return tuple((x / count).astype(k) for x, k in zip(found, kinds, strict=True))

        statics = (dims, kinds, count, reduced, self.replicas is None)
        shapes = [p.sharding.shard_shape(g.shape) for p, g in zip(places, gradients, strict=True)]
        own = [
            g if p.line is None else moved(wrap(g), p.line)._read().addressable_data(0)
            for g, p in zip(gradients, places, strict=True)
        ]
        found = _run(self.parts, "gradients of parts", statics, own, body)
        if self.replicas is not None:
            over = all_reduce("SUM", self.replicas.size())
            found = _run(
                self.replicas,
                "gradients of replicas",
                statics,
                found,
                lambda *given: _ended(over(*given)),
            )
        found = _shaped(found, shapes)
        return [
            _MAKE(g.shape, p.sharding, [x])
            for g, p, x in zip(gradients, places, found, strict=True)
        ]

    # -- in a captured program -----------------------------------------------------------------

    def _whole_captured(
        self, arrays: Sequence[Any], places: Sequence[Place], dtype: Any, again: bool
    ) -> list[Any]:
        axes, dims = self.axes, tuple(p.dim for p in places)

        def body(*parts: Any, met: bool) -> tuple[Any, ...]:
            if again:  # or XLA would take it for the same all-gather as the first
                parts = lax.optimization_barrier(parts)
            return tuple(
                x if d is None else lax.all_gather(x, axes, axis=d, tiled=True)
                for x, d in zip([_cast(x, dtype) for x in parts], dims, strict=True)
            )

        shared = [side_of(p.sharding, a.shape)[1] for a, p in zip(arrays, places, strict=True)]
        kinds = [
            dtype if dtype is not None and jnp.issubdtype(a.dtype, jnp.floating) else a.dtype
            for a in arrays
        ]
        return transfer(
            modes.the_capture(),
            self._mesh,
            f"parameters of {len(arrays)}",
            arrays,
            body,
            shared,
            self._sides([a.shape for a in arrays], places),
            kinds,
            gathers=True,
        )

    def _averaged_captured(
        self, gradients: Sequence[Any], places: Sequence[Place], dtypes: Sequence[Any], reduced: Any
    ) -> list[Any]:
        axes, dims = self.axes, tuple(p.dim for p in places)
        sizes = self._mesh.shape
        replicas = tuple(a for a in self._mesh.axis_names if a in self._of_mesh - {*axes})
        n, count = (math.prod(sizes[a] for a in found) for found in (axes, self._of_mesh))

        def body(*given: Any, met: bool) -> tuple[Any, ...]:
            found = []
            for g, d, kind in zip(given, dims, dtypes, strict=True):
                x = _cast(g, reduced)
                x = lax.psum(x, axes) if d is None else _scattered(x, axes, n, d, met)
                if replicas:
                    x = lax.psum(x, replicas)
                found.append((x / count).astype(kind))
            return tuple(found)

        shapes = [g.shape for g in gradients]
        shared = [side_of(p.sharding, s)[1] for s, p in zip(shapes, places, strict=True)]
        return transfer(
            modes.the_capture(),
            self._mesh,
            f"gradients of {len(gradients)}",
            gradients,
            body,
            self._sides(shapes, places),
            shared,
            dtypes,
        )

    def _sides(self, shapes: Sequence[tuple[int, ...]], places: Sequence[Place]) -> list[Side]:
        """Return how gathered parameters lie."""
        return [
            own_side(self._mesh, s) if p.line is None else side_of(p.line, s)[1]
            for s, p in zip(shapes, places, strict=True)
        ]


def _scattered(x: Any, axes: tuple[str, ...], n: int, dim: int, met: bool) -> Any:
    """Return this process' part, of ``n`` along ``dim``, of the sum of all. XLA's reduce-scatter
    between CPUs gives up where ranks arrive 30 s apart, which those that ``met`` in the program do
    not."""
    if met or not targets.is_cpu():
        return lax.psum_scatter(x, axes, scatter_dimension=dim, tiled=True)
    parts = *x.shape[:dim], n, x.shape[dim] // n, *x.shape[dim + 1 :]
    return lax.all_to_all(x, axes, dim, dim, tiled=True).reshape(parts).sum(dim)


def _cast(x: Any, dtype: Any) -> Any:
    return x if dtype is None or not jnp.issubdtype(x.dtype, jnp.floating) else x.astype(dtype)


def _shaped(arrays: Sequence[Any], shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    return [a if a.shape == s else a.reshape(s) for a, s in zip(arrays, shapes, strict=True)]


def _run(
    group: ProcessGroup,
    name: str,
    statics: tuple[Any, ...],
    arrays: Sequence[Any],
    body: Callable[..., tuple[Any, ...]],
) -> Sequence[Any]:
    results, call = run(group, name, statics, arrays, body)
    assert call is not None
    settle(results, call, None)
    return results


class _Gathered(Function):
    """Parameters as local tensors; the gradients of all of them are averaged at once."""

    @staticmethod
    def forward(
        ctx: Any, ranks: Ranks, places: Sequence[Place], dtype: Any, reduced: Any, *ps: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        ctx.ranks, ctx.places, ctx.reduced = ranks, places, reduced
        ctx.dtypes = [p.dtype.numpy for p in ps]
        found = [wrap(a) for a in ranks.whole([p._read() for p in ps], places, dtype)]
        ctx.mark_non_differentiable(
            *[w for w, p in zip(found, ps, strict=True) if not p.requires_grad]
        )
        return tuple(found)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Any, ...]:
        wanted = ctx.needs_input_grad[4:]
        given = {i: g._read() for i, g in enumerate(gradients) if g is not None and wanted[i]}
        there, arrays = list(given), list(given.values())
        found: list[Tensor | None] = [None] * len(gradients)
        if there:
            made = ctx.ranks.averaged(
                arrays, [ctx.places[i] for i in there], [ctx.dtypes[i] for i in there], ctx.reduced
            )
            for i, array in zip(there, made, strict=True):
                found[i] = wrap(array)
        return None, None, None, None, *found


def gathered(
    ranks: Ranks, parameters: Sequence[Tensor], places: Sequence[Place], dtype: Any, reduced: Any
) -> tuple[Tensor, ...]:
    """Gather the parameters of a module as local tensors, differentiably."""
    return _Gathered.apply(ranks, places, dtype, reduced, *parameters)
