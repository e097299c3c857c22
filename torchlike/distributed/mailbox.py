"""What one process sends another: each has a port, and keeps what arrives until it is received.

``isend`` and ``irecv`` match by sender and tag, in the order in which they were posted, whatever
else the two do in between; a permutation of XLA's would have both run it at the same point of their
programs, and a ring of sends would hang. Through the same port a process is asked how far it has
come, so that an error can name the rank that is behind.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from torchlike._core import dtypes
from torchlike._runtime.rendezvous import secret, wire
from torchlike._runtime.rendezvous.addresses import listening, towards
from torchlike._runtime.rendezvous.errors import DistNetworkError
from torchlike._runtime.rendezvous.listener import Listener
from torchlike._runtime.rendezvous.server import connected
from torchlike.distributed.stores import DistBackendError, DistStoreError, Store

#: Seconds after which a receiver asks whether the sender still runs, and how often again.
_FIRST_LOOK, _NEXT_LOOK = 2.0, 5.0


class _Queue:
    """Messages of one sender under one tag, by number, and how many were posted for."""

    def __init__(self) -> None:
        self.messages: dict[int, tuple[str, tuple[int, ...], bytes]] = {}
        self.arrived = 0
        self.posted = 0


class Mailbox:
    """This process' port, and its ways to the others'."""

    def __init__(self, rank: int, store: Store, host: str) -> None:
        self.rank, self._store = rank, store
        self._changed = threading.Condition()
        self._queues: dict[tuple[int, int, int], _Queue] = {}
        self._order: list[tuple[int, int, int]] = []
        self._gone: set[int] = set()
        self._ways: dict[int, tuple[socket.socket, threading.Lock]] = {}
        #: Gives what to tell who asks how far this process has come.
        self.state: Callable[[], dict[str, Any]] = dict
        #: A secret of its own: who may read the store may write to this process.
        own, address = secret.drawn(), towards(host)
        self._listener = Listener(listening(address, 0), own.encode(), self._take, "torchlike mail")
        store.set(f"mail/{rank}", f"{own}@{address}:{self._listener.port}")

    def _take(self, connection: socket.socket) -> None:
        sender: int | None = None
        try:
            while True:
                kind, *parts = wire.receive(connection)
                if kind == b"state":
                    wire.send(connection, [json.dumps(self.state()).encode()])
                    continue
                source, group, tag = json.loads(parts[0])
                sender = source
                dtype, shape = json.loads(parts[1])
                self._put((group, source, tag), (dtype, tuple(shape), parts[2]))
        except (OSError, EOFError, ValueError, TypeError, IndexError, MemoryError):
            if sender is not None:
                with self._changed:
                    self._gone.add(sender)
                    self._changed.notify_all()

    def _put(self, key: tuple[int, int, int], message: tuple[str, tuple[int, ...], bytes]) -> None:
        with self._changed:
            queue = self._queues.setdefault(key, _Queue())
            queue.messages[queue.arrived] = message
            queue.arrived += 1
            self._order.append(key)
            self._changed.notify_all()

    # -- sending -----------------------------------------------------------------------------------

    def _connect(self, peer: int, seconds: float) -> socket.socket:
        own, _, place = self._store.get(f"mail/{peer}").decode().rpartition("@")
        host, _, port = place.rpartition(":")
        return connected(host, int(port), seconds, own.encode())

    def post(self, peer: int, group: int, tag: int, values: np.ndarray, dtype: str) -> None:
        """Send values. DistBackendError where the peer has ended."""
        try:
            if peer not in self._ways:
                self._ways[peer] = self._connect(peer, 30.0), threading.Lock()
            connection, lock = self._ways[peer]
            head = json.dumps([self.rank, group, tag]).encode()
            what = json.dumps([dtype, list(values.shape)]).encode()
            contiguous = np.ascontiguousarray(values).reshape(-1)
            with lock:
                wire.send(connection, [b"post", head, what, contiguous.view(np.uint8).data])
        except (OSError, EOFError, DistNetworkError) as error:
            self._ways.pop(peer, None)
            raise DistBackendError(
                f"send: rank {self.rank} cannot reach rank {peer}, which has ended ({error})"
            ) from None

    # -- receiving ---------------------------------------------------------------------------------

    def expect(self, peer: int, group: int, tag: int) -> int:
        """Note a posted receive, and return the number of the message that it will get."""
        with self._changed:
            queue = self._queues.setdefault((group, peer, tag), _Queue())
            queue.posted += 1
            return queue.posted - 1

    def has(self, peer: int, group: int, tag: int, number: int) -> bool:
        """Return whether a message has arrived."""
        with self._changed:
            return number < self._queues[group, peer, tag].arrived

    def collect(
        self, peer: int, group: int, tag: int, number: int, seconds: float
    ) -> tuple[str, tuple[int, ...], bytes]:
        """Wait for a message and return it. DistBackendError where the peer has ended, or after
        ``seconds``."""
        key = (group, peer, tag)
        queue = self._queues[key]
        self._wait(lambda: number in queue.messages, [peer], seconds, "recv")
        with self._changed:
            self._order.remove(key)
            return queue.messages.pop(number)

    def collect_any(
        self, peers: list[int], group: int, tag: int, seconds: float
    ) -> tuple[int, tuple[str, tuple[int, ...], bytes]]:
        """Wait for the first message of any of the peers that no posted receive is for, and return
        it with its sender."""

        def first() -> tuple[int, int, int] | None:
            for key in self._order:
                if key[0] == group and key[2] == tag and key[1] in peers:
                    queue = self._queues[key]
                    if queue.arrived > queue.posted:
                        return key
            return None

        self._wait(lambda: first() is not None, peers, seconds, "recv")
        key = first()
        assert key is not None
        number = self.expect(key[1], group, tag)
        return key[1], self.collect(key[1], group, tag, number, seconds)

    def _wait(self, ready: Callable[[], bool], peers: list[int], seconds: float, what: str) -> None:
        deadline = time.monotonic() + seconds
        look = time.monotonic() + _FIRST_LOOK
        who = f"rank {', '.join(map(str, peers))}"
        while True:
            with self._changed:
                if ready():
                    return
                now = time.monotonic()
                if now < min(deadline, look) and not all(p in self._gone for p in peers):
                    self._changed.wait(min(deadline, look, now + 1.0) - now)
                    continue
                if ready():
                    return
            if all(p in self._gone or self.ask(p) is None for p in peers):
                raise DistBackendError(
                    f"{what}: rank {self.rank} waits for {who}, which has ended without sending"
                )
            if time.monotonic() >= deadline:
                raise DistBackendError(
                    f"{what}: rank {self.rank} waited {seconds:.0f} s for {who}, which sent nothing"
                )
            look = time.monotonic() + _NEXT_LOOK

    # -- asking ------------------------------------------------------------------------------------

    def ask(self, peer: int, seconds: float = 3.0) -> dict[str, Any] | None:
        """Ask another process how far it has come; None where it has ended or does not answer."""
        try:
            with contextlib.closing(self._connect(peer, seconds)) as connection:
                connection.settimeout(seconds)
                wire.send(connection, [b"state"])
                return json.loads(wire.receive(connection)[0])
        except (OSError, EOFError, ValueError, DistStoreError):
            return None

    def close(self) -> None:
        """Close the port and the ways."""
        self._listener.close()
        for connection, _ in self._ways.values():
            connection.close()
        self._ways.clear()


_BY_NAME = {dtype.name: dtype for dtype in dtypes.ALL}


def decoded(message: tuple[str, tuple[int, ...], bytes]) -> np.ndarray:
    """Return the values of a message."""
    name, shape, data = message
    return np.frombuffer(data, _BY_NAME[name].numpy).reshape(shape)
