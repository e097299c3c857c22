"""Key-value stores: what processes tell each other by.

``TCPStore`` is a thread of its master's process that the others ask, ``FileStore`` a file that
processes of one machine lock, ``HashStore`` a table that threads share. Asking for a key waits
until somebody has set it, or raises DistStoreError after the store's timeout.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from torchlike._runtime.meeting.errors import (
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    QueueEmptyError,
)
from torchlike._runtime.meeting.server import Client, Server
from torchlike._runtime.meeting.table import Table, names

__all__ = [
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "FileStore",
    "HashStore",
    "PrefixStore",
    "QueueEmptyError",
    "Store",
    "TCPStore",
]

_DEFAULT_TIMEOUT = timedelta(minutes=5)
_T = TypeVar("_T")


def _bytes(value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if not isinstance(value, str):
        raise TypeError(f"a store keeps str or bytes, not {type(value).__name__}")
    return value.encode()


class Store:
    """Keys and values; base of the others. A subclass says ``set``, ``get`` and the rest; what it
    leaves out acts on a table in this process."""

    def __init__(self) -> None:
        self._table = Table()
        self.timeout = _DEFAULT_TIMEOUT

    def _seconds(self, timeout: timedelta | None = None) -> float:
        given = self.timeout if timeout is None else timeout
        return given.total_seconds() if isinstance(given, timedelta) else float(given)

    def set(self, key: str, value: Any) -> None:
        """Keep a value, str or bytes. TypeError for others."""
        self._table.set(key, _bytes(value))

    def get(self, key: str) -> bytes:
        """The value of a key, once there is one. DistStoreError after the timeout."""
        return self._table.get(key, self._seconds())

    def add(self, key: str, amount: int) -> int:
        """Raise a number, from 0, and give what it is now."""
        return self._table.add(key, int(amount))

    def append(self, key: str, value: Any) -> None:
        """Put a value behind what there is."""
        self._table.append(key, _bytes(value))

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        """Change the value if it is the expected one, or make it if "" is expected of a key that
        is not there; the value the key has then, or the expected one when there is none."""
        return self._table.compare_set(key, _bytes(expected_value), _bytes(desired_value))

    def check(self, keys: list[str]) -> bool:
        """Whether all keys are there."""
        return not self._missing(keys)

    def _missing(self, keys: list[str]) -> list[str]:
        return self._table.missing(keys)

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Return once all keys are there. DistStoreError after the timeout, naming those that are
        missing."""
        self._table.wait(keys, self._seconds(timeout))

    def delete_key(self, key: str) -> bool:
        """Forget a key; whether it was there."""
        return self._table.delete(key)

    def list_keys(self) -> list[str]:
        """The keys."""
        return self._table.keys()

    def num_keys(self) -> int:
        """How many keys there are."""
        return len(self.list_keys())

    def multi_get(self, keys: list[str]) -> list[bytes]:
        """The values of several keys."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: list[str], values: list[Any]) -> None:
        """Keep several values."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def has_extended_api(self) -> bool:
        """True: there are ``append``, ``multi_get`` and ``multi_set``."""
        return True

    def set_timeout(self, timeout: timedelta) -> None:
        """Wait so long for keys from now on."""
        self.timeout = timeout

    def queue_push(self, key: str, value: Any) -> None:
        """Put a value at the end of a queue."""
        self._table.push(key, _bytes(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value of a queue, once there is one; with ``block=False`` QueueEmptyError
        for an empty one."""
        return self._table.pop(key, self._seconds() if block else 0.0)

    def queue_len(self, key: str) -> int:
        """How many values a queue has."""
        return self._table.length(key)

    def barrier(self, key: str, world_size: int, timeout: timedelta | None = None, *_: Any) -> None:
        """Wait until ``world_size`` processes are here. DistStoreError after the timeout."""
        if self.add(f"{key}/arrived", 1) >= world_size:
            self.set(f"{key}/all", b"1")
        self.wait([f"{key}/all"], timeout)

    def clone(self) -> Store:
        """Another handle of the same store: itself."""
        return self


class HashStore(Store):
    """A store in this process' memory, for its threads."""


class FileStore(Store):
    """A store in a file that processes of one machine share. A file that another library wrote is
    refused: DistStoreError.

    Differs from PyTorch: the file stays when the last of ``world_size`` processes has gone.
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path = file_name
        Path(file_name).touch()

    def _changing(self, change: Callable[[dict[str, bytes]], _T], writes: bool = True) -> _T:
        """What ``change`` gives of the file's entries, which nobody else has meanwhile."""
        with open(self.path, "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX if writes else fcntl.LOCK_SH)
            file.seek(0)
            try:
                values = _entries(file.read())
            except ValueError as e:
                raise DistStoreError(f"{self.path} is no store of torchlike's: {e}") from None
            result = change(values)
            if writes:
                file.truncate(0)
                file.write(b"".join(f"{k.encode().hex()} {v.hex()}\n".encode()
                                    for k, v in values.items()))  # fmt: skip
                file.flush()
            return result

    def set(self, key: str, value: Any) -> None:
        """Keep a value."""
        raw = _bytes(value)
        self._changing(lambda values: values.__setitem__(key, raw))

    def get(self, key: str) -> bytes:
        """The value of a key, once there is one."""
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
        raw = _bytes(value)
        self._changing(lambda values: values.__setitem__(key, values.get(key, b"") + raw))

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        """Change the value if it is the expected one."""
        table = Table()

        def changed(values: dict[str, bytes]) -> bytes:
            table._values = values
            return table.compare_set(key, _bytes(expected_value), _bytes(desired_value))

        return self._changing(changed)

    def _missing(self, keys: list[str]) -> list[str]:
        return self._changing(lambda values: [k for k in keys if k not in values], writes=False)

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Return once all keys are there."""
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
        """The keys."""
        return self._changing(list, writes=False)

    def queue_push(self, key: str, value: Any) -> None:
        """NotImplementedError: a file has no queues."""
        raise NotImplementedError("FileStore has no queues. Use instead: TCPStore")

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """NotImplementedError: a file has no queues."""
        raise NotImplementedError("FileStore has no queues. Use instead: TCPStore")

    def queue_len(self, key: str) -> int:
        """NotImplementedError: a file has no queues."""
        raise NotImplementedError("FileStore has no queues. Use instead: TCPStore")


def _entries(data: bytes) -> dict[str, bytes]:
    found = {}
    for line in data.decode("ascii").splitlines():
        key, _, value = line.partition(" ")
        found[bytes.fromhex(key).decode()] = bytes.fromhex(value)
    return found


#: Servers of this process by port, for a second TCPStore with ``multi_tenant``.
_servers: dict[int, Server] = {}


class TCPStore(Store):
    """The store of the process that is master, which the others reach by its address. With port 0
    the master takes a free one, which ``port`` says.

    Raises:
        DistNetworkError: the port is in use, or nobody answers there within the timeout.
        DistStoreError: ``world_size`` processes have not come within the timeout.
    """

    def __init__(
        self, host_name: str, port: int, world_size: int | None = None, is_master: bool = False,
        timeout: timedelta = _DEFAULT_TIMEOUT, wait_for_workers: bool = True,
        multi_tenant: bool = False, master_listen_fd: int | None = None, use_libuv: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.host, self.timeout, self.libuvBackend = host_name, timeout, use_libuv
        self._server: Server | None = None
        if is_master:
            self._server = self._serving(port, multi_tenant, master_listen_fd)
            port = self._server.port
        self.port = port
        self._client = Client(host_name, port, self._seconds())
        if world_size is not None and world_size > 0 and wait_for_workers:
            self._meet(world_size)

    def _serving(self, port: int, multi_tenant: bool, descriptor: int | None) -> Server:
        if multi_tenant and port in _servers:
            return _servers[port]
        made = Server(self.host, port, descriptor=descriptor)
        if multi_tenant:
            _servers[made.port] = made
        return made

    def _meet(self, world_size: int) -> None:
        here = self.add("init/arrived", 1)
        if here >= world_size:
            self.set("init/all", b"1")
        try:
            self.wait(["init/all"])
        except DistStoreError:
            came = self.add("init/arrived", 0)
            raise DistStoreError(
                f"Timed out after {self._seconds():.0f} seconds waiting for clients. "
                f"{came}/{world_size} clients joined."
            ) from None

    def set(self, key: str, value: Any) -> None:
        """Keep a value."""
        self._client.set((key, _bytes(value)))

    def get(self, key: str) -> bytes:
        """The value of a key, once there is one."""
        return self._client.get(self._seconds(), key)[0]

    def add(self, key: str, amount: int) -> int:
        """Raise a number, from 0."""
        return int(self._client.on_key("add", key, str(int(amount)).encode())[0])

    def append(self, key: str, value: Any) -> None:
        """Put a value behind what there is."""
        self._client.on_key("append", key, _bytes(value))

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        """Change the value if it is the expected one."""
        return self._client.on_key(
            "compare_set", key, _bytes(expected_value), _bytes(desired_value)
        )[0]

    def _missing(self, keys: list[str]) -> list[str]:
        return self._client.missing(keys)

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Return once all keys are there."""
        self._client.wait(keys, self._seconds(timeout))

    def delete_key(self, key: str) -> bool:
        """Forget a key."""
        return bool(self._client.on_key("delete", key)[0])

    def list_keys(self) -> list[str]:
        """The keys."""
        return self._client.keys()

    def multi_get(self, keys: list[str]) -> list[bytes]:
        """The values of several keys, once they are there."""
        return self._client.get(self._seconds(), *keys)

    def multi_set(self, keys: list[str], values: list[Any]) -> None:
        """Keep several values."""
        self._client.set(*((k, _bytes(v)) for k, v in zip(keys, values, strict=True)))

    def queue_push(self, key: str, value: Any) -> None:
        """Put a value at the end of a queue."""
        self._client.on_key("push", key, _bytes(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value of a queue, once there is one."""
        seconds = self._seconds() if block else 0.0
        return self._client.on_key("pop", key, str(seconds).encode())[0]

    def queue_len(self, key: str) -> int:
        """How many values a queue has."""
        return int(self._client.on_key("length", key)[0])

    def close(self) -> None:
        """Close the connection, and the port where this is the master."""
        self._client.close()
        if self._server is not None:
            self._server.close()
            _servers.pop(self.port, None)

    def __del__(self) -> None:
        server = getattr(self, "_server", None)
        if server is not None and server.port not in _servers:
            server.close()


class PrefixStore(Store):
    """A store whose keys are those of another one behind a prefix and a slash."""

    def __init__(self, prefix: str, store: Store) -> None:
        if not isinstance(store, Store):
            raise TypeError(f"PrefixStore: store must be a Store, not {type(store).__name__}")
        self.underlying_store, self._prefix = store, f"{prefix}/"

    @property
    def timeout(self) -> timedelta:  # type: ignore[override]
        """The other store's."""
        return self.underlying_store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Have the other store wait so long."""
        self.underlying_store.set_timeout(timeout)

    def set(self, key: str, value: Any) -> None:
        """Keep a value in the other store."""
        self.underlying_store.set(self._prefix + key, value)

    def get(self, key: str) -> bytes:
        """Its value there."""
        return self.underlying_store.get(self._prefix + key)

    def add(self, key: str, amount: int) -> int:
        """Raise a number there."""
        return self.underlying_store.add(self._prefix + key, amount)

    def append(self, key: str, value: Any) -> None:
        """Put a value behind what is there."""
        self.underlying_store.append(self._prefix + key, value)

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        """Change the value there if it is the expected one."""
        return self.underlying_store.compare_set(self._prefix + key, expected_value, desired_value)

    def _missing(self, keys: list[str]) -> list[str]:
        found = self.underlying_store._missing([self._prefix + key for key in keys])
        return [key.removeprefix(self._prefix) for key in found]

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Return once all keys are there."""
        self.underlying_store.wait([self._prefix + key for key in keys], timeout)

    def delete_key(self, key: str) -> bool:
        """Forget a key there."""
        return self.underlying_store.delete_key(self._prefix + key)

    def list_keys(self) -> list[str]:
        """Those keys of the other store that have the prefix, without it."""
        return [key.removeprefix(self._prefix) for key in self.underlying_store.list_keys()
                if key.startswith(self._prefix)]  # fmt: skip

    def num_keys(self) -> int:
        """How many keys the other store has."""
        return self.underlying_store.num_keys()

    def multi_get(self, keys: list[str]) -> list[bytes]:
        """The values of several keys there."""
        return self.underlying_store.multi_get([self._prefix + key for key in keys])

    def multi_set(self, keys: list[str], values: list[Any]) -> None:
        """Keep several values there."""
        self.underlying_store.multi_set([self._prefix + key for key in keys], values)

    def queue_push(self, key: str, value: Any) -> None:
        """Put a value at the end of a queue there."""
        self.underlying_store.queue_push(self._prefix + key, value)

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value of a queue there."""
        return self.underlying_store.queue_pop(self._prefix + key, block)

    def queue_len(self, key: str) -> int:
        """How many values a queue there has."""
        return self.underlying_store.queue_len(self._prefix + key)
