"""Process groups: which processes take part in a collective, and this one's rank among them.

A rank is a process with one device of its own. A world of one process needs nobody: it opens no
port, starts no service, and its collectives are copies.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, ClassVar

import jax
import numpy as np

from torchlike._runtime.rendezvous import coordination
from torchlike.distributed.mailbox import Mailbox
from torchlike.distributed.rendezvous import enter, find, host_of
from torchlike.distributed.stores import PrefixStore, Store

default_pg_timeout = timedelta(minutes=30)

#: Names that scripts give. JAX has one way for each device, so they all mean that: gloo between
#: CPUs, NCCL between GPUs, the interconnect between TPUs.
_BACKENDS = ("gloo", "nccl", "mpi", "xla", "undefined")
#: The one of a device type where a script names none.
DEFAULT_BACKENDS = {"cpu": "gloo", "cuda": "nccl", "xla": "xla", "tpu": "xla"}
_NOT_BUILT = {"ucc": "UCC", "xccl": "XCCL"}


class ProcessGroup:
    """Some of the world's processes, in the order of their ranks in the group."""

    def __init__(
        self,
        backend: str,
        ranks: Sequence[int] = (0,),
        own: int = 0,
        number: int = 0,
        timeout: timedelta = default_pg_timeout,
        desc: str = "undefined",
    ) -> None:
        self._backend = backend
        self.ranks = list(ranks)
        self._rank = self.ranks.index(own) if own in self.ranks else -1
        #: The same in all processes: groups are made by all of them in one order.
        self.number = number
        self.timeout = timeout
        self.group_desc = desc
        #: How many collectives this process has begun in this group, and the last of them.
        self.calls = 0
        self.last = "none"
        #: How often its members met to see that they call the same.
        self.checks = 0
        #: How many barriers and collectives of objects there were.
        self.barriers = self.objects = 0
        self._mesh: Any = None

    @property
    def group_name(self) -> str:
        """Its number, as text."""
        return str(self.number)

    def rank(self) -> int:
        """Return this process' rank in the group, -1 where it is not in it."""
        return self._rank

    def size(self) -> int:
        """Return how many processes there are."""
        return len(self.ranks)

    def name(self) -> str:
        """Return the backend's name."""
        return self._backend

    def jax_mesh(self) -> jax.sharding.Mesh:
        """Return the members' devices as a ``jax.sharding.Mesh`` of one axis, ``ranks``."""
        if self._mesh is None:
            if self.size() > 1 or coordination.joined():
                devices = [coordination.device_of(r) for r in self.ranks]
            else:
                devices = jax.local_devices()[:1]
            types = (jax.sharding.AxisType.Auto,)
            self._mesh = jax.sharding.Mesh(np.array(devices), ("ranks",), axis_types=types)
        return self._mesh

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, int) and self._rank < 0 and other == GroupMember.NON_GROUP_MEMBER

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<ProcessGroup {self.group_name}: ranks {self.ranks}, backend {self._backend}>"


class GroupMember:
    """The group of all processes (``WORLD``), and what stands for being in none."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


class group(GroupMember):
    """``GroupMember``'s older name."""


class World:
    """What this process has of the world: store, mailbox, groups."""

    store: Store | None = None
    mailbox: Mailbox | None = None
    groups: ClassVar[dict[int, ProcessGroup]] = {}
    made = 0
    #: Functions that rooms above want called when the world ends.
    at_end: ClassVar[list[Callable[[], None]]] = []


def is_available() -> bool:
    """Return True."""
    return True


def is_initialized() -> bool:
    """Return whether ``init_process_group`` was called."""
    return GroupMember.WORLD is not None


def is_gloo_available() -> Any:
    """Return True: JAX's CPU backend has it."""
    return True


def is_nccl_available() -> Any:
    """Return False, as PyTorch's CPU builds say. Between GPUs JAX uses NCCL, under any backend's
    name."""
    return False


is_mpi_available = is_ucc_available = is_xccl_available = is_nccl_available


def is_backend_available(backend: str) -> bool:
    """Return whether ``init_process_group`` takes the backend."""
    return backend.lower() in _BACKENDS


def is_torchelastic_launched() -> bool:
    """Return whether torchrun, or ``torchlike launch``, started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def get_default_backend_for_device(device: Any) -> str:
    """Return the backend of a device: gloo for the CPU, nccl for GPUs, xla for TPUs. ValueError for
    other devices."""
    kind = str(getattr(device, "type", device)).partition(":")[0]
    found = DEFAULT_BACKENDS.get(kind)
    if found is None:
        raise ValueError(f"Default backend not registered for device : {kind}")
    return found


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: Any = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Meet the other processes. Rank and size come from the arguments, from the address, or from
    the variables RANK and WORLD_SIZE of the environment.

    ``backend`` may be any of PyTorch's: collectives are those of JAX's for the device. In a process
    that no launcher started, call it before anything is computed: JAX learns of the others when it
    starts.

    Raises:
        ValueError: there is a world already; the environment lacks the variables; a rank came
            twice, or with another size of the world.
        DistStoreError: some processes did not come within ``timeout``; it says which.
        RuntimeError: JAX has started already, or a backend that PyTorch's CPU builds lack.

    Differs from PyTorch: a second world in the same process must have its size and ranks.
    """
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    names = _backends(backend or "undefined")
    if init_method is not None and store is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    limit = default_pg_timeout if timeout is None else timeout
    if not isinstance(limit, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {limit}")
    found, rank, world_size = find(init_method, rank, world_size, store, limit)
    World.groups, World.made = {}, 0
    if world_size > 1:
        own = enter(found, rank, world_size, limit)
        World.store = own
        World.mailbox = Mailbox(rank, own, host_of(own))
        World.mailbox.state = _progress
    else:
        World.store = found
    GroupMember.WORLD = _make(names[0], range(world_size), rank, limit, "default_pg")


def _backends(given: str) -> list[str]:
    """Return the backends' names in ``gloo`` or ``cpu:gloo,cuda:nccl``. Errors as of
    ``init_process_group``."""
    if not isinstance(given, str):
        raise ValueError("Backend constructor parameter must be string-ish")
    names = [part.rpartition(":")[2] for part in given.lower().split(",")]
    for name in names:
        if name in _NOT_BUILT:
            raise RuntimeError(f"Distributed package doesn't have {_NOT_BUILT[name]} built in")
        if name not in _BACKENDS:
            raise AssertionError(f"Unknown backend type {name}")
    return names


def _make(
    backend: str, ranks: Sequence[int], own: int, timeout: timedelta, desc: str
) -> ProcessGroup:
    made = ProcessGroup(backend, ranks, own, World.made, timeout, desc)
    World.made += 1
    World.groups[made.number] = made
    return made


def _progress() -> dict[str, Any]:
    """Return how far this process has come in each group, to tell another process that waits for
    it."""
    return {str(n): [g.calls, g.last] for n, g in list(World.groups.items())}


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """End the world, or forget one group of it."""
    if not is_initialized():
        raise AssertionError("Process group cannot be None")
    if group is not None and group is not GroupMember.WORLD:
        World.groups.pop(member(group).number, None)
        return
    for end in World.at_end:
        end()
    if World.mailbox is not None:
        World.mailbox.close()
    GroupMember.WORLD = World.store = World.mailbox = None
    World.groups = {}


def member(group: Any = None) -> ProcessGroup:
    """Return the group, or the world for None. ValueError before ``init_process_group``."""
    if GroupMember.WORLD is None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group."
        )
    if group is None:
        return GroupMember.WORLD
    if group == GroupMember.NON_GROUP_MEMBER:
        return ProcessGroup("undefined", [], -1)
    if not isinstance(group, ProcessGroup):
        raise ValueError(
            f"Process group {group} is not initialized in the world group map. Please initialize "
            "the group first"
        )
    return group


def _get_default_group() -> ProcessGroup:
    """Return the world. ValueError before ``init_process_group``."""
    return member()


def _resolve_process_group(group_name: str) -> ProcessGroup:
    """Return the group of a name. RuntimeError where there is none."""
    for group in World.groups.values():
        if group.group_name == group_name:
            return group
    raise RuntimeError(
        f'Could not resolve the process group registered under the name "{group_name}"'
    )


def get_rank(group: ProcessGroup | None = None) -> int:
    """Return this process' rank; -1 where it is not in the group.

    Args:
      group: the processes; all by default.

    Raises:
      ValueError: there is no process group.
    """
    return member(group).rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """Return the number of processes; -1 where this one is not in the group.

    Args:
      group: the processes; all by default.

    Raises:
      ValueError: there is no process group.
    """
    found = member(group)
    return found.size() if found.rank() >= 0 else -1


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Return LOCAL_RANK of the environment, else the fallback. RuntimeError with neither."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError(
            "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
            "`get_node_local_rank` to work"
        )
    return int(fallback_rank)


def get_backend(group: ProcessGroup | None = None) -> str:
    """Return the name given to ``init_process_group``."""
    return member(group).name()


def set_timeout(timeout: timedelta, group: ProcessGroup | None = None) -> None:
    """Set how long later operations of a group wait. TypeError for what is no timedelta, ValueError
    in a process that is not in the group."""
    found = member(group)
    if found.rank() < 0:
        raise ValueError("Invalid process group specified")
    if not isinstance(timeout, timedelta):
        raise TypeError(f"timeout must be a datetime.timedelta, not {type(timeout).__name__}")
    found.timeout = timeout


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """Return the ranks of a group's members."""
    return list(member(group).ranks)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """Return the rank in the world of a member of a group. ValueError for a rank it does not
    have."""
    found = member(group)
    if not 0 <= group_rank < found.size():
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return found.ranks[group_rank]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """Return the rank in a group of a process. ValueError for one that is not in it."""
    found = member(group)
    if global_rank not in found.ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return found.ranks.index(global_rank)


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: Any = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
) -> ProcessGroup:
    """Make a group of some of the processes; all processes of the world call it, in one order. In
    those that are not in it, ``get_rank`` of it is -1, and collectives do nothing.

    ValueError for more processes than there are, or others, or one twice; AssertionError for a
    backend that nobody knows.
    """
    world = member()
    chosen = list(range(world.size())) if ranks is None else sorted(int(r) for r in ranks)
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"ranks list must not contain duplicate entries, got {chosen}")
    if len(chosen) > world.size():
        raise ValueError(
            "the new group's world size should be less or equal to the world size set by "
            "init_process_group"
        )
    outside = next((r for r in chosen if not 0 <= r < world.size()), None)
    if outside is not None:
        raise ValueError(
            f"Rank {outside} is out of range. Valid ranks are 0 to {world.size() - 1} "
            f"(world_size={world.size()})"
        )
    if use_local_synchronization and len(chosen) < world.size():
        raise NotImplementedError(
            "new_group(use_local_synchronization=True): a group has a number that all processes "
            "know. Use instead: new_group called by every process"
        )
    limit = world.timeout if timeout is None else timeout
    name = _backends(backend or world.name())[0]
    return _make(name, chosen, world.rank(), limit, group_desc or "undefined")


def gloo(what: str) -> str:
    """Return how PyTorch's gloo names a collective in its errors."""
    return f"ProcessGroupGloo::{what}"


def root(
    group: ProcessGroup, rank: int | None, group_rank: int | None, what: str, name: str
) -> int:
    """Return the rank in the group of the process that a collective comes from or goes to.

    ValueError where both ranks are given; RuntimeError for a root that is not in the group."""
    if rank is not None and group_rank is not None:
        raise ValueError(f"Can't specify both {name} and group_{name}")
    if group_rank is not None:
        if not 0 <= group_rank < group.size():
            raise RuntimeError(f"{gloo(what)}: invalid root rank: {group_rank}")
        return group_rank
    if rank is None:
        return 0
    if rank not in group.ranks:
        if group is GroupMember.WORLD:
            raise RuntimeError(f"{gloo(what)}: invalid root rank: {rank}")
        raise ValueError(f"Global rank {rank} is not part of group {group}")
    return group.ranks.index(rank)


def behind(group: ProcessGroup) -> str:
    """Ask the other members how far they have come, and return that for an error: who is behind."""
    box = World.mailbox
    if box is None:
        return ""
    own = group.ranks[group.rank()]
    told = []
    for rank in group.ranks:
        if rank == own:
            continue
        with contextlib.suppress(Exception):
            state = box.ask(rank)
            if state is None:
                told.append(f"rank {rank} has ended or does not answer")
                continue
            calls, last = state.get(str(group.number), [0, "none"])
            if calls < group.calls:
                told.append(
                    f"rank {rank} has not called it: its last collective of this group "
                    f"is number {calls}, {last}"
                )
            elif last != group.last or calls > group.calls:
                told.append(f"rank {rank} is in number {calls}, {last}")
    return "; ".join(told) or "all ranks have called it"


def store_of(group: ProcessGroup) -> Store:
    """Return the part of the world's store that is a group's."""
    assert World.store is not None
    return PrefixStore(f"group{group.number}", World.store)
