"""The format before PyTorch 1.6: pickles in a row, then each storage's length and bytes.

The storages lie behind the pickle that names them, and their lengths count elements, whose size
that pickle tells. So it is read twice: first for the storages' types alone.
"""

from __future__ import annotations

import contextlib
import pickle
import pickletools
from collections.abc import Callable, Iterator
from typing import Any

from torchlike.serialization.opcodes import Machine
from torchlike.serialization.survey import Inert, Survey

MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001
#: How files begin, by the protocol of their pickles.
_HEADS = tuple(pickle.dumps(MAGIC, protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1))


def is_legacy(file: Any) -> bool:
    """Return whether a checkpoint in this format begins where ``file`` stands. The file moves."""
    head = file.read(max(map(len, _HEADS)))
    return head.startswith(_HEADS)


def _pickle_of(file: Any) -> bytes:
    """Read the next pickle in a file, as it is."""
    start = file.tell()
    sparing: Any = _Sparing(file)
    try:
        for _ in pickletools.genops(sparing):
            pass
    except ValueError as error:
        raise EOFError(str(error)) from error
    end = file.tell()
    file.seek(start)
    return file.read(end - start)


#: Bytes that are asked of a file at a time: for no more is memory taken before it gives some.
_AT_ONCE = 16 << 20


def _read(file: Any, length: int) -> bytes:
    """Read that many bytes, or as many as there are, through ``readinto`` where the file has it."""
    parts: list[Any] = []
    missing = length
    while missing > 0:
        wanted = min(missing, _AT_ONCE)
        if hasattr(file, "readinto"):
            memory = bytearray(wanted)
            part = memoryview(memory)[: file.readinto(memory)]
        else:
            part = file.read(wanted)
        if not part:
            break
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


class _Sparing:
    """A file that is asked for no more at a time than it may well have: a pickle says how long its
    texts are, before they come."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.readline, self.tell = file.readline, file.tell

    def read(self, length: int) -> bytes:
        """Read that many bytes, or as many as there are."""
        return self._file.read(length) if length < _AT_ONCE else _read(self._file, length)


class _Survey(Survey):
    """Keeps the name of each storage's class, by its key."""

    def __init__(self, code: bytes) -> None:
        super().__init__(code)
        self.types: dict[str, str] = {}

    def persistent_load(self, pid: Any) -> Any:
        if pid[0] == "storage":
            self.types[pid[2]] = pid[1].name
        return Inert()


def _plain(file: Any) -> Any:
    """Return the next pickle in a file, of numbers, text, lists and dictionaries."""
    code = _pickle_of(file)
    with _damage():
        return Machine(code, "latin1").load()  # whatever the user says that the text is in


def _types(code: bytes) -> dict[str, str]:
    """Return the name of each storage's class, by its key, in a file's main pickle."""
    survey = _Survey(code)
    with _damage():
        survey.load()
    return survey.types


@contextlib.contextmanager
def _damage() -> Iterator[None]:
    """Raise RuntimeError in a ``with`` block for whatever stops an unpickler that makes nothing but
    plain values."""
    try:
        yield
    except (pickle.UnpicklingError, EOFError):
        raise
    except Exception as error:
        raise RuntimeError(f"the checkpoint is damaged: {error!r}") from error


def parts(file: Any, itemsize: dict[str, int]) -> tuple[bytes, bool, dict[str, bytes]]:
    """Read a file's main pickle, whether its numbers are big-endian, and each storage's bytes.

    itemsize: bytes of an element, by the name of the storage's class; others count bytes.
    RuntimeError for another version of the format, or a file that ends too early.
    """
    _plain(file)
    version = _plain(file)
    if version != PROTOCOL:
        raise RuntimeError(f"Invalid protocol version: {version}")
    about = _plain(file)
    big = not about.get("little_endian", True) if isinstance(about, dict) else False
    code = _pickle_of(file)
    types, keys = _types(code), _plain(file)
    if not (isinstance(keys, list) and all(type(key) is str and key in types for key in keys)):
        raise RuntimeError("the checkpoint is damaged: it lists storages that it does not name")
    contents: dict[str, bytes] = {}
    for key in keys:
        count = int.from_bytes(file.read(8), "big" if big else "little")
        length = count * itemsize.get(types[key], 1)
        contents[key] = _read(file, length)
        if len(contents[key]) < length:
            raise RuntimeError(
                f"the checkpoint is truncated: storage {key} has {len(contents[key])} of {length} "
                "bytes"
            )
    return code, big, contents


def write(
    file: Any, code: bytes, storages: dict[str, tuple[int, Any]], dumps: Callable[[Any], bytes]
) -> None:
    """Write a checkpoint. storages: key -> (number of elements, little-endian bytes); ``dumps``
    pickles what stands around them."""
    sizes = {"short": 2, "int": 4, "long": 4}
    for value in (
        MAGIC,
        PROTOCOL,
        {"protocol_version": PROTOCOL, "little_endian": True, "type_sizes": sizes},
    ):
        file.write(dumps(value))
    file.write(code)
    keys = sorted(storages)
    file.write(dumps(keys))
    for key in keys:
        count, content = storages[key]
        file.write(count.to_bytes(8, "little"))
        file.write(content)
