"""Names of backends, and groups of groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchlike.distributed.groups import DEFAULT_BACKENDS, ProcessGroup, World, member, new_group


class Backend(str):
    """A backend's name, in small letters: ``Backend("GLOO") == Backend.GLOO == "gloo"``."""

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    XCCL = "xccl"
    UCC = "ucc"
    MPI = "mpi"
    FAKE = "fake"
    backend_list = (UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE)
    default_device_backend_map = DEFAULT_BACKENDS

    def __new__(cls, name: str) -> Any:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return str.__new__(cls, name.lower())


def get_pg_count() -> int:
    """Return how many groups there are, the world among them."""
    return len(World.groups)


def get_backend_config(group: ProcessGroup | None = None) -> str:
    """Return the backend of each device type: ``cpu:gloo``."""
    return f"cpu:{member(group).name()}"


def new_subgroups(
    group_size: int | None = None,
    group: ProcessGroup | None = None,
    timeout: Any = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[ProcessGroup, list[ProcessGroup]]:
    """Make groups of ``group_size`` processes, and return this process' one, and all. ValueError
    for a size that does not divide the world's."""
    found = member(group)
    n = found.size()
    size = n if group_size is None else group_size
    if size <= 0:
        raise ValueError(f"The arg 'group_size' ({size}) must be positive")
    if size > n:
        raise ValueError(f"The arg 'group_size' ({size}) must not exceed the world size ({n})")
    if n % size:
        raise ValueError(f"The world size ({n}) must be divisible by 'group_size={size}'")
    every = [found.ranks[i : i + size] for i in range(0, n, size)]
    return new_subgroups_by_enumeration(every, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: Any = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[ProcessGroup, list[ProcessGroup]]:
    """Make groups of these ranks, and return this process' one, and all. ValueError for none, or
    for a rank that is in two of them or in no world."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    of: dict[int, Sequence[int]] = {}
    for some in ranks_per_subgroup_list:
        for rank in some:
            if rank in of:
                raise ValueError(
                    f"Rank {rank} has appeared in both subgroup {list(of[rank])} and {list(some)}"
                )
            of[rank] = some
    groups = [
        new_group(list(some), timeout, backend, pg_options, False, group_desc)
        for some in ranks_per_subgroup_list
    ]
    own = [g for g in groups if g.rank() >= 0]
    return (own[0] if own else groups[0]), groups
