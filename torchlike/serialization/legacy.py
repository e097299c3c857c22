"""The format before PyTorch 1.6: pickles in a row, then each storage's length and bytes.

The storages lie behind the pickle that names them, and their lengths count elements, whose size
that pickle tells. So it is read twice: first for the storages' types alone.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from typing import Any

MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001


def is_legacy(file: Any) -> bool:
    """Whether a checkpoint in this format begins where ``file`` stands. The file moves."""
    head = pickle.dumps(MAGIC, protocol=2)
    return file.read(len(head))[2:-1] == head[2:-1]  # after the protocol's number


def _pickle_of(file: Any) -> bytes:
    """The next pickle in a file, as it is."""
    start = file.tell()
    try:
        for _ in pickletools.genops(file):
            pass
    except ValueError as error:
        raise EOFError(str(error)) from error
    end = file.tell()
    file.seek(start)
    return file.read(end - start)


def _read(file: Any, length: int) -> bytes:
    """That many bytes, or as many as there are, through ``readinto`` where the file has it."""
    if not hasattr(file, "readinto"):
        return file.read(length)
    memory = bytearray(length)
    return bytes(memory[: file.readinto(memory)])


class _Anything:
    """Takes what any object is given while a pickle is read, and does nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def _ignore(self, *args: Any) -> None:
        pass

    __setstate__ = __setitem__ = append = extend = add = update = _ignore


class _Survey(pickle.Unpickler):
    """Makes nothing of a pickle; keeps the name of each storage's class, by its key."""

    def __init__(self, code: bytes) -> None:
        super().__init__(io.BytesIO(code), encoding="latin1")
        self.types: dict[str, str] = {}

    def find_class(self, module: str, name: str) -> Any:
        return type(name, (_Anything,), {})

    def persistent_load(self, pid: Any) -> Any:
        if pid[0] == "storage":
            self.types[pid[2]] = pid[1].__name__
        return _Anything()


class _Plain(pickle.Unpickler):
    """Reads numbers, text, lists and dictionaries."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name} is not allowed in a checkpoint's header")


def _plain(file: Any) -> Any:
    return _Plain(io.BytesIO(_pickle_of(file))).load()


def parts(file: Any, itemsize: dict[str, int]) -> tuple[bytes, bool, dict[str, bytes]]:
    """A file's main pickle, whether its numbers are big-endian, and each storage's bytes.

    itemsize: bytes of an element, by the name of the storage's class; others count bytes.
    RuntimeError for another version of the format, or a file that ends too early.
    """
    _plain(file)
    version = _plain(file)
    if version != PROTOCOL:
        raise RuntimeError(f"Invalid protocol version: {version}")
    big = not _plain(file).get("little_endian", True)
    code = _pickle_of(file)
    survey = _Survey(code)
    survey.load()
    contents: dict[str, bytes] = {}
    for key in _plain(file):
        count = int.from_bytes(file.read(8), "big" if big else "little")
        length = count * itemsize.get(survey.types[key], 1)
        contents[key] = _read(file, length)
        if len(contents[key]) < length:
            raise RuntimeError(
                f"the checkpoint is truncated: storage {key} has {len(contents[key])} of {length} "
                "bytes"
            )
    return code, big, contents


def write(file: Any, code: bytes, storages: dict[str, tuple[int, Any]]) -> None:
    """Write a checkpoint. storages: key -> (number of elements, little-endian bytes)."""
    sizes = {"short": 2, "int": 4, "long": 4}
    for value in (MAGIC, PROTOCOL, {"protocol_version": PROTOCOL, "little_endian": True,
                                    "type_sizes": sizes}):  # fmt: skip
        file.write(pickle.dumps(value, protocol=2))
    file.write(code)
    keys = sorted(storages)
    file.write(pickle.dumps(keys, protocol=2))
    for key in keys:
        count, content = storages[key]
        file.write(count.to_bytes(8, "little"))
        file.write(content)
