"""``torch.distributed.distributed_c10d._pg_map``: which groups there are, as libraries look."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torchlike.distributed.groups import ProcessGroup, World


class GroupsTable(Mapping[ProcessGroup, tuple[str, Any]]):
    """The world's groups of this process as they are now, each with its backend and the store."""

    def __getitem__(self, group: ProcessGroup) -> tuple[str, Any]:
        if all(group is not known for known in World.groups.values()):
            raise KeyError(group)
        return group.name(), World.store

    def __iter__(self) -> Iterator[ProcessGroup]:
        return iter(World.groups.values())

    def __len__(self) -> int:
        return len(World.groups)


_pg_map = GroupsTable()
