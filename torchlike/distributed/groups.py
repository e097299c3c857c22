"""Process groups. There is one process, so a group has one member, rank 0.

A script started as the only worker of a launcher (``WORLD_SIZE=1``) runs as it does under PyTorch.
Differs from PyTorch: a world of several processes is refused. One process drives all devices in
JAX, with ``jax.sharding``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

default_pg_timeout = timedelta(minutes=30)

#: What PyTorch on a CPU has of these, and torchlike in a world of one.
_BACKENDS = ("gloo", "undefined")
_NOT_BUILT = {"nccl": "NCCL", "mpi": "MPI", "ucc": "UCC", "xccl": "XCCL"}


class ProcessGroup:
    """The processes that take part in a collective: this one."""

    def __init__(self, backend: str) -> None:
        self._backend = backend

    def rank(self) -> int:
        """0."""
        return 0

    def size(self) -> int:
        """1."""
        return 1

    def name(self) -> str:
        """The backend's name."""
        return self._backend


class GroupMember:
    """The group of all processes (``WORLD``), and what stands for being in none."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


class group(GroupMember):
    """``GroupMember``'s older name."""


def is_available() -> bool:
    """True: with a world of one process."""
    return True


def is_initialized() -> bool:
    """Whether ``init_process_group`` was called."""
    return GroupMember.WORLD is not None


def is_gloo_available() -> Any:
    """True: a world of one process needs no backend to carry anything."""
    return True


def is_nccl_available() -> Any:
    """False."""
    return False


is_mpi_available = is_ucc_available = is_xccl_available = is_nccl_available


def is_backend_available(backend: str) -> bool:
    """Whether ``init_process_group`` takes the backend."""
    return backend.lower() in _BACKENDS


def is_torchelastic_launched() -> bool:
    """Whether torchrun started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def get_default_backend_for_device(device: Any) -> str:
    """gloo for the CPU. ValueError for other devices."""
    kind = str(getattr(device, "type", device)).partition(":")[0]
    if kind != "cpu":
        raise ValueError(f"Default backend not registered for device : {kind}")
    return "gloo"


def init_process_group(
    backend: str | None = None, init_method: str | None = None, timeout: Any = None,
    world_size: int = -1, rank: int = -1, store: Any = None, group_name: str = "",
    pg_options: Any = None, device_id: Any = None,
) -> None:  # fmt: skip
    """Begin a world of one process. Rank and size come from the arguments, or from the variables
    RANK and WORLD_SIZE of the environment.

    ValueError when there is a world already, or when the environment lacks the variables;
    RuntimeError for backends that PyTorch's CPU builds lack; NotImplementedError for more than one
    process.
    """
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    names = [part.rpartition(":")[2] for part in (backend or "undefined").lower().split(",")]
    for name in names:
        if name in _NOT_BUILT:
            raise RuntimeError(f"Distributed package doesn't have {_NOT_BUILT[name]} built in")
        if name not in _BACKENDS:
            raise AssertionError(f"Unknown backend type {name}")
    if init_method in (None, "env://") and store is None:
        rank = _from_environment("RANK", rank)
        world_size = _from_environment("WORLD_SIZE", world_size)
    if world_size != 1:
        raise NotImplementedError(
            f"a world of {world_size} processes: torchlike runs in one. One process drives all "
            "devices; shard arrays over them with jax.sharding, or start with WORLD_SIZE=1"
        )
    if rank != 0:
        raise ValueError(f"rank {rank} is out of range for a world of one process")
    GroupMember.WORLD = ProcessGroup(names[0])


def _from_environment(name: str, given: int) -> int:
    if given >= 0:
        return given
    if name not in os.environ:
        raise ValueError(
            "Error initializing torch.distributed using env:// rendezvous: environment variable "
            f"{name} expected, but not set"
        )
    return int(os.environ[name])


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """End the world, or forget one group of it."""
    if not is_initialized():
        raise AssertionError("Process group cannot be None")
    if group is None or group is GroupMember.WORLD:
        GroupMember.WORLD = None


def member(group: Any = None) -> ProcessGroup:
    """The group, or the world for None. ValueError before ``init_process_group``."""
    if GroupMember.WORLD is None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group."
        )
    return GroupMember.WORLD if group is None else group


def get_rank(group: ProcessGroup | None = None) -> int:
    """This process' rank, 0."""
    return member(group).rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """How many processes there are, 1."""
    return member(group).size()


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """LOCAL_RANK of the environment, else the fallback. RuntimeError with neither."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError(
            "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
            "`get_node_local_rank` to work"
        )
    return int(fallback_rank)


def get_backend(group: ProcessGroup | None = None) -> str:
    """The name given to ``init_process_group``."""
    return member(group).name()


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """The ranks of a group's members."""
    member(group)
    return [0]


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The rank in the world of a member of a group. ValueError for a rank it does not have."""
    member(group)
    if group_rank != 0:
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return 0


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The rank in a group of a process. ValueError for one that is not in it."""
    member(group)
    if global_rank != 0:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return 0


def new_group(
    ranks: Sequence[int] | None = None, timeout: Any = None, backend: str | None = None,
    pg_options: Any = None, use_local_synchronization: bool = False, group_desc: str | None = None,
    device_id: Any = None,
) -> ProcessGroup:  # fmt: skip
    """A group of some of the processes. ValueError for more, or others, than there are."""
    world = member()
    if ranks is not None:
        if len(ranks) > 1:
            raise ValueError(
                "the new group's world size should be less or equal to the world size set by "
                "init_process_group"
            )
        if any(r != 0 for r in ranks):
            raise ValueError(
                "The new group's rank should be within the world_size set by init_process_group"
            )
    return ProcessGroup(backend or world.name())


def check_root(rank: Any, what: str) -> None:
    """RuntimeError for a root that is not in the world."""
    if rank not in (None, 0):
        raise RuntimeError(f"{what}: invalid root rank: {rank}")


def refuse_peer(what: str) -> None:
    """RuntimeError for talking to another process."""
    raise ValueError(
        f"Invalid {what} rank: {what} rank should not be the same as the rank of the current "
        "process."
    )
