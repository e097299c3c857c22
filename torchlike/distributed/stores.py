"""Key-value stores: what processes tell each other by.

``TCPStore`` is a thread of its master's process that the others ask, ``HashStore`` a table that
threads share, ``FileStore`` (file_stores.py) a file. Asking for a key waits until somebody has set
it, or raises DistStoreError after the store's timeout.
"""

from __future__ import annotations

import operator
import time
from datetime import timedelta
from typing import Any

from torchlike._runtime.rendezvous.errors import (
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    QueueEmptyError,
)
from torchlike._runtime.rendezvous.secret import of_environment
from torchlike._runtime.rendezvous.server import Client, TableServer
from torchlike._runtime.rendezvous.table import KeyValueTable

__all__ = [
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "HashStore",
    "PrefixStore",
    "QueueEmptyError",
    "Store",
    "TCPStore",
]

_DEFAULT_TIMEOUT = timedelta(minutes=5)
#: The key by which the processes of a TCPStore are counted.
_HERE = "init/"


def as_bytes(value: Any) -> bytes:
    """Return a value as a store keeps it. TypeError for what is neither str nor bytes."""
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if not isinstance(value, str):
        raise TypeError(f"a store keeps str or bytes, not {type(value).__name__}")
    return value.encode()


class Store:
    """Keys and values; base of the others, and of a script's own.

    A subclass says ``set``, ``get``, ``add``, ``check``, ``wait`` and ``compare_set``; what acts on
    several keys, and ``append``, is made of them. NotImplementedError for what it leaves out.
    """

    timeout = _DEFAULT_TIMEOUT

    def __init__(self) -> None:
        self.timeout = _DEFAULT_TIMEOUT

    def _seconds(self, timeout: timedelta | None = None) -> float:
        given = self.timeout if timeout is None else timeout
        return given.total_seconds() if isinstance(given, timedelta) else float(given)

    def _absent(self, name: str) -> NotImplementedError:
        return NotImplementedError(
            f"{type(self).__name__}.{name}: Not implemented. Define it in the class, or use "
            "instead: a TCPStore"
        )

    def set(self, key: str, value: Any) -> None:
        """Keep a value, str or bytes. TypeError for others."""
        raise self._absent("set")

    def get(self, key: str) -> bytes:
        """Wait until a key has a value, and return it. DistStoreError after the timeout."""
        raise self._absent("get")

    def add(self, key: str, amount: int) -> int:
        """Raise a number, from 0, and give what it is now."""
        raise self._absent("add")

    def append(self, key: str, value: Any) -> None:
        """Put a value behind what there is."""
        there, own = b"", as_bytes(value)
        while (found := self.compare_set(key, there, there + own)) != there + own:
            there = found

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        """Change the value if it is the expected one, or make it if "" is expected of a key that
        is not there; the value the key has then, or the expected one when there is none."""
        raise self._absent("compare_set")

    def check(self, keys: list[str]) -> bool:
        """Return whether all keys are there."""
        raise self._absent("check")

    def _missing(self, keys: list[str]) -> list[str]:
        return [key for key in keys if not self.check([key])]

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are there. DistStoreError after the timeout, naming those that are
        missing."""
        raise self._absent("wait")

    def delete_key(self, key: str) -> bool:
        """Forget a key; whether it was there."""
        raise self._absent("delete_key")

    def list_keys(self) -> list[str]:
        """Return the keys."""
        raise self._absent("list_keys")

    def num_keys(self) -> int:
        """Return how many keys there are."""
        return len(self.list_keys())

    def multi_get(self, keys: list[str]) -> list[bytes]:
        """Return the values of several keys."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: list[str], values: list[Any]) -> None:
        """Keep several values."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def has_extended_api(self) -> bool:
        """Return whether ``append``, ``multi_get`` and ``multi_set`` are more than calls of the
        others."""
        return False

    def set_timeout(self, timeout: timedelta) -> None:
        """Wait so long for keys from now on."""
        self.timeout = timeout

    def queue_push(self, key: str, value: Any) -> None:
        """Put a value at the end of a queue."""
        raise self._absent("queue_push")

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value of a queue, once there is one; with ``block=False`` QueueEmptyError
        for an empty one."""
        raise self._absent("queue_pop")

    def queue_len(self, key: str) -> int:
        """Return how many values a queue has."""
        raise self._absent("queue_len")

    def barrier(self, key: str, world_size: int, timeout: timedelta | None = None, *_: Any) -> None:
        """Wait until ``world_size`` processes are here. DistStoreError after the timeout."""
        if self.add(f"{key}/arrived", 1) >= world_size:
            self.set(f"{key}/all", b"1")
        self.wait([f"{key}/all"], timeout)

    def clone(self) -> Store:
        """Return another handle of the same store: itself."""
        return self


class HashStore(Store):
    """A store in this process' memory, for its threads."""

    def __init__(self) -> None:
        super().__init__()
        self._table = KeyValueTable()

    def set(self, key: str, value: Any) -> None:
        """Keep a value, str or bytes. TypeError for others."""
        self._table.set(key, as_bytes(value))

    def get(self, key: str) -> bytes:
        """Wait until a key has a value, and return it."""
        return self._table.get(key, self._seconds())

    def add(self, key: str, amount: int) -> int:
        """Raise a number, from 0."""
        return self._table.add(key, operator.index(amount))

    def append(self, key: str, value: Any) -> None:
        """Put a value behind what there is."""
        self._table.append(key, as_bytes(value))

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        """Change the value if it is the expected one."""
        return self._table.compare_set(key, as_bytes(expected_value), as_bytes(desired_value))

    def check(self, keys: list[str]) -> bool:
        """Return whether all keys are there."""
        return not self._missing(keys)

    def _missing(self, keys: list[str]) -> list[str]:
        return self._table.missing(keys)

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are there."""
        self._table.wait(keys, self._seconds(timeout))

    def delete_key(self, key: str) -> bool:
        """Forget a key."""
        return self._table.delete(key)

    def list_keys(self) -> list[str]:
        """Return the keys."""
        return self._table.keys()

    def has_extended_api(self) -> bool:
        """Return True."""
        return True

    def queue_push(self, key: str, value: Any) -> None:
        """Put a value at the end of a queue."""
        self._table.push(key, as_bytes(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value of a queue, once there is one."""
        return self._table.pop(key, self._seconds() if block else 0.0)

    def queue_len(self, key: str) -> int:
        """Return how many values a queue has."""
        return self._table.length(key)


#: Servers of this process by port, for a second TCPStore with ``multi_tenant``.
_servers: dict[int, TableServer] = {}


class TCPStore(Store):
    """The store of the process that is master, which the others reach by its address. With port 0
    the master takes a free one, which ``port`` says. It listens at the address of ``host_name``
    alone, where that is one of this machine's, and serves who has the same TORCHLIKE_SECRET.

    Raises:
        ValueError: a ``world_size`` of 0.
        DistNetworkError: the port is in use, or nobody answers there within the timeout, or who
            does has another secret.
        DistStoreError: in the master, where ``world_size`` processes have not come within the
            timeout. The others do not wait for each other.
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = _DEFAULT_TIMEOUT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
        *,
        _secret: bytes | None = None,
    ) -> None:
        super().__init__()
        secret = of_environment() if _secret is None else _secret
        if world_size == 0:
            raise ValueError("TCPStore world size cannot be 0")
        self.host, self.timeout, self.libuvBackend = host_name, timeout, use_libuv
        self._server: TableServer | None = None
        if is_master:
            self._server = self._serving(port, multi_tenant, master_listen_fd, secret)
            port = self._server.port
        self.port = port
        self._client = Client(host_name, port, self._seconds(), secret)
        if world_size is not None and world_size > 0 and wait_for_workers:
            self._meet(world_size)

    def _serving(
        self, port: int, multi_tenant: bool, descriptor: int | None, secret: bytes
    ) -> TableServer:
        if multi_tenant and port in _servers:
            return _servers[port]
        made = TableServer(self.host, port, None, descriptor, secret)
        if multi_tenant:
            _servers[made.port] = made
        return made

    def _meet(self, world_size: int) -> None:
        came, pause = self.add(_HERE, 1), 0.001
        deadline = time.monotonic() + self._seconds()
        while self._server is not None and came < world_size:
            if time.monotonic() > deadline:
                raise DistStoreError(
                    f"Timed out after {self._seconds():.0f} seconds waiting for clients. "
                    f"{came}/{world_size} clients joined."
                )
            time.sleep(pause)
            came, pause = self.add(_HERE, 0), min(2 * pause, 0.05)

    def set(self, key: str, value: Any) -> None:
        """Keep a value."""
        self._client.set((key, as_bytes(value)))

    def get(self, key: str) -> bytes:
        """Wait until a key has a value, and return it."""
        return self._client.get(self._seconds(), key)[0]

    def add(self, key: str, amount: int) -> int:
        """Raise a number, from 0."""
        return int(self._client.on_key("add", key, str(operator.index(amount)).encode())[0])

    def append(self, key: str, value: Any) -> None:
        """Put a value behind what there is."""
        self._client.on_key("append", key, as_bytes(value))

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        """Change the value if it is the expected one."""
        return self._client.on_key(
            "compare_set", key, as_bytes(expected_value), as_bytes(desired_value)
        )[0]

    def check(self, keys: list[str]) -> bool:
        """Return whether all keys are there."""
        return not self._missing(keys)

    def _missing(self, keys: list[str]) -> list[str]:
        return self._client.missing(keys)

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are there."""
        self._client.wait(keys, self._seconds(timeout))

    def delete_key(self, key: str) -> bool:
        """Forget a key."""
        return bool(self._client.on_key("delete", key)[0])

    def list_keys(self) -> list[str]:
        """Return the keys."""
        every = self._client.keys()
        return [key for key in every if key != _HERE]

    def num_keys(self) -> int:
        """Return the number of keys, one more with a ``world_size``: processes are counted by
        one."""
        return len(self._client.keys())

    def has_extended_api(self) -> bool:
        """Return True."""
        return True

    def multi_get(self, keys: list[str]) -> list[bytes]:
        """Wait until several keys have values, and return them."""
        return self._client.get(self._seconds(), *keys)

    def multi_set(self, keys: list[str], values: list[Any]) -> None:
        """Keep several values."""
        self._client.set(*((k, as_bytes(v)) for k, v in zip(keys, values, strict=True)))

    def queue_push(self, key: str, value: Any) -> None:
        """Put a value at the end of a queue."""
        self._client.on_key("push", key, as_bytes(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value of a queue, once there is one."""
        seconds = self._seconds() if block else 0.0
        return self._client.on_key("pop", key, str(seconds).encode())[0]

    def queue_len(self, key: str) -> int:
        """Return how many values a queue has."""
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
        if store is None:
            raise ValueError("store argument cannot be None")
        if not isinstance(store, Store):
            raise TypeError(f"PrefixStore: store must be a Store, not {type(store).__name__}")
        self.underlying_store, self._prefix = store, f"{prefix}/"

    @property
    def _underlying_non_prefix_store(self) -> Store:
        below = self.underlying_store
        return below._underlying_non_prefix_store if isinstance(below, PrefixStore) else below

    @property
    def timeout(self) -> timedelta:  # type: ignore[override]
        """The other store's."""
        return self.underlying_store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Have the other store wait so long."""
        self.underlying_store.set_timeout(timeout)

    def set(self, key: str, value: Any) -> None:
        """Keep a value in the other store."""
        self.underlying_store.set(self._prefix + key, as_bytes(value))

    def get(self, key: str) -> bytes:
        """Return the key's value in the other store."""
        return self.underlying_store.get(self._prefix + key)

    def add(self, key: str, amount: int) -> int:
        """Raise a number there."""
        return self.underlying_store.add(self._prefix + key, amount)

    def append(self, key: str, value: Any) -> None:
        """Put a value behind what is there."""
        self.underlying_store.append(self._prefix + key, as_bytes(value))

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        """Change the value there if it is the expected one."""
        return self.underlying_store.compare_set(
            self._prefix + key, as_bytes(expected_value), as_bytes(desired_value)
        )

    def check(self, keys: list[str]) -> bool:
        """Return whether all keys are there."""
        return self.underlying_store.check([self._prefix + key for key in keys])

    def _missing(self, keys: list[str]) -> list[str]:
        found = self.underlying_store._missing([self._prefix + key for key in keys])
        return [key.removeprefix(self._prefix) for key in found]

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are there."""
        self.underlying_store.wait([self._prefix + key for key in keys], timeout)

    def delete_key(self, key: str) -> bool:
        """Forget a key there."""
        return self.underlying_store.delete_key(self._prefix + key)

    def list_keys(self) -> list[str]:
        """Return those keys of the other store that have the prefix, without it."""
        return [
            key.removeprefix(self._prefix)
            for key in self.underlying_store.list_keys()
            if key.startswith(self._prefix)
        ]

    def num_keys(self) -> int:
        """Return how many keys the other store has."""
        return self.underlying_store.num_keys()

    def multi_get(self, keys: list[str]) -> list[bytes]:
        """Return the values of several keys in the other store."""
        return self.underlying_store.multi_get([self._prefix + key for key in keys])

    def multi_set(self, keys: list[str], values: list[Any]) -> None:
        """Keep several values there."""
        keys = [self._prefix + key for key in keys]
        self.underlying_store.multi_set(keys, [as_bytes(value) for value in values])

    def has_extended_api(self) -> bool:
        """Return whether the other store has the extended API."""
        return self.underlying_store.has_extended_api()

    def queue_push(self, key: str, value: Any) -> None:
        """Put a value at the end of a queue there."""
        self.underlying_store.queue_push(self._prefix + key, value)

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value of a queue there."""
        return self.underlying_store.queue_pop(self._prefix + key, block)

    def queue_len(self, key: str) -> int:
        """Return how many values a queue of the other store has."""
        return self.underlying_store.queue_len(self._prefix + key)
