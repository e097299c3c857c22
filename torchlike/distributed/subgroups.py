"""Backends, debug levels, groups of groups and batches of sends: the answers of one process."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Sequence
from typing import Any

from torchlike._core.tensor import Tensor
from torchlike.distributed.collectives import Work, irecv, isend
from torchlike.distributed.groups import ProcessGroup, is_initialized, member, new_group


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

    def __new__(cls, name: str) -> Any:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return str.__new__(cls, name.lower())


class DebugLevel(enum.Enum):
    """How much is checked."""

    OFF = 0
    INFO = 1
    DETAIL = 2


_level: DebugLevel | None = None


def get_debug_level() -> DebugLevel:
    """TORCH_DISTRIBUTED_DEBUG of the environment, unless ``set_debug_level`` was told another.
    RuntimeError for a variable that says none of OFF, INFO and DETAIL."""
    if _level is not None:
        return _level
    said = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if said not in DebugLevel.__members__:
        raise RuntimeError("The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL.")
    return DebugLevel[said]


def set_debug_level(level: DebugLevel) -> None:
    """Kept: collectives of one process have nothing to check."""
    global _level
    _level = DebugLevel(level)


def set_debug_level_from_env() -> None:
    """Back to what the environment says."""
    global _level
    _level = None


def get_pg_count() -> int:
    """1 in a world, else 0.

    Differs from PyTorch: groups made by ``new_group`` are not counted.
    """
    return int(is_initialized())


def get_backend_config(group: ProcessGroup | None = None) -> str:
    """The backend of each device type: ``cpu:gloo``."""
    return f"cpu:{member(group).name()}"


def new_subgroups(
    group_size: int | None = None, group: ProcessGroup | None = None, timeout: Any = None,
    backend: str | None = None, pg_options: Any = None, group_desc: str | None = None,
) -> tuple[ProcessGroup, list[ProcessGroup]]:  # fmt: skip
    """Groups of ``group_size`` processes: this process' one, and all. ValueError for another size
    than 1."""
    n = member(group).size()
    size = n if group_size is None else group_size
    if size <= 0:
        raise ValueError(f"The arg 'group_size' ({size}) must be positive")
    if size > n:
        raise ValueError(f"The arg 'group_size' ({size}) must not exceed the world size ({n})")
    return new_subgroups_by_enumeration([[0]], timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]], timeout: Any = None,
    backend: str | None = None, pg_options: Any = None, group_desc: str | None = None,
) -> tuple[ProcessGroup, list[ProcessGroup]]:  # fmt: skip
    """Groups of these ranks: this process' one, and all. ValueError for none, or for a rank that is
    in two of them or in no world."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    ranks = [rank for some in ranks_per_subgroup_list for rank in some]
    if len(set(ranks)) < len(ranks):
        raise ValueError("Rank 0 has appeared in both subgroup [0] and [0]")
    groups = [new_group(list(some), timeout, backend, pg_options)
              for some in ranks_per_subgroup_list]  # fmt: skip
    return groups[0], groups


class P2POp:
    """A send or a receive for ``batch_isend_irecv``. ValueError for another function."""

    def __init__(
        self, op: Callable[..., Any], tensor: Tensor, peer: int | None = None,
        group: ProcessGroup | None = None, tag: int = 0, group_peer: int | None = None,
    ) -> None:  # fmt: skip
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        if not isinstance(tensor, Tensor):
            raise TypeError(
                "Invalid function argument. Expected parameter `tensor` of type torch.Tensor"
            )
        self.op, self.tensor, self.group, self.tag = op, tensor, member(group), tag
        self.peer = peer if group_peer is None else group_peer


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Start all of them; ValueError for what ``isend`` and ``irecv`` refuse, which is any of them:
    there is no other process. ValueError for what is no P2POp, and for none at all."""
    if not p2p_op_list or not all(isinstance(p, P2POp) for p in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to be of type P2POp.")
    return [p.op(p.tensor, p.peer, p.group, p.tag) for p in p2p_op_list]
