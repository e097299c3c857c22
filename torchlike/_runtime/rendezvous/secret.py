"""What the processes of a program know and others do not: a secret, shown at each connection's
beginning without being sent.

Objects between processes are pickles, which run what is in them. So who connects shows that it
knows the secret, and so does who serves; each answers a number that the other has just drawn.
The launcher draws a secret for each run, and ``torch.multiprocessing.spawn`` one for its processes.
Without one the same is said with an empty secret: then whoever reaches the port is believed.

Standard library only.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import socket

from torchlike._runtime.environment_variables import SECRET
from torchlike._runtime.rendezvous.errors import DistNetworkError
from torchlike._runtime.rendezvous.wire import exactly

#: What each side says first, so that a stranger's bytes are not taken for ours.
_HELLO = b"torchlike store 2\n"
_DRAWN, _PROOF = 32, hashlib.sha256().digest_size
#: What spawn's secret begins with, and behind it how many processes there are.
_SPAWNED = "spawn"


def drawn() -> str:
    """Return a new secret."""
    return secrets.token_hex(32)


def of_environment(processes: int | None = None) -> bytes:
    """Return the secret that the environment names, or none, which is empty.

    That of ``spawn`` counts in a world of just its processes: several machines may each spawn some,
    and meet.
    """
    text = os.environ.get(SECRET.name, "")
    kind, _, rest = text.partition(":")
    if kind == _SPAWNED:
        count, _, text = rest.partition(":")
        if count != str(processes):
            return b""
    return text.encode("utf-8", "surrogateescape")


def for_run(machines: int) -> str:
    """Return the secret of a launcher's run: what the environment says, else a new one where no
    other machine has to know it, else none."""
    said = os.environ.get(SECRET.name, "")
    if said and said.partition(":")[0] != _SPAWNED:
        return said
    return drawn() if machines == 1 else ""


def for_spawned(count: int) -> str:
    """Return what the environment of that many processes says, which ``spawn`` starts."""
    said = os.environ.get(SECRET.name, "")
    own = not said or said.partition(":")[0] == _SPAWNED
    return f"{_SPAWNED}:{count}:{drawn()}" if own else said


def _proof(secret: bytes, who: bytes, *numbers: bytes) -> bytes:
    return hmac.digest(secret, _HELLO + who + b"".join(numbers), "sha256")


def admit(connection: socket.socket, secret: bytes) -> bool:
    """Have who has connected show that it knows the secret, and show it that this process does.
    False for a stranger, who has learnt nothing."""
    own = secrets.token_bytes(_DRAWN)
    connection.sendall(_HELLO + own)
    if exactly(connection, len(_HELLO)) != _HELLO:
        return False
    other, proof = exactly(connection, _DRAWN), exactly(connection, _PROOF)
    if not hmac.compare_digest(proof, _proof(secret, b"client", own, other)):
        connection.sendall(bytes(_PROOF))
        return False
    connection.sendall(_proof(secret, b"server", other, own))
    return True


def present(connection: socket.socket, secret: bytes) -> None:
    """Show a server that this process knows the secret, and have it show the same.

    Raises:
        DistNetworkError: it is a stranger, or takes this process for one.
        EOFError, OSError: it has closed the connection.
    """
    if exactly(connection, len(_HELLO)) != _HELLO:
        raise DistNetworkError(_stranger(connection, "speaks another protocol"))
    other, own = exactly(connection, _DRAWN), secrets.token_bytes(_DRAWN)
    connection.sendall(_HELLO + own + _proof(secret, b"client", other, own))
    if not hmac.compare_digest(exactly(connection, _PROOF), _proof(secret, b"server", own, other)):
        raise DistNetworkError(_stranger(connection, "belongs to a program with another secret"))


def _stranger(connection: socket.socket, what: str) -> str:
    host, port = connection.getpeername()[:2]
    return (
        f"the server at {host}:{port} {what}. Is it of another run, or was it started in another "
        f"way? Processes that meet have the same {SECRET.name} in their environment, or none: "
        "torchlike launch draws one for each run on one machine"
    )
