"""Programs over the devices of a mesh, in which some values are all processes' and some their own.

The equations of a captured program are told apart by whose values they compute (`transfers`), and
those that go together are one region: of all processes' values an ordinary part of the program,
where XLA finds the communication; of a line's or a process' own values a ``jax.shard_map`` that is
manual along the axes on which the processes differ. Transfers stand in regions of a process' own
values, where their collectives are written out. Between regions an own value is its process' part
of a global array along dimension 0, so nothing is copied.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import core, lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from torchlike._runtime.jax_private import tracing
from torchlike.distributed.captured import DIGEST, RankProgram, RanksOfCapture, programs_on_mesh
from torchlike.distributed.collective_kernels import force_async_dispatch
from torchlike.distributed.device_mesh import mesh_of
from torchlike.distributed.equations import Axes
from torchlike.distributed.flat_programs import Flat, FlatStep, Value, regions
from torchlike.distributed.groups import GroupMember, ProcessGroup
from torchlike.distributed.transfers import Body, Side, own_side, side_of, transfer_p


def transfer(
    capture: Any,
    mesh: Mesh,
    name: str,
    arrays: Sequence[Any],
    body: Body,
    in_sides: Sequence[Side],
    out_sides: Sequence[Side],
    dtypes: Sequence[Any],
    gathers: bool = False,
) -> list[Any]:
    """Trace a transfer into the program that ``capture`` makes, and return its results.

    ``body`` takes the parts that this process holds, and whether the processes have met before in
    the program, as those that ``gathers`` make them. JitCaptureError where the program is one of
    other ranks, or of another mesh.
    """
    ranks = capture.join_ranks(lambda: RanksOfCapture(_group_of(mesh)))
    devices = [d.process_index for d in mesh.devices.flat]
    is_fit = ranks.mesh in (None, mesh) and ranks.widen(_group_of(mesh))
    if is_fit:
        ranks.mesh = mesh
        is_fit = ranks.group.ranks == devices and ranks.grid() is not None
    if not is_fit:
        capture.refuse(
            f"{name} over the ranks {devices} of a mesh, where the program runs on the ranks "
            f"{ranks.group.ranks}{'' if ranks.mesh is None else ' of another mesh'},",
            "one mesh, with ranks in rising order, in each compiled function",
        )
    ranks.called.append(name)
    return transfer_p.bind(
        *arrays,
        name=name,
        mesh=mesh,
        body=body,
        in_sides=tuple(in_sides),
        out_sides=tuple(out_sides),
        dtypes=tuple(dtypes),
        gathers=gathers,
    )


def _group_of(mesh: Mesh) -> ProcessGroup:
    devices = [d.process_index for d in mesh.devices.flat]
    world = GroupMember.WORLD
    if world is not None and world.ranks == devices:
        return world
    if len(devices) == mesh.devices.shape[-1]:
        return mesh_of(mesh).get_group(mesh.devices.ndim - 1)
    raise NotImplementedError(
        f"a compiled step over a mesh of the ranks {devices}, which are some of the world's: use "
        "a mesh of all ranks, or of one dimension"
    )


class _Made(NamedTuple):
    """Whose a result is, and of how many dimensions."""

    own: tuple[str, ...]
    ndim: int


class ScopedProgram(RankProgram):
    """A function of shared and own arrays with transfers in it, compiled over the devices of a
    mesh. A call takes and gives DTensors' arrays as they are, and this process' own. Errors as of
    `RankProgram`; RuntimeError for an own tensor beside a shared one."""

    def __init__(
        self,
        mesh: Mesh,
        axes: Axes,
        sizes: dict[str, int],
        group: ProcessGroup,
        what: str,
        function: Callable[..., Any],
        ndims: Sequence[int],
        donated: tuple[int, ...],
        drawn: frozenset[int],
    ) -> None:
        super().__init__(group, what, function, ndims, donated, drawn)
        self._mesh = mesh
        #: Of each axis over ranks in the function those of the mesh, and how many ranks it has.
        self._axes, self._sizes = axes, sizes
        self._all = tuple(mesh.axis_names)
        self._spread = NamedSharding(mesh, PartitionSpec(self._all))
        self._given: list[Side] = []
        self._shardings: list[NamedSharding] = []
        self._made: list[_Made] = []

    def _lower(self, args: Any) -> None:
        leaves, structure = jax.tree_util.tree_flatten(args)
        avals = [jax.typeof(x) for x in leaves]
        self._avals = [core.ShapedArray(a.shape, a.dtype, weak_type=a.weak_type) for a in avals]
        self._given = [self._side(x) for x in leaves]
        flat, results = self._flattened(structure)
        donated = tuple(
            1 + i for i in self._donated if self._avals[i].ndim or not self._given[i].own
        )

        def program(digest: Any, *given: Any) -> tuple[Any, ...]:
            def met(h: Any) -> tuple[Any, ...]:
                return lax.all_gather(h, self._all, tiled=True), force_async_dispatch(self._all)

            digests = jax.shard_map(
                met,
                mesh=self._mesh,
                in_specs=PartitionSpec(self._all),
                check_vma=False,
                out_specs=PartitionSpec(self._all),
            )(digest)
            return (*_Evaluation(self._mesh, flat, given).of(results), *digests)

        self._made = [
            _Made(v.own or () if v.own is not None else self._all, v.aval.ndim)
            if isinstance(v, Value)
            else _Made(self._all, 0)
            for v in results
        ]
        self._shardings = [
            NamedSharding(self._mesh, joined(s, a.ndim))
            for s, a in zip(self._given, self._avals, strict=True)
        ]
        whole = [
            jax.ShapeDtypeStruct(
                self._whole_shape(DIGEST.shape), DIGEST.dtype, sharding=self._spread
            )
        ]
        whole += [
            jax.ShapeDtypeStruct(
                across(self._mesh, s.own, a.shape), a.dtype, weak_type=a.weak_type, sharding=at
            )
            for s, a, at in zip(self._given, self._avals, self._shardings, strict=True)
        ]
        self._take(jax.jit(program, donate_argnums=donated).lower(*whole))

    def _side(self, x: Any) -> Side:
        """Return how an argument lies on the mesh. NotImplementedError for one on another mesh."""
        sharding = getattr(x, "sharding", None)
        if isinstance(sharding, NamedSharding) and sharding.mesh.size > 1:
            mesh, side = side_of(sharding, x.shape)
            if mesh != self._mesh:
                raise NotImplementedError(
                    f"{self._what}: a DTensor on {mesh_of(sharding.mesh)} in a program on "
                    f"{mesh_of(self._mesh)}. Use instead: slices of one mesh (mesh['tp'])"
                )
            return side
        return own_side(self._mesh, getattr(x, "shape", ()))

    def _flattened(self, structure: Any) -> tuple[Flat, list[Any]]:
        """Return the function's steps, and its results among them."""

        def function(*given: Any) -> Any:
            return self._function(*jax.tree_util.tree_unflatten(structure, given))

        with tracing.over_axes(list(self._sizes.items())):
            closed = jax.make_jaxpr(function)(
                *[
                    jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type)
                    for a in self._avals
                ]
            )
        flat = Flat(self._mesh, self._axes)
        flat.inputs = [
            Value(a, s.own, i in self._drawn)
            for i, (a, s) in enumerate(zip(self._avals, self._given, strict=True))
        ]
        return flat, flat.add(closed.jaxpr, closed.consts, flat.inputs)

    def _placed(self, leaves: Sequence[Any]) -> list[jax.Array]:
        found = []
        for x, aval, side, at in zip(
            leaves, self._avals, self._given, self._shardings, strict=True
        ):
            if side.own == self._all:
                found.append(self._whole(x, aval))
            elif side.own:
                part = x.addressable_data(0)
                found.append(
                    jax.make_array_from_single_device_arrays(
                        across(self._mesh, side.own, aval.shape),
                        at,
                        [part if aval.ndim else part.reshape(1)],
                    )
                )
            else:
                found.append(x if x.sharding == at else jax.device_put(x, at))
        return found

    def _delivered(self, results: Sequence[jax.Array]) -> list[Any]:
        return [self._delivered_one(r, m) for r, m in zip(results, self._made, strict=True)]

    def _delivered_one(self, r: jax.Array, made: _Made) -> jax.Array:
        if not made.own:
            return r
        part = r.addressable_data(0)
        if made.own == self._all:
            return part
        part = part if made.ndim else part.reshape(())
        sharding = NamedSharding(mesh_of_those(self._mesh, made.own), PartitionSpec())
        return jax.make_array_from_single_device_arrays(part.shape, sharding, [part])


def mesh_of_those(mesh: Mesh, own: Sequence[str]) -> Mesh:
    """Return the mesh of the processes that share a value: of all, or of this process' line."""
    if not own:
        return mesh
    others = tuple(a for a in mesh.axis_names if a not in own)
    return mesh_of(mesh)._of_axes(tuple((a,) for a in others), others).own_submesh().jax_mesh


def _on_mesh(mesh: Mesh, axes: Axes, sizes: dict[str, int]) -> Callable[..., RankProgram]:
    return functools.partial(ScopedProgram, mesh, axes, sizes)


programs_on_mesh(_on_mesh)


def across(mesh: Mesh, own: Sequence[str], shape: Sequence[int]) -> tuple[int, ...]:
    """Return the size of the global array whose parts are own values of a size."""
    if not own:
        return tuple(shape)
    n = functools.reduce(lambda n, a: n * mesh.shape[a], own, 1)
    return (n * shape[0], *shape[1:]) if shape else (n,)


def joined(side: Side, ndim: int) -> PartitionSpec:
    """Return the partition spec of the global array of `across`: along the own axes in dimension 0,
    and as ``side.spec`` says."""
    if not side.own:
        return side.spec
    entries: list[tuple[str, ...]]
    entries = [(e,) if isinstance(e, str) else tuple(e or ()) for e in side.spec]
    entries += [()] * (max(ndim, 1) - len(entries))
    entries[0] = (*side.own, *entries[0])
    return PartitionSpec(*[e if len(e) > 1 else e[0] if e else None for e in entries])


class _Evaluation:
    """One trace of the steps of a program, region by region."""

    def __init__(self, mesh: Mesh, flat: Flat, given: Sequence[Any]) -> None:
        self._mesh, self._flat = mesh, flat
        self._all = tuple(mesh.axis_names)
        #: Of each value the global array, as `across` says.
        self._arrays: dict[Value, Any] = dict(zip(flat.inputs, given, strict=True))

    def of(self, results: Sequence[Any]) -> list[Any]:
        """Run the regions, and return the results' arrays: of own numbers ones without a
        dimension."""
        wanted = {r for r in results if isinstance(r, Value)}
        for own, steps in regions(self._flat.steps, set(self._flat.inputs)):
            self._run(own, steps, wanted)
        return [self._result(r) for r in results]

    def _result(self, r: Any) -> Any:
        """Return a result under its sharding: what all share lies where XLA likes; else each
        process has to have all of its own."""
        if isinstance(r, Value) and r.own == ():
            return self._arrays[r]
        spec, array = PartitionSpec(), r
        if isinstance(r, Value):
            if r.own is None or (r.own == self._all and not r.aval.ndim):
                array = self._same(r)
            else:
                spec = joined(Side(r.own, spec, ()), r.aval.ndim)
                array = self._arrays[r]
        return lax.with_sharding_constraint(jnp.asarray(array), NamedSharding(self._mesh, spec))

    def _manual(self, own: Sequence[str], function: Any, ins: Any, outs: Any) -> Any:
        return jax.shard_map(
            function,
            mesh=self._mesh,
            in_specs=tuple(ins),
            out_specs=tuple(outs),
            axis_names=set(own),
            check_vma=False,
        )

    def _same(self, x: Value) -> Any:
        """Return an own value that is taken for the same in all processes, without
        communication."""
        if not x.own:
            return self._arrays[x]
        spec = joined(Side(x.own, PartitionSpec(), ()), x.aval.ndim)
        run = self._manual(x.own, lambda v: (v.reshape(x.aval.shape),), [spec], [PartitionSpec()])
        return run(self._arrays[x])[0]

    def _run(self, own: tuple[str, ...], steps: Sequence[FlatStep], wanted: set[Value]) -> None:
        """Evaluate a region, and keep the results that steps outside of it, or ``wanted``, need."""
        inside = set(map(id, steps))
        later = wanted | {
            x
            for s in self._flat.steps
            if id(s) not in inside
            for x in s.operands
            if isinstance(x, Value)
        }
        made = [
            (r, side)
            for s in steps
            for r, side in zip(s.results, s.out_sides, strict=True)
            if r in later
        ]
        reads: dict[tuple[Value, Side], Any] = {}
        produced = {r for s in steps for r in s.results if (r.own or ()) == own}
        for s in steps:
            for x, side in zip(s.operands, s.in_sides, strict=True):
                if isinstance(x, Value) and x not in produced:
                    reads.setdefault((x, side), None)

        def region(*arrays: Any) -> tuple[Any, ...]:
            parts = dict(zip(reads, arrays, strict=True))
            env: dict[Value, Any] = {}
            for s in steps:
                args = [
                    x
                    if not isinstance(x, Value)
                    else env[x]
                    if x in produced
                    else parts[x, side].reshape(x.aval.shape)
                    if not x.aval.ndim
                    else parts[x, side]
                    for x, side in zip(s.operands, s.in_sides, strict=True)
                ]
                env.update(zip(s.results, s.evaluate(args), strict=True))
            return tuple(
                env[r].reshape(1) if side.own and not r.aval.ndim else env[r] for r, side in made
            )

        found = [self._read(x, side) for x, side in reads]
        if own:
            ins = [
                joined(side, x.aval.ndim) if x.own == side.own else side.spec for x, side in reads
            ]
            outs = [joined(side, r.aval.ndim) for r, side in made]
            region = self._manual(own, region, ins, outs)
        self._arrays.update(zip([r for r, _ in made], region(*found), strict=True))

    def _read(self, x: Value, side: Side) -> Any:
        return self._arrays[x] if x.own == side.own else self._same(x)
