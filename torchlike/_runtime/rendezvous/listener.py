"""A port: who connects is asked for the secret, and served in a thread of its own.

Standard library only.
"""

from __future__ import annotations

import contextlib
import importlib
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from torchlike._runtime.rendezvous import secret as secrets

#: Seconds to show the secret in: who says nothing holds no place for longer.
_PATIENCE = 10.0
#: How many may be asked for it at once. Others wait in the system's queue.
_ASKED_AT_ONCE = 128
#: Connections of one port, and descriptors that are left to the process.
_MOST, _LEFT = 1 << 14, 128


def most_connections() -> int:
    """Return how many connections one port takes: fewer than the process may have files open."""
    try:
        resource: Any = importlib.import_module("resource")
    except ImportError:  # Windows
        return _MOST
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if allowed == resource.RLIM_INFINITY else max(16, min(_MOST, allowed - _LEFT))


class Listener:
    """Serves whoever connects to a socket and knows the secret, until it is closed."""

    def __init__(
        self,
        listening: socket.socket,
        secret: bytes,
        serve: Callable[[socket.socket], None],
        name: str,
    ) -> None:
        self.port: int = listening.getsockname()[1]
        self._socket, self._secret, self._serve_one, self._name = listening, secret, serve, name
        self._open: set[socket.socket] = set()
        self._most = most_connections()
        self._asked = threading.BoundedSemaphore(_ASKED_AT_ONCE)
        threading.Thread(target=self._accept, name=name, daemon=True).start()

    def _accept(self) -> None:
        while True:
            with self._asked:  # a place is free now
                pass
            try:
                connection, _ = self._socket.accept()
            except OSError:
                if self._socket.fileno() < 0:
                    return  # closed
                time.sleep(0.05)  # no descriptors are left for a moment
                continue
            if len(self._open) >= self._most:
                connection.close()
                continue
            self._asked.acquire()
            self._open.add(connection)
            threading.Thread(
                target=self._serve, args=(connection,), daemon=True, name=f"{self._name}'s client"
            ).start()

    def _admit(self, connection: socket.socket) -> bool:
        try:
            connection.settimeout(_PATIENCE)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if not secrets.admit(connection, self._secret):
                return False
            connection.settimeout(None)
            return True
        finally:
            self._asked.release()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                if self._admit(connection):
                    self._serve_one(connection)
            except (OSError, EOFError, MemoryError):
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
