"""Files that do not hold what they should: one error, with the file's name."""

from __future__ import annotations

import errno
import os
import struct
import zipfile
import zlib
from types import TracebackType
from typing import Any

#: What reading bytes as something that they are not ends in. (A RuntimeError has words of its own.)
_RAW = (
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    EOFError,
    RecursionError,
    MemoryError,
    StopIteration,
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
)


def named(file: Any) -> str:
    """Return the name by which a message calls a file."""
    return (
        os.fsdecode(os.fspath(file))
        if isinstance(file, (str, bytes, os.PathLike))
        else str(getattr(file, "name", "the file"))
    )


def damaged(file: Any, error: object) -> RuntimeError:
    """Return the error for a file that is no longer what was written."""
    if isinstance(error, zipfile.BadZipFile) and "not a zip file" in str(error):
        return RuntimeError(
            "PytorchStreamReader failed reading zip archive: failed finding central directory. "
            f"{named(file)} is damaged: it was not written, or not copied, to its end"
        )
    said = f"{type(error).__name__}: {error}" if isinstance(error, BaseException) else error
    return RuntimeError(f"{named(file)} is damaged: {said}")


class Said(Exception):
    """An error whose words are clear already, of a type that PyTorch's users expect."""


class reading:
    """A region that reads a file: errors of bytes that make no sense become `damaged`.

    ``users_turn`` is true while code of the user's runs, whose errors stay as they are.
    """

    def __init__(self, file: Any) -> None:
        self.file = file
        self.users_turn = False

    def __enter__(self) -> reading:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        raw = isinstance(error, _RAW) and not isinstance(error, Said)
        # The place of a record lies before the file's beginning.
        raw = raw or (isinstance(error, OSError) and error.errno == errno.EINVAL)
        if raw and not self.users_turn:
            raise damaged(self.file, error or "") from error


def first_records(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the records of an archive by name. Of two with one name the first counts, as in
    PyTorch."""
    found: dict[str, zipfile.ZipInfo] = {}
    for entry in archive.infolist():
        found.setdefault(entry.filename, entry)
    return found
