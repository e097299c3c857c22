"""A key-value store in a file that processes of one machine lock."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
import weakref
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

from torchlike._runtime.rendezvous.errors import DistStoreError
from torchlike._runtime.rendezvous.table import KeyValueTable, names
from torchlike.distributed.stores import Store, as_bytes

__all__ = ["FileStore"]

_T = TypeVar("_T")
#: The keys by which the stores on a file are counted: those that are, and those that have gone.
_USERS, _GONE = "stores/here", "stores/gone"


class FileStore(Store):
    """A store in a file that processes of one machine share. A file that another library wrote is
    refused: DistStoreError. The file goes with the last of ``world_size`` stores on it; with -1 it
    stays.
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path = file_name
        self.add(_USERS, 1)
        weakref.finalize(self, _leave, file_name, world_size, os.getpid())

    def _changing(self, change: Callable[[dict[str, bytes]], _T], writes: bool = True) -> _T:
        """Call ``change`` with the file's entries, which nobody else has meanwhile, and return what
        it gives."""
        return _changed(self.path, change, writes)

    def set(self, key: str, value: Any) -> None:
        """Keep a value."""
        raw = as_bytes(value)
        self._changing(lambda values: values.__setitem__(key, raw))

    def get(self, key: str) -> bytes:
        """Wait until a key has a value, and return it."""
        self.wait([key])
        return self._changing(lambda values: values[key], writes=False)

    def add(self, key: str, amount: int) -> int:
        """Raise a number, from 0."""

        def raised(values: dict[str, bytes]) -> int:
            now = int(values.get(key, b"0")) + int(amount)
            values[key] = str(now).encode()
            return now

        return self._changing(raised)

    def append(self, key: str, value: Any) -> None:
        """Put a value behind what there is."""
        raw = as_bytes(value)
        self._changing(lambda values: values.__setitem__(key, values.get(key, b"") + raw))

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        """Change the value if it is the expected one."""
        table = KeyValueTable()

        def changed(values: dict[str, bytes]) -> bytes:
            table._values = values
            return table.compare_set(key, as_bytes(expected_value), as_bytes(desired_value))

        return self._changing(changed)

    def check(self, keys: list[str]) -> bool:
        """Return whether all keys are there."""
        return not self._missing(keys)

    def _missing(self, keys: list[str]) -> list[str]:
        return self._changing(lambda values: [k for k in keys if k not in values], writes=False)

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are there."""
        seconds = self._seconds(timeout)
        deadline, pause = time.monotonic() + seconds, 0.001
        while missing := self._missing(keys):
            if time.monotonic() > deadline:
                raise DistStoreError(
                    f"wait timeout after {seconds * 1000:.0f}ms, keys: {names(missing)} were set "
                    "by no process"
                )
            time.sleep(pause)
            pause = min(2 * pause, 0.05)

    def delete_key(self, key: str) -> bool:
        """Forget a key."""
        return self._changing(lambda values: values.pop(key, None) is not None)

    def list_keys(self) -> list[str]:
        """Return the keys."""
        return self._changing(lambda v: [key for key in v if key not in (_USERS, _GONE)], False)

    def num_keys(self) -> int:
        """Return the number of keys, one more than the script's: the stores on the file are counted
        by one."""
        return self._changing(len, writes=False)

    def queue_push(self, key: str, value: Any) -> None:
        """Raise NotImplementedError: a file has no queues."""
        raise NotImplementedError("FileStore has no queues. Use instead: TCPStore")

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Raise NotImplementedError: a file has no queues."""
        raise NotImplementedError("FileStore has no queues. Use instead: TCPStore")

    def queue_len(self, key: str) -> int:
        """Raise NotImplementedError: a file has no queues."""
        raise NotImplementedError("FileStore has no queues. Use instead: TCPStore")


def _changed(path: str, change: Callable[[dict[str, bytes]], _T], writes: bool) -> _T:
    """Call ``change`` with a file's entries, which nobody else has meanwhile, and return what it
    gives."""
    while True:
        with open(path, "a+b", opener=_private) as file:
            _refuse_strangers(file.fileno(), path)
            fcntl.flock(file, fcntl.LOCK_EX if writes else fcntl.LOCK_SH)
            if os.fstat(file.fileno()).st_nlink == 0:
                continue  # the last of its stores has removed it meanwhile
            file.seek(0)
            try:
                values = _entries(file.read())
            except ValueError as e:
                raise DistStoreError(f"{path} is no store of torchlike's: {e}") from None
            result = change(values)
            if writes:
                file.truncate(0)
                file.write(
                    b"".join(f"{k.encode().hex()} {v.hex()}\n".encode() for k, v in values.items())
                )
                file.flush()
            return result


def _private(path: str, flags: int) -> int:
    """Open a file, which is made for this user alone: objects in it are pickles."""
    return os.open(path, flags, 0o600)


def _refuse_strangers(descriptor: int, path: str) -> None:
    """Raise DistStoreError for a file of another user's, laid there perhaps before ours."""
    owner = os.fstat(descriptor).st_uid
    if owner not in (os.geteuid(), 0):
        raise DistStoreError(
            f"{path} belongs to user {owner}, and this is user {os.geteuid()}: what is in it would "
            "be believed. Name a file in a folder of your own"
        )


def _leave(path: str, world_size: int, pid: int) -> None:
    """Count a store that has gone from its file, and remove the file with the last."""
    if pid != os.getpid() or not os.path.exists(path):
        return  # a forked copy is none of the stores that were counted

    def counted(values: dict[str, bytes]) -> None:
        users, gone = int(values.get(_USERS, b"0")) - 1, int(values.get(_GONE, b"0")) + 1
        values[_USERS], values[_GONE] = str(users).encode(), str(gone).encode()
        if users == 0 and 0 <= world_size <= gone:
            os.unlink(path)

    with contextlib.suppress(OSError, DistStoreError):  # its folder may have gone before it
        _changed(path, counted, True)


def _entries(data: bytes) -> dict[str, bytes]:
    found = {}
    for line in data.decode("ascii").splitlines():
        key, _, value = line.partition(" ")
        found[bytes.fromhex(key).decode()] = bytes.fromhex(value)
    return found
