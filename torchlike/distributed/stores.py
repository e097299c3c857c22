"""Key-value stores: what processes tell each other by. Those of a world of one process.

Differs from PyTorch: waiting for a key that is not there raises at once, for there is nobody else
who could set it; a TCPStore opens no port, and a client of another process' store is refused.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn

_DEFAULT_TIMEOUT = timedelta(minutes=5)


class DistError(RuntimeError):
    """Something went wrong between processes."""


class DistBackendError(DistError):
    """In a backend."""


class DistNetworkError(DistError):
    """In the network."""


class DistStoreError(DistError):
    """In a store."""


class QueueEmptyError(DistStoreError):
    """A queue has nothing to give."""


def _bytes(value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if not isinstance(value, str):
        raise TypeError(f"a store keeps str or bytes, not {type(value).__name__}")
    return value.encode()


class Store:
    """Keys and values; base of the others. Its methods act on a dictionary in this process."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}
        self._queues: dict[str, list[bytes]] = {}
        self.timeout = _DEFAULT_TIMEOUT

    def _read(self) -> dict[str, bytes]:
        return self._values

    def _wrote(self) -> None:
        """After every change: where a subclass keeps it."""

    def set(self, key: str, value: Any) -> None:
        """Keep a value, str or bytes. TypeError for others."""
        self._read()[key] = _bytes(value)
        self._wrote()

    def get(self, key: str) -> bytes:
        """The value of a key. DistStoreError for one that is not there."""
        values = self._read()
        if key not in values:
            self._missing([key])
        return values[key]

    def add(self, key: str, amount: int) -> int:
        """Raise a number, from 0, and give what it is now."""
        values = self._read()
        now = int(values.get(key, b"0")) + int(amount)
        values[key] = str(now).encode()
        self._wrote()
        return now

    def append(self, key: str, value: Any) -> None:
        """Put a value behind what there is."""
        values = self._read()
        values[key] = values.get(key, b"") + _bytes(value)
        self._wrote()

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        """Change the value if it is the expected one, or make it if "" is expected of a key that
        is not there; the value the key has then, or the expected one when there is none."""
        values = self._read()
        expected = _bytes(expected_value)
        if key not in values and expected:
            return expected
        if values.get(key, b"") == expected:
            values[key] = _bytes(desired_value)
            self._wrote()
        return values[key]

    def check(self, keys: list[str]) -> bool:
        """Whether all keys are there."""
        return all(key in self._read() for key in keys)

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """DistStoreError unless all keys are there."""
        missing = [key for key in keys if key not in self._read()]
        if missing:
            self._missing(missing)

    def _missing(self, keys: list[str]) -> NoReturn:
        raise DistStoreError(
            f"wait timeout: keys {', '.join(keys)} are not in the store, and there is no other "
            "process to set them"
        )

    def delete_key(self, key: str) -> bool:
        """Forget a key; whether it was there."""
        found = self._read().pop(key, None) is not None
        self._wrote()
        return found

    def num_keys(self) -> int:
        """How many keys there are."""
        return len(self._read())

    def list_keys(self) -> list[str]:
        """The keys."""
        return list(self._read())

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
        """Kept, and not waited for: see the class."""
        self.timeout = timeout

    def queue_push(self, key: str, value: Any) -> None:
        """Put a value at the end of a queue."""
        self._queues.setdefault(key, []).append(_bytes(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value of a queue. QueueEmptyError for an empty one."""
        queue = self._queues.get(key)
        if not queue:
            raise QueueEmptyError(f"queue {key} is empty")
        return queue.pop(0)

    def queue_len(self, key: str) -> int:
        """How many values a queue has."""
        return len(self._queues.get(key, ()))

    def barrier(self, key: str, world_size: int, timeout: timedelta | None = None, *_: Any) -> None:
        """Nothing to wait for. DistStoreError for more than one process."""
        if world_size > 1:
            self._missing([key])

    def clone(self) -> Store:
        """Another handle of the same store: itself."""
        return self


class HashStore(Store):
    """A store in this process' memory."""


class FileStore(Store):
    """A store in a file, which outlives the process. A file that another library wrote is refused:
    DistStoreError."""

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path = file_name
        self._seen = -1
        Path(file_name).touch()

    def _read(self) -> dict[str, bytes]:
        path = Path(self.path)
        stamp = path.stat().st_mtime_ns if path.exists() else 0
        if stamp != self._seen:
            data = path.read_bytes() if path.exists() else b""
            try:
                entries = _entries(data)
            except ValueError as e:
                raise DistStoreError(f"{self.path} is no store of torchlike's: {e}") from None
            self._values, self._seen = entries, stamp
        return self._values

    def _wrote(self) -> None:
        lines = [f"{k.encode().hex()} {v.hex()}\n" for k, v in self._values.items()]
        Path(self.path).write_text("".join(lines))
        self._seen = Path(self.path).stat().st_mtime_ns


def _entries(data: bytes) -> dict[str, bytes]:
    found = {}
    for line in data.decode("ascii").splitlines():
        key, _, value = line.partition(" ")
        found[bytes.fromhex(key).decode()] = bytes.fromhex(value)
    return found


class TCPStore(Store):
    """The store of the process that is master of a world of one.

    NotImplementedError for more processes, or for a client (``is_master=False``).
    """

    def __init__(
        self, host_name: str, port: int, world_size: int | None = None, is_master: bool = False,
        timeout: timedelta = _DEFAULT_TIMEOUT, wait_for_workers: bool = True,
        multi_tenant: bool = False, master_listen_fd: int | None = None, use_libuv: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        if not is_master or (world_size or 1) > 1:
            raise NotImplementedError(
                "TCPStore: there is one process, which is its own master. Use instead: "
                "TCPStore(host, port, world_size=1, is_master=True), or HashStore()"
            )
        self.host, self.port, self.timeout = host_name, port, timeout
        self.libuvBackend = use_libuv


class PrefixStore(Store):
    """A store whose keys are those of another one behind a prefix and a slash."""

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        if not isinstance(store, Store):
            raise TypeError(f"PrefixStore: store must be a Store, not {type(store).__name__}")
        self.underlying_store, self._prefix = store, f"{prefix}/"

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

    def check(self, keys: list[str]) -> bool:
        """Whether all keys are there."""
        return self.underlying_store.check([self._prefix + key for key in keys])

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """DistStoreError unless all keys are there."""
        self.underlying_store.wait([self._prefix + key for key in keys], timeout)

    def delete_key(self, key: str) -> bool:
        """Forget a key there."""
        return self.underlying_store.delete_key(self._prefix + key)

    def num_keys(self) -> int:
        """How many keys the other store has."""
        return self.underlying_store.num_keys()

    def queue_push(self, key: str, value: Any) -> None:
        """Put a value at the end of a queue there."""
        self.underlying_store.queue_push(self._prefix + key, value)

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value of a queue there."""
        return self.underlying_store.queue_pop(self._prefix + key, block)

    def queue_len(self, key: str) -> int:
        """How many values a queue there has."""
        return self.underlying_store.queue_len(self._prefix + key)
