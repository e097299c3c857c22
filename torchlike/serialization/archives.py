"""The archives that checkpoints are: opened by path or file, told apart from other files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any

import numpy as np

from torchlike._compat.archives import PyTorchFileReader, PyTorchFileWriter


class _open_zipfile_writer:
    """``with _open_zipfile_writer(path or file) as writer:`` an archive that is whole at the
    end."""

    def __init__(self, name_or_buffer: Any) -> None:
        self._file: IO[bytes] | None = None
        if isinstance(name_or_buffer, (str, os.PathLike)):
            parent = Path(os.fspath(name_or_buffer)).parent
            if not parent.is_dir():
                raise RuntimeError(f"Parent directory {parent} does not exist.")
        elif not callable(getattr(name_or_buffer, "write", None)):
            raise AttributeError(
                f"Buffer of {str(type(name_or_buffer)).strip('<>')} has no callable attribute "
                "'write'"
            )
        else:
            self._file = name_or_buffer
        self.file_like = PyTorchFileWriter(name_or_buffer)

    def __enter__(self) -> PyTorchFileWriter:
        return self.file_like

    def __exit__(self, *exc: object) -> None:
        self.file_like.write_end_of_file()
        if self._file is not None and hasattr(self._file, "flush"):
            self._file.flush()


class _open_zipfile_reader:
    """``with _open_zipfile_reader(path or file) as reader:`` the records of an archive."""

    def __init__(self, name_or_buffer: Any) -> None:
        self.file_like = PyTorchFileReader(name_or_buffer)

    def __enter__(self) -> PyTorchFileReader:
        return self.file_like

    def __exit__(self, *exc: object) -> None:
        """Do nothing: who gave a file closes it."""


def _is_zipfile(file: Any) -> bool:
    """Return whether a zip archive begins where ``file`` stands, and the file stays there."""
    start = file.tell()
    head = file.read(4)
    file.seek(start)
    return head == b"PK\x03\x04"


def little(memory: np.ndarray) -> memoryview:
    """Return the bytes of an array, uncopied where they are little-endian already."""
    ordered = memory.astype(memory.dtype.newbyteorder("<"), copy=False)
    return np.ascontiguousarray(ordered).reshape(-1).view(np.uint8).data
