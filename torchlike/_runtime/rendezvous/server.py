"""A ``KeyValueTable`` over TCP: the server's threads, one for each connection, and the client's
sockets, one for each thread of its.

Standard library only, as the table is.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Sequence

from torchlike._runtime.rendezvous.addresses import listening
from torchlike._runtime.rendezvous.errors import DistNetworkError, DistStoreError, QueueEmptyError
from torchlike._runtime.rendezvous.listener import Listener
from torchlike._runtime.rendezvous.secret import present
from torchlike._runtime.rendezvous.table import KeyValueTable
from torchlike._runtime.rendezvous.wire import receive, send


def _answer(table: KeyValueTable, parts: list[bytes]) -> list[bytes]:
    op, rest = parts[0].decode(), parts[1:]
    return _OPERATIONS[op](table, rest)


def _nothing(_: object) -> list[bytes]:
    return []


def _key(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _raw(key: str) -> bytes:
    return key.encode("utf-8", "surrogateescape")


_OPERATIONS: dict[str, Callable[[KeyValueTable, list[bytes]], list[bytes]]] = {
    "set": lambda t, a: _nothing([t.set(_key(k), v) for k, v in zip(a[::2], a[1::2], strict=True)]),
    "get": lambda t, a: [t.get(_key(k), float(a[0])) for k in a[1:]],
    "add": lambda t, a: [str(t.add(_key(a[0]), int(a[1]))).encode()],
    "append": lambda t, a: _nothing(t.append(_key(a[0]), a[1])),
    "compare_set": lambda t, a: [t.compare_set(_key(a[0]), a[1], a[2])],
    "missing": lambda t, a: [_raw(k) for k in t.missing([_key(k) for k in a])],
    "wait": lambda t, a: _nothing(t.wait([_key(k) for k in a[1:]], float(a[0]))),
    "delete": lambda t, a: [b"1" if t.delete(_key(a[0])) else b""],
    "keys": lambda t, a: [_raw(k) for k in KeyValueTable.keys(t)],
    "push": lambda t, a: _nothing(t.push(_key(a[0]), a[1])),
    "pop": lambda t, a: [t.pop(_key(a[0]), float(a[1]))],
    "length": lambda t, a: [str(t.length(_key(a[0]))).encode()],
}


class TableServer:
    """Serves a table to those who know the secret, on a port (0: any that is free) of the host's
    address, until it is closed, or the process ends.

    Raises:
        DistNetworkError: the port is in use.
    """

    def __init__(
        self,
        host: str,
        port: int,
        table: KeyValueTable | None = None,
        descriptor: int | None = None,
        secret: bytes = b"",
    ) -> None:
        self.table = KeyValueTable() if table is None else table
        if descriptor is not None:
            taken = socket.socket(fileno=os.dup(descriptor))
            taken.listen(1024)  # whoever gives it may have bound it alone
        else:
            taken = listening(host, port)
        self._listener = Listener(taken, secret, self._serve, "torchlike store")
        self.port: int = self._listener.port

    def _serve(self, connection: socket.socket) -> None:
        while True:
            request = receive(connection)
            try:
                answer = [b"ok", *_answer(self.table, request)]
            except QueueEmptyError as error:
                answer = [b"empty", str(error).encode()]
            except (DistStoreError, KeyError, ValueError, IndexError, OverflowError) as error:
                answer = [b"error", str(error).encode()]
            send(connection, answer)

    def close(self) -> None:
        """Close the port and all connections."""
        self._listener.close()


def connected(host: str, port: int, seconds: float, secret: bytes) -> socket.socket:
    """Return a connection to who listens there and knows the secret. DistNetworkError where it does
    not; EOFError or OSError where nobody answers within ``seconds``."""
    connection = socket.create_connection((host, port), seconds)
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        present(connection, secret)
        connection.settimeout(None)
    except BaseException:
        connection.close()
        raise
    return connection


class Client:
    """Asks a server. Each thread has a connection of its own, so one that waits holds up no other.

    Raises:
        DistNetworkError: nobody answers at the address within ``seconds``, or who does has another
            secret, or a connection breaks.
    """

    def __init__(self, host: str, port: int, seconds: float, secret: bytes = b"") -> None:
        self.host, self.port, self.seconds, self._secret = host, port, seconds, secret
        self._own = threading.local()
        self._pid = os.getpid()
        self._own.connection = self._connect()

    def _connect(self) -> socket.socket:
        deadline = time.monotonic() + self.seconds
        pause = 0.01
        while True:
            left = deadline - time.monotonic()
            try:
                return connected(self.host, self.port, max(left, 0.1), self._secret)
            except (OSError, EOFError) as error:
                if time.monotonic() + pause > deadline:
                    raise DistNetworkError(
                        f"The client socket has timed out after {self.seconds * 1000:.0f}ms while "
                        f"trying to connect to ({self.host}, {self.port}): {error}. Is the process "
                        "of rank 0 running, and are MASTER_ADDR and MASTER_PORT its address?"
                    ) from None
            time.sleep(pause)
            pause = min(pause * 1.5, 0.5)

    def ask(self, op: str, *parts: bytes) -> list[bytes]:
        """Send a request and return the server's answer. DistStoreError as its table raises."""
        connection = getattr(self._own, "connection", None)
        if connection is None or self._pid != os.getpid():
            connection = self._own.connection = self._connect()
            self._pid = os.getpid()
        try:
            send(connection, [op.encode(), *parts])
            kind, *answer = receive(connection)
        except BaseException as error:
            connection.close()  # a half-read answer would be taken for the next one's
            self._own.connection = None
            if isinstance(error, (OSError, EOFError)):
                raise DistNetworkError(
                    f"the store at ({self.host}, {self.port}) has closed the connection: the "
                    "process that serves it (rank 0's, or the launcher) has ended"
                ) from None
            raise
        if kind == b"ok":
            return answer
        raise (QueueEmptyError if kind == b"empty" else DistStoreError)(answer[0].decode())

    def set(self, *pairs: tuple[str, bytes]) -> None:
        """Keep values."""
        self.ask("set", *(p for key, value in pairs for p in (_raw(key), value)))

    def get(self, seconds: float, *keys: str) -> list[bytes]:
        """Wait until keys are there, and return their values."""
        return self.ask("get", str(seconds).encode(), *map(_raw, keys))

    def wait(self, keys: Sequence[str], seconds: float) -> None:
        """Return once all keys are there."""
        self.ask("wait", str(seconds).encode(), *map(_raw, keys))

    def missing(self, keys: Sequence[str]) -> list[str]:
        """Return the keys that are not there."""
        return [_key(k) for k in self.ask("missing", *map(_raw, keys))]

    def keys(self) -> list[str]:
        """Return all keys of the server's table."""
        return [_key(k) for k in self.ask("keys")]

    def on_key(self, op: str, key: str, *parts: bytes) -> list[bytes]:
        """Return the server's answer to another operation on a key."""
        return self.ask(op, _raw(key), *parts)

    def close(self) -> None:
        """Close this thread's connection."""
        connection = getattr(self._own, "connection", None)
        if connection is not None:
            connection.close()
            self._own.connection = None
