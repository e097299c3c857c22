"""Where servers listen: at the address that others are told of, and at no other.

A host's name that is not of this machine's addresses (a cluster's service, a forwarded port), or
that only this machine takes for itself (Debian's 127.0.1.1), says nothing of where others come
from: then it is all addresses, as ever. Standard library only.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import socket
from typing import Any

from torchlike._runtime.rendezvous.errors import DistNetworkError

_LOOPBACK = "127.0.0.1"
#: Stand for all of a machine's addresses.
_EVERY = ((socket.AF_INET6, "::"), (socket.AF_INET, "0.0.0.0"))


def towards(host: str) -> str:
    """Return this machine's address, as a machine that reaches ``host`` sees it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((host, 9))
            return probe.getsockname()[0]
        except OSError:
            return _LOOPBACK


def _candidates(host: str) -> list[tuple[Any, str]]:
    """Return where to listen for those who are told ``host``, the first that works."""
    named = host.strip("[]")
    try:
        literal = ipaddress.ip_address(named)
    except ValueError:
        literal = None
    if literal is not None:
        family = socket.AF_INET6 if literal.version == 6 else socket.AF_INET
        return [*_EVERY] if literal.is_unspecified else [(family, named), *_EVERY]
    try:
        resolved = socket.getaddrinfo(named, None, type=socket.SOCK_STREAM)
    except OSError:
        return [*_EVERY]
    found = [(family, str(address[0])) for family, *_, address in resolved]
    found.sort(key=lambda one: one[0] != socket.AF_INET)  # who is told the name tries both
    is_local = named == "localhost" or named.startswith("localhost.")
    if not is_local and any(
        ipaddress.ip_address(a.partition("%")[0]).is_loopback for _, a in found
    ):
        return [*_EVERY]
    return [*found, *_EVERY]


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens for those who are told ``host``.

    Raises:
        DistNetworkError: the port is in use.
    """
    last: OSError | None = None
    for family, address in _candidates(host):
        try:
            found = socket.socket(family, socket.SOCK_STREAM)
        except OSError as error:
            last = error
            continue
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                with contextlib.suppress(OSError):
                    found.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            found.bind((address, port))
            found.listen(1024)
            return found
        except OSError as error:
            found.close()
            last = error
            if _in_use(error):  # it is this machine's: another process listens there
                break
    raise DistNetworkError(
        f"The server socket has failed to listen on any local network address. port: {port}, "
        f"host: {host}: {last}. If another process uses the port, give another one (MASTER_PORT, "
        "--master-port; 0 takes any that is free)"
    )


def _in_use(error: OSError) -> bool:
    return error.errno == errno.EADDRINUSE


def free_place(host: str) -> tuple[str, int]:
    """Return where a server of JAX's can listen for those who are told ``host``, as it writes
    addresses, and a port there that nobody uses now."""
    with listening(host, 0) as probe:
        address, port = probe.getsockname()[:2]
    return f"[{address}]" if ":" in address else address, port
