"""What processes exchange without a program: barriers by the store, exchanges of tensors
whose shapes differ by the mailbox.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from torchlike._core.storage import host_value
from torchlike.distributed.groups import ProcessGroup, World, behind, store_of
from torchlike.distributed.mailbox import Mailbox, decoded
from torchlike.distributed.stores import DistStoreError
from torchlike.distributed.works import CollectiveCall
from torchlike.tensor import Tensor


def arrive(group: ProcessGroup, what: str) -> Callable[[float | None], None]:
    """Say that this process is here; what it gives waits for the others, some seconds or the
    group's timeout. DistBackendError naming those that did not come."""
    call = CollectiveCall(group, what)
    number = group.barriers
    group.barriers += 1
    store = store_of(group)
    keys = [f"barrier{number}/{r}" for r in range(group.size())]
    store.set(keys[group.rank()], b"1")

    def wait(seconds: float | None) -> None:
        limit = group.timeout.total_seconds() if seconds is None else seconds
        begun = time.monotonic()
        try:
            store.wait(keys, timedelta(seconds=limit))
        except DistStoreError:
            missing = [int(key.rpartition("/")[2]) for key in store._missing(keys)]
            ranks = ", ".join(str(group.ranks[r]) for r in missing)
            waited = time.monotonic() - begun
            raise call.failed(
                f"Rank {ranks} failed to pass {what} in {limit * 1000:.0f} ms (waited "
                f"{waited:.0f} s; {behind(group)})"
            ) from None
        if number:  # all are here, so all have left the one before
            store.delete_key(f"barrier{number - 1}/{group.rank()}")

    return wait


def mailbox() -> Mailbox:
    """Return this process' mailbox. RuntimeError in a world of one."""
    if World.mailbox is None:
        raise RuntimeError("a world of one process has nobody to send to")
    return World.mailbox


def values_of(tensor: Tensor) -> np.ndarray:
    """Return a tensor's values on the host."""
    return np.asarray(tensor._value_now())


def fill(tensor: Tensor, values: np.ndarray, what: str) -> None:
    """Write what arrived into a tensor. RuntimeError where it is of another dtype or size."""
    if values.dtype != tensor.dtype.numpy or values.size != tensor.numel():
        raise RuntimeError(
            f"{what}: a tensor of {tensor.dtype}, {tensor.numel()} elements was to receive "
            f"{values.dtype}, {values.size} elements, shape {values.shape}: sender and receiver "
            "must agree"
        )
    tensor._write(host_value(values.reshape(tuple(tensor.shape))))


def exchange(
    group: ProcessGroup, what: str, given: Sequence[Tensor], places: Sequence[Tensor]
) -> Callable[[float | None], None]:
    """Send each member a tensor; what it gives waits for theirs, and writes them."""
    call = CollectiveCall(group, what)
    box, own, tag = mailbox(), group.rank(), -call.number
    numbers = {r: box.expect(rank, group.number, tag) for r, rank in enumerate(group.ranks)}
    for r, tensor in enumerate(given):
        if r != own:
            box.post(group.ranks[r], group.number, tag, values_of(tensor), tensor.dtype.name)
    kept = np.array(values_of(given[own]))

    def collect(seconds: float | None) -> None:
        limit = group.timeout.total_seconds() if seconds is None else seconds
        for r, place in enumerate(places):
            values: Any = kept
            if r != own:
                values = decoded(box.collect(group.ranks[r], group.number, tag, numbers[r], limit))
            fill(place, values, f"{what} from rank {group.ranks[r]}")

    return collect
