"""Messages between two processes: bytes and file descriptors over a Unix socket."""

from __future__ import annotations

import array
import collections
import os
import select
import socket
import struct
import time
import weakref

from torchlike._runtime.patches import at_import

_HEAD = struct.Struct("<QI")  # bytes, descriptors
#: Descriptors that go at a time, each time with a byte of the message: the kernel takes 253.
_MOST = 200
_CHUNK = 1 << 18
_ROOM = socket.CMSG_SPACE(253 * 4)

#: What a forked copy of this process closes: with an end open there, the other side would not see
#: that this process has ended.
_open: weakref.WeakSet[Channel] = weakref.WeakSet()


class Closed(Exception):
    """The other end is closed: its process has ended, or wants no more."""


class Channel:
    """One end. What is posted waits here until the other end has room, so that two ends that post
    to each other never wait for each other."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._end = end
        self._out: collections.deque[tuple[memoryview, list[int]]] = collections.deque()
        self._in = bytearray()
        self._descriptors: collections.deque[int] = collections.deque()
        self._ended = False
        self._sending = False
        _open.add(self)

    def fileno(self) -> int:
        return self._end.fileno()

    def post(self, body: bytes, descriptors: list[int] | None = None) -> None:
        """Send, or keep until there is room; descriptors are duplicated, and stay the caller's."""
        own = [os.dup(d) for d in descriptors or ()]
        head = _HEAD.pack(len(body), len(own))
        self._out.append((memoryview(head + body), own))
        self.flush()

    def flush(self) -> bool:
        """Send what there is room for, and return whether that was all.

        A finalizer may post while this sends (a loader is collected, and dismisses its workers):
        what it posts waits for its turn, as two senders would send the first message twice.
        """
        if self._sending:
            return False
        self._sending = True
        try:
            return self._send()
        finally:
            self._sending = False

    def _send(self) -> bool:
        while self._out:
            rest, descriptors = self._out[0]
            try:
                if descriptors:
                    now, descriptors = descriptors[:_MOST], descriptors[_MOST:]
                    rights = array.array("i", now)
                    control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)]
                    try:
                        sent = self._end.sendmsg([rest[:1] if descriptors else rest], control)
                    except BlockingIOError:
                        return False
                    for d in now:
                        os.close(d)
                else:
                    sent = self._end.send(rest)
            except BlockingIOError:
                return False
            except OSError:  # the other end is gone: reading says so
                self._forget()
                return True
            if sent == len(rest):
                self._out.popleft()
            else:
                self._out[0] = rest[sent:], descriptors
        return True

    def send(self, body: bytes, descriptors: list[int] | None = None) -> None:
        """Send a message by ``post``, and wait until it has gone. Raises Closed where the other end
        is."""
        self.post(body, descriptors)
        while not self.flush():
            select.select([], [self], [])

    def received(self) -> list[tuple[bytes, list[int]]]:
        """Return the messages that have come, which may be none; the descriptors are the caller's
        to close. Raises Closed after the last one."""
        self._read()
        found = []
        while len(self._in) >= _HEAD.size:
            size, count = _HEAD.unpack_from(self._in)
            if len(self._in) < _HEAD.size + size:
                break
            body = bytes(memoryview(self._in)[_HEAD.size : _HEAD.size + size])
            del self._in[: _HEAD.size + size]
            found.append((body, [self._descriptors.popleft() for _ in range(count)]))
        if not found and self._ended:
            raise Closed
        return found

    def _read(self) -> None:
        while not self._ended:
            try:
                data, control, _, _ = self._end.recvmsg(_CHUNK, _ROOM)
            except BlockingIOError:
                return
            except OSError:
                self._ended = True
                return
            for level, kind, values in control:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    numbers = array.array("i")
                    numbers.frombytes(values[: len(values) // 4 * 4])
                    for n in numbers:
                        os.set_inheritable(n, False)
                    self._descriptors.extend(numbers)
            if not data:
                self._ended = True
            self._in += data

    def wait(self, seconds: float | None = None) -> list[tuple[bytes, list[int]]]:
        """Wait for the next messages and return them; none after ``seconds``. Raises Closed as
        ``received`` does."""
        until = None if seconds is None else time.monotonic() + seconds
        while not (found := self.received()):
            left = None if until is None else max(0.0, until - time.monotonic())
            if not ready([self], left) and left == 0:
                return []
        return found

    def close(self) -> None:
        """Close this end: the other end reads what has gone, and then that this one is closed."""
        self._forget()
        self._ended = True
        self._end.close()
        while self._descriptors:
            os.close(self._descriptors.popleft())
        _open.discard(self)

    def _forget(self) -> None:
        for _, descriptors in self._out:
            for d in descriptors:
                os.close(d)
        self._out.clear()


def ready(channels: list[Channel], seconds: float | None) -> list[Channel]:
    """Wait up to ``seconds`` and return the channels that something has come to; meanwhile all send
    what they have to."""
    until = None if seconds is None else time.monotonic() + seconds
    poll = select.poll()
    by_number = {channel.fileno(): channel for channel in channels}
    while True:
        for number, channel in by_number.items():
            poll.register(
                number, select.POLLIN if channel.flush() else select.POLLIN | select.POLLOUT
            )
        left = None if until is None else max(0.0, until - time.monotonic())
        events = poll.poll(None if left is None else 1e3 * left)
        found = [by_number[n] for n, event in events if event & ~select.POLLOUT]
        if found or (not events and left is not None):
            return found


def pair() -> tuple[Channel, socket.socket]:
    """Return a channel, and the end of which another process makes its own channel."""
    mine, theirs = socket.socketpair()
    return Channel(mine), theirs


def _close_in_child() -> None:
    for channel in list(_open):
        channel.close()


at_import.FORKS.at_fork(_close_in_child)
