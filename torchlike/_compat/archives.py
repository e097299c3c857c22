"""Zip archives with PyTorch's layout: records by name under one folder (``torch._C``'s classes)."""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

from torchlike._extensions.untyped_storage import UntypedStorage

#: Where records of a file begin, in bytes.
ALIGNMENT = 64
_DAMAGED = (
    "This is an internal miniz error. If you are seeing this error, there is a high likelihood "
    "that your checkpoint file is corrupted. This can happen if the checkpoint was not saved "
    "properly, was transferred incorrectly, or the file was modified after saving."
)


class PyTorchFileWriter:
    """Writes records into an archive, a path's or a file's, each at a multiple of ``alignment``.

    The folder has the path's stem as its name, and ``archive`` in a file.
    """

    def __init__(
        self, file: Any, compute_crc32: bool = True, alignment: int = ALIGNMENT, *, root: str = ""
    ) -> None:
        named = isinstance(file, (str, os.PathLike))
        self._root = root or (Path(os.fspath(file)).stem if named else "archive")
        self._alignment = alignment
        self._archive = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
        self._names: list[str] = []

    def __enter__(self) -> PyTorchFileWriter:
        return self

    def __exit__(self, *exc: object) -> None:
        self._archive.close()

    def archive_name(self) -> str:
        """Return the name of the folder that has the records."""
        return self._root

    def get_all_written_records(self) -> list[str]:
        """Return the names of the records so far."""
        return list(self._names)

    def write_record(self, name: str, data: Any, size: int | None = None) -> None:
        """Add a record: ``size`` bytes of bytes, of a text or of a storage; all by default."""
        if isinstance(data, str):
            data = data.encode()
        elif isinstance(data, UntypedStorage):
            data = bytes(data.tolist())
        content = memoryview(data).cast("B")
        content = content if size is None else content[:size]
        full = f"{self._root}/{name}"
        info = zipfile.ZipInfo(full)
        at = self._archive.fp.tell() + 30 + len(full.encode())  # type: ignore[union-attr]
        padding = -at % self._alignment
        if padding < 4:
            padding += self._alignment
        info.extra = b"FB" + (padding - 4).to_bytes(2, "little") + b"Z" * (padding - 4)
        self._archive.writestr(info, content)  # type: ignore[arg-type]
        self._names.append(name)

    def write_end_of_file(self) -> None:
        """Add the records that every archive has, and end it."""
        for name, content in (("byteorder", b"little"), ("version", b"3\n")):
            if name not in self._names:
                self.write_record(name, content)
        self.write_record(".data/serialization_id", self._identity())
        self._archive.close()

    def _identity(self) -> bytes:
        """Return 40 digits that two archives share only if their records do: of the names, of the
        contents."""
        records = self._archive.infolist()
        names = zlib.crc32("\n".join(self._names).encode())
        contents = zlib.crc32(b"".join(r.CRC.to_bytes(4, "little") for r in records))
        return f"{names:020d}{contents:020d}".encode()


class PyTorchFileReader:
    """Reads records of an archive, a path's or a file's. RuntimeError for a file that is none, and
    for a record that it has not."""

    def __init__(self, file: Any) -> None:
        given: Any = file
        if not isinstance(file, (str, os.PathLike)) and not hasattr(file, "seekable"):
            given = io.BytesIO(file.read())  # wrappers of other libraries lack what zipfile asks
        try:
            self._archive = zipfile.ZipFile(given)
        except zipfile.BadZipFile as error:
            raise RuntimeError(
                "PytorchStreamReader failed reading zip archive: failed finding central "
                f"directory. {_DAMAGED}"
            ) from error
        self._root = (self._archive.namelist() or [""])[0].partition("/")[0]

    def get_all_records(self) -> list[str]:
        """Return the names of all records."""
        return [name.partition("/")[2] for name in self._archive.namelist()]

    def has_record(self, name: str) -> bool:
        """Return whether there is a record of this name."""
        return f"{self._root}/{name}" in self._archive.NameToInfo

    def get_record(self, name: str) -> bytes:
        """Return the bytes of a record."""
        if not self.has_record(name):
            raise RuntimeError(
                f"PytorchStreamReader failed locating file {name}: file not found. {_DAMAGED}"
            )
        return self._archive.read(f"{self._root}/{name}")

    def serialization_id(self) -> str:
        """Return the digits by which archives are told apart; none where it has none."""
        name = ".data/serialization_id"
        return self.get_record(name).decode() if self.has_record(name) else ""
