"""Collectives inside a program that ``torchlike.jit`` captures: one program over the ranks.

While a step is captured, a collective is the kernel that it always is (``collective_kernels``),
traced where it stands. The program, and its backward, are then compiled as
``jit(shard_map(program))`` over the group's devices, and every rank's cells are its parts of global
arrays whose leading axis is spread over the ranks: nothing is copied. (Declared as replicated, XLA
might take all ranks' values for the same.) The ranks run one program, which they see by its text
when each first calls it: what Python knows of a rank and writes into the program is an error on all
of them.

With collectives of several groups it is a program over a grid of ranks, along whose axes the groups
are `rank_rows`; ``scoped_programs`` compiles it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import core, lax
from jax.sharding import NamedSharding, PartitionSpec

from torchlike._runtime import x64
from torchlike._runtime.jax_private import tracing
from torchlike._runtime.jax_private.primitives import convert
from torchlike._runtime.rendezvous import coordination
from torchlike._runtime.value_check import first_word
from torchlike.distributed.collective_kernels import AXIS, force_async_dispatch
from torchlike.distributed.debugging import DebugLevel, get_debug_level
from torchlike.distributed.equations import Axes, axes_in, traced_over
from torchlike.distributed.groups import GroupMember, ProcessGroup, World, behind
from torchlike.distributed.rank_rows import RankRows, axes_along, grid_of, of_one_kind, rows_among
from torchlike.distributed.transfers import own_side, transfer_p
from torchlike.distributed.works import CollectiveCall, agree, settle

#: Programs that the members of a group have seen to be the same: ranks, and a digest of the text.
_agreed: set[tuple[tuple[int, ...], str]] = set()
#: How many collectives of a program an error names.
_SHOWN = 3


#: What makes programs over a mesh of a mesh, axes and sizes.
_on_mesh: list[Callable[[Any, Axes, dict[str, int]], Callable[..., RankProgram]]] = []


def programs_on_mesh(
    make: Callable[[Any, Axes, dict[str, int]], Callable[..., RankProgram]],
) -> None:
    """Have ``make(mesh, axes, sizes)`` give what makes a program over a mesh, as `RankProgram` does
    over a group: ``axes`` are the mesh's for each axis of the trace, of ``sizes`` ranks."""
    _on_mesh.append(make)


class RanksOfCapture:
    """The group over whose ranks a capture's program runs, and what they call in it."""

    def __init__(self, group: ProcessGroup) -> None:
        self.group = group
        self.called: list[str] = []
        #: The mesh of those of its values that several ranks share (``scoped_programs``).
        self.mesh: Any = None
        #: The groups of its collectives, by the name of the axis that each is in the trace.
        self.groups: dict[str, ProcessGroup] = {}

    def axis_of(self, group: ProcessGroup) -> str | None:
        """Return the name of the axis that a group is in the trace, recording the group at its
        first use. None where there is no grid of ranks in which this group and those before are
        rows."""
        for name, known in self.groups.items():
            if known.ranks == group.ranks:
                return name
        before = self.group, dict(self.groups)
        name = AXIS if not self.groups else f"{_OTHER}{len(self.groups)}"
        self.groups[name] = group
        if self.widen(group) and (not self._is_on_grid() or self.grid() is not None):
            return name
        self.group, self.groups = before
        return None

    def widen(self, group: ProcessGroup) -> bool:
        """Have the program run on the ranks of another group as well: whether there is a group of
        all of them."""
        if group.ranks == self.group.ranks:
            return True
        unions = [sorted(r for row in of_one_kind(g) for r in row) for g in (self.group, group)]
        for ranks in (self.group.ranks, group.ranks, *unions):
            if all(rows_among(ranks, g) is not None for g in (self.group, group)):
                found = _group_of(ranks)
                if found is not None:
                    self.group = found
                    return True
        return False

    def _is_on_grid(self) -> bool:
        return self.mesh is not None or any(
            g.ranks != self.group.ranks for g in self.groups.values()
        )

    def grid(self) -> tuple[Any, Axes] | None:
        """Return the mesh that the program runs on, and for each axis of the trace those of the
        mesh. None where the groups are no rows of it."""
        ranks = self.group.ranks
        found: dict[str, RankRows] = {}
        for name, group in self.groups.items():
            rows = rows_among(ranks, group)
            if rows is None:
                return None
            found[name] = rows
        mesh = self.mesh if self.mesh is not None else grid_of(ranks, list(found.values()))
        if mesh is None:
            return None
        axes = {
            name: along
            for name, rows in found.items()
            if (along := axes_along(mesh, rows)) is not None
        }
        return (mesh, axes) if len(axes) == len(found) else None

    def take_part_in(self, eqns: Sequence[Any]) -> bool:
        """Return whether equations of a program include collectives (or ask for the rank)."""
        return any(e.primitive is transfer_p or speaks_of_ranks(e) for e in eqns)

    def agreement(self, eqns: Sequence[Any]) -> Callable[[Sequence[Any]], Any]:
        """Return a function that makes of each rank's words of checks of values
        (`_jit/program/checks.py`) the one of all: the first that says something.

        A program without collectives of its own gets none for it.
        """
        if not self.take_part_in(eqns):
            return _first_of
        return self._agreed_on_grid if self._is_on_grid() else self._agreed_in_group

    def _agreed_in_group(self, words: Sequence[Any]) -> Any:
        with tracing.over_axes([(AXIS, self.group.size())]):
            return first_word(lax.all_gather(_traced(_first_of(words)), AXIS))

    def _agreed_on_grid(self, words: Sequence[Any]) -> Any:
        """Return the word as four numbers of each rank's own, which may stand beside what ranks
        share."""
        found = self.grid()
        assert found is not None  # or it had been refused
        mesh, _ = found

        def body(*words: Any, met: bool) -> tuple[Any, ...]:
            return tuple(first_word(lax.all_gather(_first_of(words), tuple(mesh.axis_names))))

        n = words[0].size
        return transfer_p.bind(
            *words,
            name="checks of values",
            mesh=mesh,
            body=body,
            in_sides=(None,) * len(words),
            out_sides=(own_side(mesh, ()),) * n,
            dtypes=(words[0].dtype,) * n,
            gathers=False,
        )

    def compiled(
        self,
        name: str,
        function: Callable[..., Any],
        outputs: Sequence[Any],
        donated: tuple[int, ...],
        drawn: frozenset[int],
    ) -> RankProgram:
        """Return the program over the ranks that stands for ``jax.jit(function,
        donate_argnums=donated)``. ``outputs``: the avals of its results; ``drawn``: which arguments
        are random numbers."""
        shown = self.called[:_SHOWN]
        if len(self.called) > _SHOWN:
            shown.append(f"{len(self.called) - _SHOWN} more")
        what = f"the compiled {name} ({', '.join(shown)})"
        ndims = [o.ndim for o in outputs]
        if not self._is_on_grid():
            return RankProgram(self.group, what, function, ndims, donated, drawn)
        found = self.grid()
        assert found is not None  # or it had been refused
        sizes = {name: g.size() for name, g in self.groups.items()}
        program = _on_mesh[-1](*found, sizes)
        return program(self.group, what, function, ndims, donated, drawn)


def _first_of(words: Sequence[Any]) -> Any:
    return first_word(jnp.stack(words))


#: With what the names of the other groups' axes begin.
_OTHER = f"{AXIS} of group "


def _group_of(ranks: Sequence[int]) -> ProcessGroup | None:
    """Return a group of these ranks, the world before others."""
    known = [GroupMember.WORLD, *[World.groups[n] for n in sorted(World.groups)]]
    return next((g for g in known if g is not None and g.ranks == list(ranks)), None)


def speaks_of_ranks(eqn: Any) -> bool:
    """Return whether an equation is a collective over the ranks, or asks for the rank."""
    return any(x == AXIS or x.startswith(_OTHER) for x in axes_in(eqn.params))


def collective(
    capture: Any,
    group: ProcessGroup,
    text: str,
    arrays: Sequence[Any],
    body: Callable[..., tuple[Any, ...]],
) -> Sequence[Any]:
    """Trace a collective into the program that ``capture`` makes, and return this rank's results of
    it.

    JitCaptureError where this group and those before it are no rows of one grid of ranks.
    """
    ranks = capture.join_ranks(lambda: RanksOfCapture(group))
    axis = ranks.axis_of(group)
    if axis is None:
        capture.refuse(
            f"{text} over the ranks {group.ranks}, where the program runs on the ranks "
            f"{ranks.group.ranks} of a collective before it,",
            "groups along the dimensions of one mesh (mesh.get_group()), or one group in each "
            "compiled function",
        )
    assert axis is not None
    ranks.called.append(text)
    given = list(map(_traced, arrays))
    if axis != AXIS:
        return traced_over(AXIS, axis, group.size(), body, given)
    with tracing.over_axes([(AXIS, group.size())]):
        return body(*given)


def _traced(array: Any) -> Any:
    """Return an array as a traced value, which ``lax.psum`` takes for a rank's own. What it knows
    the value of it takes for a constant, the same on all ranks, and multiplies."""
    if isinstance(array, core.Tracer):
        return array
    return convert(array, array.dtype, getattr(array, "weak_type", False))


class RankProgram:
    """A function of a rank's arrays with collectives in it, compiled over the ranks of a group.

    A call gives this rank's results once the others have come: DistBackendError after the group's
    timeout, or where another rank is elsewhere; RuntimeError on all ranks where their programs
    differ.
    """

    def __init__(
        self,
        group: ProcessGroup,
        what: str,
        function: Callable[..., Any],
        ndims: Sequence[int],
        donated: tuple[int, ...],
        drawn: frozenset[int],
    ) -> None:
        self._group, self._what, self._drawn = group, what, drawn
        self._function, self._ndims, self._donated = x64.requiring(function), ndims, donated
        self._mesh = group.jax_mesh()
        self._spread = NamedSharding(self._mesh, PartitionSpec(AXIS))
        self._device = next(
            d for d in self._mesh.devices.flat if d.process_index == jax.process_index()
        )
        self._lowered: Any = None
        self._compiled: Any = None
        self._own_digest: Any = None
        self._text = self._digest = ""
        self._avals: list[Any] = []

    def lower(self, *args: Any) -> RankProgram:
        """Trace the program for such arguments, once, and return itself, not compiled yet."""
        if self._lowered is None:
            self._lower(args)
        return self

    def as_text(self) -> str:
        """Return the text of the program."""
        return self._lowered.as_text()

    def compile(self) -> Any:
        """Compile the program, once, and return what JAX compiled."""
        if self._compiled is None:
            self._compiled = self._lowered.compile()
        return self._compiled

    def _lower(self, args: Any) -> None:
        leaves, structure = jax.tree_util.tree_flatten(args)
        avals = [jax.typeof(x) for x in leaves]
        # Only a program's forward gives memory up, whose arguments are arrays.
        donated = tuple(1 + i for i in self._donated if avals[i].ndim)

        def program(digest: Any, *given: Any) -> tuple[Any, ...]:
            own = [x if a.ndim else x.reshape(()) for x, a in zip(given, avals, strict=True)]
            found = self._function(*jax.tree_util.tree_unflatten(structure, own))
            return (*found, lax.all_gather(digest, AXIS, tiled=True), force_async_dispatch())

        spec = PartitionSpec(AXIS)
        over_ranks = jax.shard_map(
            program,
            mesh=self._mesh,
            in_specs=spec,
            check_vma=False,
            out_specs=(*(spec if n else PartitionSpec() for n in self._ndims), spec, spec),
        )
        whole = [
            jax.ShapeDtypeStruct(
                self._whole_shape(a.shape), a.dtype, weak_type=a.weak_type, sharding=self._spread
            )
            for a in (DIGEST, *avals)
        ]
        self._avals = avals
        self._take(jax.jit(over_ranks, donate_argnums=donated).lower(*whole))

    def _take(self, lowered: Any) -> None:
        """Take ``lowered`` as the program, and compute the digest that ranks compare."""
        self._lowered = lowered
        self._digest = hashlib.sha256(lowered.as_text().encode()).hexdigest()[:12]
        self._text = f"{self._what}, program {self._digest}"
        self._own_digest = jax.device_put(
            np.array([int(self._digest, 16)], np.uint64), self._device
        )

    def _placed(self, leaves: Sequence[Any]) -> list[jax.Array]:
        """Return the arguments as the program takes them."""
        return [self._whole(x, aval) for x, aval in zip(leaves, self._avals, strict=True)]

    def _whole_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        n = self._group.size()
        return (n * shape[0], *shape[1:]) if shape else (n,)

    def _whole(self, x: Any, aval: Any) -> jax.Array:
        """Return the global array of which ``x`` is this rank's part."""
        if not isinstance(x, jax.Array):
            x = jax.device_put(np.asarray(x, aval.dtype).reshape(aval.shape or (1,)), self._device)
        elif len(x.sharding.device_set) > 1:
            raise NotImplementedError(
                f"{self._what}: a tensor on a mesh of devices (a DTensor) in a program with "
                "collectives of process groups. Use instead: the DTensor's own operations, which "
                "XLA makes collectives of, or the collectives outside of the compiled function"
            )
        elif not aval.shape:
            x = x.reshape(1)
        shape = self._whole_shape(aval.shape)
        return jax.make_array_from_single_device_arrays(shape, self._spread, [x])

    def __call__(self, *args: Any) -> list[Any]:
        leaves = jax.tree_util.tree_leaves(args)
        if any(isinstance(x, core.Tracer) for x in leaves):
            raise NotImplementedError(
                f"{self._what}: a transform (vmap, jacrev) of a program with collectives. Use "
                "instead: the transform inside the compiled function"
            )
        # Before anyone waits: XLA's collectives wait in the kernel.
        compiled = self.lower(*args).compile()
        call = CollectiveCall(self._group, self._text)
        key = tuple(self._group.ranks), self._digest
        if key not in _agreed or get_debug_level() is DebugLevel.DETAIL:
            agree(call, _HINT)
            _agreed.add(key)
        whole = [self._whole(self._own_digest, DIGEST), *self._placed(leaves)]
        *results, digests, last = compiled(*whole)
        settle([last.addressable_data(0)], call, None)
        self._check_digests(np.asarray(digests.addressable_data(0)), call)
        return self._delivered(results)

    def _delivered(self, results: Sequence[jax.Array]) -> list[Any]:
        """Return this rank's parts of the program's results."""
        return [r.addressable_data(0) for r in results]

    def _check_digests(self, digests: np.ndarray, call: CollectiveCall) -> None:
        """Raise DistBackendError where other ranks ran another program, which they had before."""
        own = int(self._digest, 16)
        others = [self._group.ranks[r] for r, digest in enumerate(digests) if digest != own]
        if others:
            coordination.give_up(call.text)
            raise call.failed(
                f"rank {', '.join(map(str, others))} ran another program; {behind(self._group)}"
                f"{_HINT}"
            )


#: What each rank tells the others in its program: the program's digest.
DIGEST = core.ShapedArray((1,), np.uint64)
_HINT = (
    ". All ranks have to run one program: what differs between them has to be in a tensor that is "
    "made outside of the compiled function (torch.tensor(dist.get_rank()) for the rank), not in "
    "Python's values, and their batches have to be of one shape"
)
