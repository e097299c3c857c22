"""Messages between processes: lists of byte strings, each after its length.

Lengths come from the other side. So memory is taken as bytes arrive, never by what is declared.
Standard library only, as all of this room that the launcher needs.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence

_LENGTH = struct.Struct("!Q")
#: Longest message and most parts that are believed.
_MOST, _MOST_PARTS = 1 << 40, 1 << 24
#: The first piece of a part; each further one may be as large as what has arrived.
_FIRST_PIECE = 1 << 20


def send(connection: socket.socket, parts: Sequence[bytes | memoryview]) -> None:
    """Send a message."""
    small = b"".join([_LENGTH.pack(len(parts)), *(_LENGTH.pack(len(p)) for p in parts)])
    if sum(map(len, parts)) < 1 << 16:
        connection.sendall(small + b"".join(parts))
        return
    connection.sendall(small)
    for part in parts:
        connection.sendall(part)


def receive(connection: socket.socket) -> list[bytes]:
    """Return the next message. EOFError where the other side has closed, or says what is none."""
    (count,) = _LENGTH.unpack(exactly(connection, _LENGTH.size))
    if count > _MOST_PARTS:
        raise EOFError
    lengths = struct.unpack(f"!{count}Q", exactly(connection, count * _LENGTH.size))
    if sum(lengths) > _MOST:
        raise EOFError
    return [exactly(connection, n) for n in lengths]


def exactly(connection: socket.socket, size: int) -> bytes:
    """Return that many bytes. EOFError where the other side has closed."""
    pieces: list[bytearray] = []
    got = 0
    while got < size:
        pieces.append(_filled(connection, min(size - got, max(got, _FIRST_PIECE))))
        got += len(pieces[-1])
    return b"".join(pieces)


def _filled(connection: socket.socket, size: int) -> bytearray:
    buffer = bytearray(size)
    view, got = memoryview(buffer), 0
    while got < size:
        n = connection.recv_into(view[got:])
        if n == 0:
            raise EOFError
        got += n
    return buffer
