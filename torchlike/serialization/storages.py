"""The storages of a checkpoint, read from its file when its pickle names them."""

from __future__ import annotations

import pickle
import zipfile
from mmap import mmap
from typing import Any

import numpy as np

from torchlike._core import devices, dtypes
from torchlike._core.mapped_files import is_mapped
from torchlike._core.storage import Storage, device_array
from torchlike._dispatch.moving import placed
from torchlike._runtime import x64
from torchlike.serialization import legacy
from torchlike.serialization.damage import Said, first_records, reading
from torchlike.serialization.names import STORAGES
from torchlike.serialization.options import data_is_skipped, unnamed_is_big
from torchlike.serialization.rebuild import LoadedTyped, LoadedUntyped, Record


class StorageType:
    """A storage class named in a file; without a dtype it holds bytes."""

    def __init__(self, dtype: dtypes.dtype | None) -> None:
        self.dtype = dtype


class Storages:
    """The storages of a checkpoint, made when its pickle names them."""

    big = False

    def __init__(self, map_location: Any) -> None:
        self.map_location = map_location
        self.region: reading | None = None
        self.records: dict[str, Record] = {}
        self._kinds: dict[str, tuple[dtypes.dtype, int]] = {}

    def content(self, key: str, needed: int) -> bytes | memoryview:
        """The bytes of one storage, of which ``needed`` are wanted."""
        raise NotImplementedError

    def storage(self, identity: Any) -> Any:
        what, storage_type, key, location, size, *view = identity
        if (what != "storage" or not isinstance(storage_type, StorageType)
                or type(key) is not str or type(location) is not str
                or type(size) is not int or size < 0):  # fmt: skip
            raise pickle.UnpicklingError(f"unknown persistent id {identity!r}")
        if view and view[0] is not None:
            raise NotImplementedError(
                "the checkpoint holds views of storages, as PyTorch wrote them before 0.4: save it "
                "again with a later PyTorch"
            )
        dtype = storage_type.dtype
        kind = (dtypes.uint8 if dtype is None else dtype, size)
        found = self.records.get(key)
        if found is None:
            needed = size * (1 if dtype is None else dtype.itemsize)
            content = bytes(needed) if data_is_skipped() else self.content(key, needed)
            if len(content) < needed:
                raise RuntimeError(
                    f"the checkpoint is truncated: storage {key} has {len(content)} of {needed} "
                    "bytes"
                )
            found = Record(content[:needed], self.big, lambda flat: self._cell(flat, location))
            self.records[key] = found
            self._kinds[key] = kind
        elif self._kinds[key] != kind:
            raise RuntimeError(
                f"the checkpoint has storage {key} as {size} elements of {kind[0]}, and as "
                f"{self._kinds[key][1]} of {self._kinds[key][0]}: the format has no storages "
                "that view the same data as different types"
            )
        return LoadedUntyped(found) if dtype is None else LoadedTyped(found, dtype, size)

    def _cell(self, flat: np.ndarray, location: str) -> Storage:
        """The cell of a storage's values, on the device where they go."""
        device = self._device(flat, location)
        if device.type == "cpu" and is_mapped(flat):
            return Storage(None, flat)
        x64.require()
        return Storage(device_array(flat) if device.type == "cpu" else placed(flat, device))

    def _device(self, flat: np.ndarray, location: str) -> devices.device:
        target = self.map_location
        if isinstance(target, dict):
            target = target.get(location, location)
        elif callable(target):
            region = self.region or reading("the file")
            before, region.users_turn = region.users_turn, True
            placed = target(flat, location)
            region.users_turn = before
            target = location if placed is None or placed is flat else getattr(
                placed, "device", location)  # fmt: skip
        device = devices.device(location if target is None else target)
        if device.type != "cpu" and not devices.available(device.type):
            raise RuntimeError(
                f"Attempting to deserialize object on a {device.type.upper()} device but "
                f"torch.{device.type}.is_available() is False. If you are running on a CPU-only "
                "machine, please use torch.load with map_location=torch.device('cpu') to map your "
                "storages to the CPU."
            )
        return device


class UnknownByteOrder(Said, ValueError):
    """A checkpoint says of its byte order what is none."""


def _is_big(order: bytes) -> bool:
    """What a checkpoint says of its byte order. ValueError for other words."""
    if order not in (b"little", b"big"):
        raise UnknownByteOrder(f"Unknown endianness type: {order.decode()}")
    return order == b"big"


#: The newest version of the zip format, of those that PyTorch 2.13 reads.
_NEWEST = 10


def _root(names: list[str]) -> str:
    """The directory that all records of a checkpoint are in, with its slash. RuntimeError for an
    archive of something else."""
    for name in names[:1]:
        if "/" not in name:
            raise RuntimeError(f"file in archive is not in a subdirectory: {name}")
    root = names[0].partition("/")[0] + "/" if names else ""
    for name in names:
        if not name.startswith(root):
            raise RuntimeError(f"file in archive is not in a subdirectory {root}: {name}")
    return root


class Archive(Storages):
    """An open checkpoint in the zip format.

    mapped: the file's bytes; storages that lie in it as they are stay there.
    """

    def __init__(
        self, archive: zipfile.ZipFile, map_location: Any, mapped: mmap | None = None
    ) -> None:
        super().__init__(map_location)
        self.archive = archive
        self.mapped = mapped
        self._entries = first_records(archive)
        names = list(self._entries)
        self.root = _root(names)
        self._check_version(names)
        order = f"{self.root}byteorder"
        self.big = _is_big(self._read(order)) if order in names else unnamed_is_big()

    def _check_version(self, names: list[str]) -> None:
        """RuntimeError for a file without a version, or of one that is too new."""
        named = [n for n in (f"{self.root}version", f"{self.root}.data/version") if n in names]
        if not named:
            raise RuntimeError(
                'Expected hasRecord("version") to be true, but got false.  (Could this file be '
                "damaged, or have been written by something else than torch.save?)"
            )
        version = int(self._read(named[0]))
        if version > _NEWEST:
            raise RuntimeError(
                f"Attempted to read a PyTorch file with version {version}, but the maximum "
                f"supported version for reading is {_NEWEST}"
            )

    def _read(self, name: str) -> bytes:
        return self.archive.read(self._entries[name])

    def _record(self, name: str) -> zipfile.ZipInfo:
        """RuntimeError where there is none of that name."""
        try:
            return self._entries[f"{self.root}{name}"]
        except KeyError:
            raise RuntimeError(
                f"PytorchStreamReader failed locating file {name}: file not found. This file is "
                "damaged, or was not written by torch.save"
            ) from None

    def pickle(self) -> bytes:
        return self.archive.read(self._record("data.pkl"))

    def content(self, key: str, needed: int) -> bytes | memoryview:
        entry = self._record(f"data/{key}")
        if self.mapped is None or entry.compress_type != zipfile.ZIP_STORED or not needed:
            return self.archive.read(entry)
        start = self._start(entry)
        return memoryview(self.mapped)[start : start + entry.file_size]

    def _start(self, entry: zipfile.ZipInfo) -> int:
        """Where an entry's bytes begin: after a header that ends in its name and what is extra."""
        header = self.mapped[entry.header_offset : entry.header_offset + 30]  # type: ignore[index]
        lengths = [int.from_bytes(header[at : at + 2], "little") for at in (26, 28)]
        return entry.header_offset + len(header) + sum(lengths)


class Legacy(Storages):
    """A checkpoint in the format before PyTorch 1.6."""

    def __init__(self, file: Any, map_location: Any) -> None:
        super().__init__(map_location)
        sizes = {name: d.itemsize for name, d in STORAGES.items()}
        self.code, self.big, self._contents = legacy.parts(file, sizes)

    def content(self, key: str, needed: int) -> bytes | memoryview:
        return self._contents[key]
