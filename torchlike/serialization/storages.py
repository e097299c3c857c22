"""The storages of a checkpoint, read from its file when its pickle names them."""

from __future__ import annotations

import pickle
import struct
import sys
import zipfile
import zlib
from mmap import mmap
from typing import Any

import numpy as np

from torchlike._core import devices, dtypes
from torchlike._core.dispatch.copying import array_to_device
from torchlike._core.storage import Storage, device_array
from torchlike._extensions.meta import MetaArray
from torchlike._runtime import x64
from torchlike._runtime.mapped_files import is_mapped
from torchlike.serialization import legacy
from torchlike.serialization.damage import Said, first_records, reading
from torchlike.serialization.names import STORAGES
from torchlike.serialization.options import data_is_skipped, unnamed_is_big
from torchlike.serialization.rebuild import LoadedTyped, LoadedUntyped, StorageRecord


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
        self.records: dict[str, StorageRecord] = {}
        self._kinds: dict[str, tuple[dtypes.dtype, int]] = {}

    def content(self, key: str, needed: int) -> bytes | memoryview:
        """Read the bytes of one storage, of which ``needed`` are wanted."""
        raise NotImplementedError

    def storage(self, identity: Any) -> Any:
        if not (isinstance(identity, tuple) and len(identity) in (5, 6)):
            raise pickle.UnpicklingError(f"unknown persistent id {identity!r}")
        what, storage_type, key, location, size, *view = map(as_text, identity)
        if (
            what != "storage"
            or not isinstance(storage_type, StorageType)
            or type(key) is not str
            or type(location) is not str
            or type(size) is not int
            or size < 0
        ):
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
                raise RuntimeError(_truncated(key, len(content), needed))
            found = StorageRecord(
                content[:needed], self.big, lambda flat: self._cell(flat, location)
            )
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
        """Make the cell of a storage's values, on the device where they go."""
        device = self._device(flat, location)
        if device.type == "cpu" and is_mapped(flat):
            return Storage(None, flat)
        if device.type == "meta":
            return Storage(MetaArray(flat.shape, flat.dtype))
        x64.require()
        return Storage(
            device_array(flat) if device.type == "cpu" else array_to_device(flat, device)
        )

    def _device(self, flat: np.ndarray, location: str) -> devices.device:
        target = self.map_location
        if isinstance(target, dict):
            target = target.get(location, location)
        elif callable(target):
            region = self.region or reading("the file")
            before, region.users_turn = region.users_turn, True
            placed = target(flat, location)
            region.users_turn = before
            target = (
                location
                if placed is None or placed is flat
                else getattr(placed, "device", location)
            )
        device = devices.device(location if target is None else target)
        if device.type not in ("cpu", "meta") and not devices.available(device.type):
            raise RuntimeError(
                f"Attempting to deserialize object on a {device.type.upper()} device but "
                f"torch.{device.type}.is_available() is False. If you are running on a CPU-only "
                "machine, please use torch.load with map_location=torch.device('cpu') to map your "
                "storages to the CPU."
            )
        return device


def as_text(given: Any) -> Any:
    """Return bytes that are ASCII, which ``encoding="bytes"`` leaves of text by Python 2, as text;
    anything else as it is."""
    return given.decode() if type(given) is bytes and given.isascii() else given


class UnknownByteOrder(Said, ValueError):
    """A checkpoint says of its byte order what is none."""


def _truncated(key: str, found: int, needed: int) -> str:
    return f"the checkpoint is truncated: storage {key} has {found} of {needed} bytes"


def _is_big(order: bytes) -> bool:
    """Return whether a checkpoint says that it is big-endian. ValueError for other words than the
    two."""
    if order not in (b"little", b"big"):
        raise UnknownByteOrder(f"Unknown endianness type: {order.decode()}")
    return order == b"big"


#: Bytes of a record that says a word, and of a pickle that is compressed (which PyTorch writes
#: none of); how many bytes deflate makes of one at most.
_SHORT, _LONGEST_PICKLE, _DEFLATE_RATIO = 100, 1 << 28, 1032
#: The newest version of the zip format, of those that PyTorch 2.13 reads.
_NEWEST = 10


def _root(names: list[str]) -> str:
    """Return the directory that all records of a checkpoint are in, with its slash. RuntimeError
    for an archive of something else."""
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
        self._records = first_records(archive)
        self.root = _root(list(self._records))
        self._check_version()
        has_order = f"{self.root}byteorder" in self._records
        self.big = _is_big(self._read("byteorder", _SHORT)) if has_order else unnamed_is_big()

    def _check_version(self) -> None:
        """Raise RuntimeError for a file without a version, or of one that is too new."""
        named = [n for n in ("version", ".data/version") if f"{self.root}{n}" in self._records]
        if not named:
            raise RuntimeError(
                'Expected hasRecord("version") to be true, but got false.  (Could this file be '
                "damaged, or have been written by something else than torch.save?)"
            )
        text = self._read(named[0], _SHORT)
        if not text.strip().isdigit():
            raise RuntimeError(f"the checkpoint is damaged: its version is {text!r}")
        version = int(text)
        if version > _NEWEST:
            raise RuntimeError(
                f"Attempted to read a PyTorch file with version {version}, but the maximum "
                f"supported version for reading is {_NEWEST}"
            )

    def _record(self, name: str) -> zipfile.ZipInfo:
        """Return the record of that name. RuntimeError where there is none."""
        found = self._records.get(f"{self.root}{name}")
        if found is None:
            raise RuntimeError(
                f"PytorchStreamReader failed locating file {name}: file not found. This file is "
                "damaged, or was not written by torch.save"
            )
        return found

    def _read(self, name: str, most: int) -> bytes:
        """Read a record's bytes. RuntimeError for more than ``most``, and for more than the file
        has: that is seen before memory is taken for them."""
        entry = self._record(name)
        if entry.file_size > most:
            raise RuntimeError(
                f"the checkpoint is damaged: its record {name} has {entry.file_size} bytes, more "
                f"than {most}"
            )
        self._check_place(name, entry)
        return self._unpacked(name, entry)

    def _unpacked(self, name: str, entry: zipfile.ZipInfo) -> bytes:
        """Unpack a record's bytes, of which there are no more than it says. RuntimeError where they
        cannot be unpacked."""
        try:
            return self.archive.read(entry)
        except (zlib.error, NotImplementedError, ValueError, OSError, struct.error) as error:
            raise RuntimeError(
                f"the checkpoint is damaged: its record {name} cannot be read ({error})"
            ) from error

    def _check_place(self, name: str, entry: zipfile.ZipInfo) -> None:
        """Raise RuntimeError where a record cannot have the size that it says."""
        packed = entry.compress_size
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise RuntimeError(
                f"PytorchStreamReader failed retrieving file meta-data for {name}: unsupported "
                "method. A checkpoint's records are stored, or compressed by deflate"
            )
        is_stored = entry.compress_type == zipfile.ZIP_STORED
        most = packed if is_stored else packed * _DEFLATE_RATIO
        if entry.header_offset + packed > self.archive.start_dir or entry.file_size > most:
            raise RuntimeError(
                f"the checkpoint is damaged: its record {name} says that it has {entry.file_size} "
                f"bytes, in {packed} of the file"
            )

    def pickle(self) -> bytes:
        """Read the bytes of the pickle that names the storages."""
        is_stored = self._record("data.pkl").compress_type == zipfile.ZIP_STORED
        return self._read("data.pkl", sys.maxsize if is_stored else _LONGEST_PICKLE)

    def content(self, key: str, needed: int) -> bytes | memoryview:
        entry = self._record(f"data/{key}")
        if entry.file_size != needed:
            if entry.file_size < needed:
                raise RuntimeError(_truncated(key, entry.file_size, needed))
            raise RuntimeError(
                f"record size ({entry.file_size} bytes) does not match expected size ({needed} "
                f"bytes) of storage {key}. The checkpoint is damaged"
            )
        self._check_place(f"data/{key}", entry)
        if self.mapped is None or entry.compress_type != zipfile.ZIP_STORED or not needed:
            return self._unpacked(f"data/{key}", entry)
        start = self._start(entry)
        return memoryview(self.mapped)[start : start + entry.file_size]

    def _start(self, entry: zipfile.ZipInfo) -> int:
        """Return the position at which an entry's bytes begin: after a header that ends in its name
        and what is extra."""
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
