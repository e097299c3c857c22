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
from jax.sharding import NamedSharding, PartitionSpec

from torchlike._core import modes
from torchlike.distributed import captured
from torchlike.distributed.bodies import AXIS, ballast
from torchlike.distributed.debugging import DebugLevel, get_debug_level
from torchlike.distributed.groups import ProcessGroup
from torchlike.distributed.works import Call, Work, agree, settle

_programs: dict[Hashable, Program] = {}


class Program:
    """A compiled collective of one group's members on arrays of fixed shapes."""

    def __init__(
        self, group: ProcessGroup, body: Callable[..., Any], arrays: Sequence[Any]
    ) -> None:
        self.size = group.size()
        self._sharding = NamedSharding(group.jax_mesh(), PartitionSpec(AXIS))
        whole = [jax.ShapeDtypeStruct(self._shape(a), a.dtype, sharding=self._sharding)
                 for a in arrays]  # fmt: skip
        spec = PartitionSpec(AXIS)

        def weighty(*arrays: Any) -> tuple[Any, ...]:
            return (*body(*arrays), ballast())

        over_ranks = jax.shard_map(
            weighty, mesh=group.jax_mesh(), in_specs=spec, out_specs=spec, check_vma=False
        )
        self._compiled = jax.jit(over_ranks).lower(*whole).compile()
        self._shapes = [w.shape for w in whole]

    def _shape(self, array: Any) -> tuple[int, ...]:
        return (array.shape[0] * self.size, *array.shape[1:])

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """This rank's results of its arrays. They may not be there yet."""
        make = jax.make_array_from_single_device_arrays
        whole = [make(shape, self._sharding, [a])
                 for shape, a in zip(self._shapes, arrays, strict=True)]  # fmt: skip
        return [result.addressable_data(0) for result in self._compiled(*whole)[:-1]]


def run(
    group: ProcessGroup, name: str, statics: tuple[Hashable, ...], arrays: Sequence[Any],
    body: Callable[..., tuple[Any, ...]],
) -> tuple[Sequence[Any], Call | None]:  # fmt: skip
    """Begin a collective: this rank's results, and the call to wait for them by (None while a
    program is captured, of which it becomes a part).

    ``body`` takes each rank's arrays, which have an axis at least, and gives a tuple of such; it is
    the same for the same ``name``, ``statics`` and shapes. Errors as of ``agree``.
    """
    text, capture = _text(name, statics, arrays), modes.current.capture
    call = Call(group, text) if capture is None else None
    scalars = [not a.ndim for a in arrays]
    if any(scalars):
        arrays = [a.reshape(1) if s else a for a, s in zip(arrays, scalars, strict=True)]
    if call is None:
        return captured.collective(capture, group, text, arrays, body), None
    key = (tuple(group.ranks), name, statics, tuple((a.shape, a.dtype) for a in arrays))
    program = _programs.get(key)
    if program is None:
        made = Program(group, body, arrays)
        agree(call)
        program = _programs[key] = made
    elif get_debug_level() is DebugLevel.DETAIL:
        agree(call)
    return program(arrays), call


def finished(
    results: Sequence[Any], call: Call | None, written: Sequence[Any], async_op: bool
) -> Work | None:
    """The work of a collective, or None once it is done."""
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
