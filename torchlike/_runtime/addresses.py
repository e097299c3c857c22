"""Addresses of storages, which code compares and which C code follows (safetensors reads there).

A device cell on the CPU has the address of its array: reading it costs 0.1 µs and moves nothing.
Two cells may hold one immutable array (``clone()`` copies nothing), so a storage *claims* the
address it gives out, and another that holds the same array gets an array of its own. What cannot be
read at an address (tracers, accelerators, arrays on several devices) gets a number that is no
address but as good to compare.
"""

from __future__ import annotations

import itertools
from typing import Any
from weakref import ref

import jax
import numpy as np
from jax import core

from torchlike._runtime import platforms

_numbers = itertools.count(1)
#: Synthetic addresses stand 1 TiB apart, a view's offset never reaches its neighbour, and begin
#: where no process has memory (the upper half of 64 bits is the kernel's).
_STEP = 1 << 40
_FIRST = 1 << 63

#: address -> the storage that gave it out.
_claims: dict[int, ref[Any]] = {}


class Address:
    """What a storage knows of its address: the synthetic one, or its memory in another order."""

    __slots__ = ("laid_out", "number", "version")

    def __init__(self) -> None:
        self.number = 0
        self.laid_out: np.ndarray | None = None
        self.version = -1


def address_of(storage: Any, may_move: bool) -> int:
    """Return the address at which the elements of a storage without host buffer begin.

    The address is good until the storage is written or dropped. A write may move the array; it
    stays where it is if nothing else holds it. Unless it ``may_move`` now, a storage whose array
    is at another's address gets a number.
    """
    storage.concrete()  # no host value, which has another address once JAX has it
    if not _can_be_followed(storage.cell):
        return _synthetic(storage)
    if storage.strides is not None:
        return _of_other_order(storage)
    address = _pointer(storage.cell)
    owner = _claims.get(address)
    holder = None if owner is None else owner()
    if holder is not storage:
        if holder is not None and _holds(holder, address):
            if not may_move:
                return _synthetic(storage)
            storage.cell = jax.device_put(np.array(storage.cell), storage.cell.sharding)
            address = _pointer(storage.cell)
        _claim(storage, address)
    return address


def _can_be_followed(cell: Any) -> bool:
    if not isinstance(cell, jax.Array) or isinstance(cell, core.Tracer):
        return False
    devices = cell.sharding.device_set
    return len(devices) == 1 and platforms.is_cpu(next(iter(devices)))


def _pointer(cell: Any) -> int:
    return cell.block_until_ready().unsafe_buffer_pointer()


def _holds(storage: Any, address: int) -> bool:
    """Return whether a storage that once gave out an address still has its array there."""
    return (
        storage.host is None
        and _can_be_followed(storage.cell)
        and _pointer(storage.cell) == address
    )


def _claim(storage: Any, address: int) -> None:
    if len(_claims) >= 1024 and not len(_claims) & (len(_claims) - 1):
        for known in [a for a, owner in _claims.items() if owner() is None]:
            del _claims[known]
    _claims[address] = ref(storage)


def _kept(storage: Any) -> Address:
    if storage._address is None:
        storage._address = Address()
    return storage._address


def _synthetic(storage: Any) -> int:
    kept = _kept(storage)
    if not kept.number:
        kept.number = _FIRST + next(_numbers) * _STEP
    return kept.number


def _of_other_order(storage: Any) -> int:
    """Return the address of a copy, made where there is none yet, in the storage's memory order;
    the array itself is row-major."""
    kept = _kept(storage)
    if kept.laid_out is None or kept.version != storage.version:
        strides = storage.strides
        order = sorted(range(len(strides)), key=lambda d: (-strides[d], d))
        values = np.asarray(storage.cell).transpose(order)
        if kept.laid_out is None or kept.laid_out.shape != values.shape:
            kept.laid_out = np.array(values, order="C")
        else:
            np.copyto(kept.laid_out, values)
        kept.version = storage.version
    return kept.laid_out.__array_interface__["data"][0]
