"""Collectives of any object that can be pickled, by way of the store: nothing compiles, whatever
their sizes are.
"""

from __future__ import annotations

import copy
import pickle
from datetime import timedelta
from typing import Any

import numpy as np

from torchlike._ops.creation.from_data import from_numpy
from torchlike._runtime import checkpoints
from torchlike.distributed.groups import ProcessGroup, behind, member, root, store_of
from torchlike.distributed.point_to_point import recv, send
from torchlike.distributed.stores import DistStoreError
from torchlike.distributed.works import CollectiveCall

#: The tag of objects that go from one process to another; a script's own are not negative.
_OBJECTS = -1


def _written(obj: Any, weights_only: bool) -> bytes:
    return checkpoints.written(obj) if weights_only else pickle.dumps(obj)


def _read(raw: bytes, weights_only: bool) -> Any:
    """Return the object of bytes that another process sent. UnpicklingError for what a checkpoint
    may not name, with ``weights_only``; without, its pickle runs what the sender put into it."""
    return checkpoints.read(raw) if weights_only else pickle.loads(raw)


def _copied(obj: Any, weights_only: bool) -> Any:
    return _read(_written(obj, True), True) if weights_only else copy.deepcopy(obj)


def _exchange(
    group: ProcessGroup,
    what: str,
    given: dict[str, Any],
    wanted: list[str],
    readers: int,
    weights_only: bool,
) -> list[Any]:
    """Put objects under keys, and take those of other keys, once they are there. The last of the
    readers clears up. DistBackendError after the group's timeout."""
    call = CollectiveCall(group, what)
    store, place = store_of(group), f"objects{group.objects}"
    group.objects += 1
    for key, value in given.items():
        store.set(f"{place}/{key}", _written(value, weights_only))
    if not wanted:
        return []
    keys = [f"{place}/{key}" for key in wanted]
    try:
        store.wait(keys, timedelta(seconds=group.timeout.total_seconds()))
    except DistStoreError:
        missing = ", ".join(k.rpartition("/")[2].partition("-")[0] for k in store._missing(keys))
        raise call.failed(
            f"timed out after {group.timeout.total_seconds():.0f} s: rank {missing} of the group "
            f"gave nothing; {behind(group)}"
        ) from None
    found = store.multi_get(keys)
    if store.add(f"{place}/read", 1) == readers:
        for key in store.list_keys():
            if key.startswith(f"{place}/"):
                store.delete_key(key)
    return [_read(raw, weights_only) for raw in found]


def all_gather_object(
    object_list: list[Any], obj: Any, group: Any = None, weights_only: bool = False
) -> None:
    """Give every process the objects of all. Here and below, with ``weights_only`` the objects go
    as checkpoints, whose reading runs no code (``torch.load``); else they are pickled."""
    found = member(group)
    if found.rank() < 0:
        return
    _check_length(object_list, found.size(), "all_gather_object")
    if found.size() < 2:
        object_list[0] = _copied(obj, weights_only)
        return
    ranks = [str(r) for r in range(found.size())]
    given = {str(found.rank()): obj}
    object_list[:] = _exchange(found, "all_gather_object", given, ranks, found.size(), weights_only)


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
    weights_only: bool = False,
) -> None:
    """Give one process the objects of all."""
    found = member(group)
    if found.rank() < 0:
        return
    to = root(found, dst, group_dst, "gather_object", "dst")
    if found.rank() == to and object_gather_list is None:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if found.size() < 2:
        all_gather_object(object_gather_list or [None], obj, found, weights_only)
        return
    if found.rank() != to and object_gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    wanted = [str(r) for r in range(found.size())] if found.rank() == to else []
    if found.rank() == to:
        assert object_gather_list is not None
        _check_length(object_gather_list, found.size(), "gather_object")
    got = _exchange(found, "gather_object", {str(found.rank()): obj}, wanted, 1, weights_only)
    if found.rank() == to:
        assert object_gather_list is not None
        object_gather_list[:] = got


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    weights_only: bool = False,
) -> None:
    """Give every process the objects of one. RuntimeError for lists of different lengths."""
    found = member(group)
    if found.rank() < 0:
        return
    at = root(found, src, group_src, "broadcast", "src")
    if found.size() < 2:
        return
    own = found.rank() == at
    got = _exchange(
        found,
        "broadcast_object_list",
        {f"{at}": list(object_list)} if own else {},
        [] if own else [f"{at}"],
        found.size() - 1,
        weights_only,
    )
    if not own:
        (sent,) = got
        if len(sent) != len(object_list):
            raise RuntimeError(
                f"broadcast_object_list: rank {found.ranks[at]} sent {len(sent)} objects, and this "
                f"rank has a list of {len(object_list)}"
            )
        object_list[:] = sent


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
    weights_only: bool = False,
) -> None:
    """Give each process one of the objects of one."""
    found = member(group)
    if found.rank() < 0:
        return
    at = root(found, src, group_src, "scatter", "src")
    own = found.rank() == at
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError(
            "Expected argument scatter_object_output_list to be a list of size at least 1."
        )
    if own and scatter_object_input_list is None:
        raise ValueError("source rank must provide non-None scatter_object_input_list")
    if own:
        _check_length(scatter_object_input_list, found.size(), "scatter_object_list")
    if found.size() < 2:
        assert scatter_object_input_list is not None
        scatter_object_output_list[0] = _copied(scatter_object_input_list[0], weights_only)
        return
    given = {}
    if own:
        assert scatter_object_input_list is not None
        given = {f"{at}-{r}": value for r, value in enumerate(scatter_object_input_list)}
    wanted = [f"{at}-{found.rank()}"]
    got = _exchange(found, "scatter_object_list", given, wanted, found.size(), weights_only)
    scatter_object_output_list[0] = got[0]


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
    weights_only: bool = False,
) -> None:
    """Send objects that can be pickled to one process, which calls ``recv_object_list``. Errors as
    of ``send``. ``device`` and ``use_batch`` mean nothing here."""
    found = member(group)
    if found.rank() < 0:
        return
    raw = np.frombuffer(_written(list(object_list), weights_only), np.uint8)
    for part in (np.array([raw.size, len(object_list)], np.int64).view(np.uint8), raw):
        send(from_numpy(part.copy()), dst, found, _OBJECTS, group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
    weights_only: bool = False,
) -> int:
    """Receive objects from a process, or from any where none is given: its rank, -1 in a process
    that is not in the group. RuntimeError for lists of different lengths; errors as of ``recv``.

    Without ``weights_only`` they are unpickled, which runs what the sender put into them."""
    found = member(group)
    if found.rank() < 0:
        return -1
    head = from_numpy(np.zeros(16, np.uint8))
    sender = recv(head, src, found, _OBJECTS, group_src)
    size, count = head.numpy().view(np.int64).tolist()
    raw = from_numpy(np.zeros(size, np.uint8))
    recv(raw, sender, found, _OBJECTS)
    if count != len(object_list):
        raise RuntimeError(
            f"recv_object_list: rank {sender} sent {count} objects, and this rank has a list of "
            f"{len(object_list)}"
        )
    object_list[:] = _read(raw.numpy().tobytes(), weights_only)
    return sender


def _check_length(objects: Any, size: int, what: str) -> None:
    if not isinstance(objects, list):
        raise TypeError(f"{what}: expected a list, got {type(objects)}")
    if len(objects) < size or (what == "scatter_object_list" and len(objects) > size):
        raise RuntimeError(
            f"{what}: invalid output tensor list at index 0 (expected length {size}, got "
            f"{len(objects)})"
        )
