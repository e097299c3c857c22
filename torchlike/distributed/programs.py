"""Collectives as compiled programs: a function over the ranks, each of which has its own arrays.

A rank's array is its part of a global array whose leading axis is spread over the group's devices,
so no value is copied on the way in or out. Programs are kept by the members, the collective, and
the shapes; before one is used for the first time the members meet at the store and see that they
all ask for the same. They compile before they enter it: XLA's collectives wait in the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import jax
from jax import core
from jax.sharding import NamedSharding, PartitionSpec

from torchlike._core import modes
from torchlike._runtime.jax_private.arrays import of_parts
from torchlike.distributed import captured
from torchlike.distributed.collective_kernels import AXIS, force_async_dispatch
from torchlike.distributed.debugging import DebugLevel, get_debug_level
from torchlike.distributed.groups import ProcessGroup
from torchlike.distributed.works import CollectiveCall, Work, agree, settle
from torchlike.tensor import Tensor

_programs: dict[Hashable, CollectiveProgram] = {}

#: Results of so many bytes take the memory of operands that nobody else holds.
_LARGE = 16 << 20


class CollectiveProgram:
    """A compiled collective of one group's members on arrays of fixed shapes."""

    def __init__(
        self,
        group: ProcessGroup,
        text: str,
        body: Callable[..., Any],
        arrays: Sequence[Any],
        donates: bool,
    ) -> None:
        self.text, self.size = text, group.size()
        self._sharding = NamedSharding(group.jax_mesh(), PartitionSpec(AXIS))
        whole = [
            jax.ShapeDtypeStruct(self._shape(a), a.dtype, sharding=self._sharding) for a in arrays
        ]
        spec = PartitionSpec(AXIS)

        def weighty(*arrays: Any) -> tuple[Any, ...]:
            return (*body(*arrays), force_async_dispatch())

        over_ranks = jax.shard_map(
            weighty, mesh=group.jax_mesh(), in_specs=spec, out_specs=spec, check_vma=False
        )
        donated = tuple(range(len(whole))) if donates else ()
        self._compiled = jax.jit(over_ranks, donate_argnums=donated).lower(*whole).compile()
        self._avals = [core.ShapedArray(w.shape, w.dtype) for w in whole]

    def _shape(self, array: Any) -> tuple[int, ...]:
        return (array.shape[0] * self.size, *array.shape[1:])

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """Run the program on this rank's arrays, and return its results, which may not be there
        yet. They are committed to their device where an array is: what is computed of them needs no
        second program then."""
        whole = [self._global(aval, a) for aval, a in zip(self._avals, arrays, strict=True)]
        own = [result.addressable_data(0) for result in self._compiled(*whole)[:-1]]
        if any(a.committed for a in arrays):
            return own
        return [of_parts(a.aval, a.sharding, [a], committed=False) for a in own]

    def _global(self, aval: Any, array: Any) -> jax.Array:
        """Make the global array of which this rank has a part."""
        return of_parts(aval, self._sharding, [array], committed=True)


def run(
    group: ProcessGroup,
    name: str,
    statics: tuple[Hashable, ...],
    arrays: Sequence[Any],
    body: Callable[..., tuple[Any, ...]],
    donates: bool = False,
) -> tuple[Sequence[Any], CollectiveCall | None]:
    """Begin a collective: this rank's results, and the call to wait for them by (None while a
    program is captured, of which it becomes a part).

    ``body`` takes each rank's arrays, which have an axis at least, and gives a tuple of such; it is
    the same for the same ``name``, ``statics`` and shapes. ``donates``: the arrays may become the
    results. Errors as of ``agree``.
    """
    capturing = modes.is_capturing()
    key = (tuple(group.ranks), name, statics, tuple((a.shape, a.dtype) for a in arrays), donates)
    program = None if capturing else _programs.get(key)
    text = _text(name, statics, arrays) if program is None else program.text
    arrays = [a if a.ndim else a.reshape(1) for a in arrays]
    if capturing:
        return captured.collective(modes.the_capture(), group, text, arrays, body), None
    call = CollectiveCall(group, text)
    if program is None:
        made = CollectiveProgram(group, text, body, arrays, donates)
        agree(call)
        program = _programs[key] = made
    elif get_debug_level() is DebugLevel.DETAIL:
        agree(call)
    return program(arrays), call


def may_donate(tensors: Sequence[Tensor]) -> bool:
    """Return whether collectives may write into the memory of tensors: they are large, whole, and
    nobody else has their values. To be asked before those are read."""
    return (
        not modes.is_capturing()
        and sum(t.numel() * t.itemsize for t in tensors) >= _LARGE
        and len({id(t._storage) for t in tensors}) == len(tensors)
        and all(t._view is None and t._storage.is_sole_owner() for t in tensors)
    )


def finished(
    results: Sequence[Any], call: CollectiveCall | None, written: Sequence[Any], async_op: bool
) -> Work | None:
    """Return the work of a collective, or wait until it is done and return None."""
    if async_op:
        return Work(results if call else (), call, written)
    if call is not None:
        settle(results, call, None)
    return None


def _text(name: str, statics: tuple[Hashable, ...], arrays: Sequence[Any]) -> str:
    shown = [f"{a.dtype.name} {tuple(a.shape)}" for a in arrays[:4]]
    if len(arrays) > 4:
        shown.append(f"{len(arrays) - 4} more")
    return f"{name}({', '.join([*map(str, statics), *shown])})"
