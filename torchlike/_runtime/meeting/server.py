"""A ``Table`` over TCP: the server's threads, one for each connection, and the client's sockets,
one for each thread of its.

A message is a list of byte strings, each after its length. Standard library only, as the table is.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence

from torchlike._runtime.meeting.errors import DistNetworkError, DistStoreError, QueueEmptyError
from torchlike._runtime.meeting.table import Table

_LENGTH = struct.Struct("!Q")
#: What a client says first, so that a stranger's bytes are not taken for lengths.
_HELLO = b"torchlike store 1\n"
#: Longest message that is believed: a length above it is a stranger's bytes.
_MOST = 1 << 40


def send(connection: socket.socket, parts: Sequence[bytes | memoryview]) -> None:
    """Send a message."""
    head = [_LENGTH.pack(len(parts)), *(_LENGTH.pack(len(p)) for p in parts)]
    small = b"".join(head)
    if sum(map(len, parts)) < 1 << 16:
        connection.sendall(small + b"".join(parts))
        return
    connection.sendall(small)
    for part in parts:
        connection.sendall(part)


def receive(connection: socket.socket) -> list[bytes]:
    """The next message. EOFError where the other side has closed."""
    count = _LENGTH.unpack(exactly(connection, _LENGTH.size))[0]
    if count > 1 << 24:
        raise EOFError
    lengths = [_LENGTH.unpack(exactly(connection, _LENGTH.size))[0] for _ in range(count)]
    if sum(lengths) > _MOST:
        raise EOFError
    return [bytes(exactly(connection, n)) for n in lengths]


def exactly(connection: socket.socket, size: int) -> bytearray:
    """That many bytes. EOFError where the other side has closed."""
    buffer = bytearray(size)
    view, got = memoryview(buffer), 0
    while got < size:
        n = connection.recv_into(view[got:])
        if n == 0:
            raise EOFError
        got += n
    return buffer


def _answer(table: Table, parts: list[bytes]) -> list[bytes]:
    op, rest = parts[0].decode(), parts[1:]
    return _OPERATIONS[op](table, rest)


def _nothing(_: object) -> list[bytes]:
    return []


def _key(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _raw(key: str) -> bytes:
    return key.encode("utf-8", "surrogateescape")


_OPERATIONS: dict[str, Callable[[Table, list[bytes]], list[bytes]]] = {
    "set": lambda t, a: _nothing([t.set(_key(k), v) for k, v in zip(a[::2], a[1::2], strict=True)]),
    "get": lambda t, a: [t.get(_key(k), float(a[0])) for k in a[1:]],
    "add": lambda t, a: [str(t.add(_key(a[0]), int(a[1]))).encode()],
    "append": lambda t, a: _nothing(t.append(_key(a[0]), a[1])),
    "compare_set": lambda t, a: [t.compare_set(_key(a[0]), a[1], a[2])],
    "missing": lambda t, a: [_raw(k) for k in t.missing([_key(k) for k in a])],
    "wait": lambda t, a: _nothing(t.wait([_key(k) for k in a[1:]], float(a[0]))),
    "delete": lambda t, a: [b"1" if t.delete(_key(a[0])) else b""],
    "keys": lambda t, a: [_raw(k) for k in Table.keys(t)],
    "push": lambda t, a: _nothing(t.push(_key(a[0]), a[1])),
    "pop": lambda t, a: [t.pop(_key(a[0]), float(a[1]))],
    "length": lambda t, a: [str(t.length(_key(a[0]))).encode()],
}


class Server:
    """Serves a table on a port (0: any that is free) until it is closed, or the process ends.

    Raises:
        DistNetworkError: the port is in use, or the address is none of this machine's.
    """

    def __init__(self, host: str, port: int, table: Table | None = None,
                 descriptor: int | None = None) -> None:  # fmt: skip
        self.table = Table() if table is None else table
        if descriptor is not None:
            self._socket = socket.socket(fileno=os.dup(descriptor))
            self._socket.listen(1024)  # whoever gives it may have bound it alone
        else:
            self._socket = _listening(host, port)
        self.port: int = self._socket.getsockname()[1]
        self._open: set[socket.socket] = set()
        self._thread = threading.Thread(target=self._accept, name="torchlike store", daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return  # closed
            self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True,
                             name="torchlike store's client").start()  # fmt: skip

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if exactly(connection, len(_HELLO)) != _HELLO:
                    return
                while True:
                    request = receive(connection)
                    try:
                        answer = [b"ok", *_answer(self.table, request)]
                    except QueueEmptyError as error:
                        answer = [b"empty", str(error).encode()]
                    except (DistStoreError, KeyError, ValueError, IndexError) as error:
                        answer = [b"error", str(error).encode()]
                    send(connection, answer)
            except (OSError, EOFError):
                pass  # the client has gone, which is no concern of the others
            finally:
                self._open.discard(connection)

    def close(self) -> None:
        """Close the port and all connections."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens on the port of all this machine's addresses."""
    last: OSError | None = None
    for family, address in ((socket.AF_INET6, "::"), (socket.AF_INET, "0.0.0.0")):
        try:
            found = socket.socket(family, socket.SOCK_STREAM)
        except OSError as error:
            last = error
            continue
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                found.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            found.bind((address, port))
            found.listen(1024)
            return found
        except OSError as error:
            found.close()
            last = error
    raise DistNetworkError(
        f"The server socket has failed to listen on any local network address. port: {port}, "
        f"host: {host}: {last}. If another process uses the port, give another one (MASTER_PORT, "
        "--master-port; 0 takes any that is free)"
    )


class Client:
    """Asks a server. Each thread has a connection of its own, so one that waits holds up no other.

    Raises:
        DistNetworkError: nobody answers at the address within ``seconds``, or a connection breaks.
    """

    def __init__(self, host: str, port: int, seconds: float) -> None:
        self.host, self.port, self.seconds = host, port, seconds
        self._own = threading.local()
        self._pid = os.getpid()
        self._own.connection = self._connect()

    def _connect(self) -> socket.socket:
        deadline = time.monotonic() + self.seconds
        pause = 0.01
        while True:
            left = deadline - time.monotonic()
            try:
                connection = socket.create_connection((self.host, self.port), max(left, 0.1))
                connection.settimeout(None)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.sendall(_HELLO)
                return connection
            except OSError as error:
                if time.monotonic() + pause > deadline:
                    raise DistNetworkError(
                        f"The client socket has timed out after {self.seconds * 1000:.0f}ms while "
                        f"trying to connect to ({self.host}, {self.port}): {error}. Is the process "
                        "of rank 0 running, and are MASTER_ADDR and MASTER_PORT its address?"
                    ) from None
            time.sleep(pause)
            pause = min(pause * 1.5, 0.5)

    def ask(self, op: str, *parts: bytes) -> list[bytes]:
        """The server's answer. DistStoreError as its table raises."""
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
        """The values of keys, once they are there."""
        return self.ask("get", str(seconds).encode(), *map(_raw, keys))

    def wait(self, keys: Sequence[str], seconds: float) -> None:
        """Return once all keys are there."""
        self.ask("wait", str(seconds).encode(), *map(_raw, keys))

    def missing(self, keys: Sequence[str]) -> list[str]:
        """Those of the keys that are not there."""
        return [_key(k) for k in self.ask("missing", *map(_raw, keys))]

    def keys(self) -> list[str]:
        """All keys."""
        return [_key(k) for k in self.ask("keys")]

    def on_key(self, op: str, key: str, *parts: bytes) -> list[bytes]:
        """The answer of another operation on a key."""
        return self.ask(op, _raw(key), *parts)

    def close(self) -> None:
        """Close this thread's connection."""
        connection = getattr(self._own, "connection", None)
        if connection is not None:
            connection.close()
            self._own.connection = None
