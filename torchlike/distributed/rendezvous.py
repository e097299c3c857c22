"""How processes find each other: the store that ``init_process_group`` was told of, by an address,
a file or the environment; and their places among JAX's processes.
"""

from __future__ import annotations

import numbers
import os
import socket
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlparse

from torchlike._runtime.rendezvous import coordination, service
from torchlike._runtime.rendezvous.secret import of_environment
from torchlike.distributed.file_stores import FileStore
from torchlike.distributed.stores import DistStoreError, HashStore, PrefixStore, Store, TCPStore

#: JAX's coordination service, where this process serves it.
_service: list[Any] = []
#: How often a world was begun in this process: each has keys of its own in the store.
_worlds = 0
#: What finds the store for addresses of a kind, where a script has said it.
_handlers: dict[str, Callable[..., Iterator[tuple[Store, int, int]]]] = {}


def register_rendezvous_handler(
    scheme: str, handler: Callable[..., Iterator[tuple[Store, int, int]]]
) -> None:
    """Have ``init_method="scheme://..."`` ask ``handler(url, timeout=...)``, a generator of the
    store, the rank and the number of processes. RuntimeError for a scheme that has one."""
    if scheme in _handlers or scheme in ("env", "file", "tcp"):
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(
    url: str, rank: int = -1, world_size: int = -1, **kwargs: Any
) -> Iterator[tuple[Store, int, int]]:
    """Yield the store at an address, this process' rank and the number of processes: one of them
    for ``init_process_group(store=...)``. ``timeout`` is a timedelta.

    Raises:
        RuntimeError: the address is no string, rank or size no number, or nothing knows addresses
            of the kind.
        AssertionError: rank or size are given, and are in the address too.
        ValueError, DistNetworkError: from the generator, as of ``init_process_group``.
    """
    if not isinstance(url, (str, bytes)):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    if not isinstance(rank, numbers.Integral):
        raise RuntimeError(f"`rank` must be an integer. {rank}")
    if not isinstance(world_size, numbers.Integral):
        raise RuntimeError(f"`world_size` must be an integer. {world_size}")
    address = os.fsdecode(url)
    kind = urlparse(address)
    said = parse_qs(kind.query)
    if (rank, world_size) != (-1, -1) and ("rank" in said or "world_size" in said):
        raise AssertionError(
            f"The url: {address} has node-specific arguments(rank, world_size) already."
        )
    if kind.scheme not in ("env", "file", "tcp", *_handlers):
        raise RuntimeError(f"No rendezvous handler for {kind.scheme}://")
    limit = kwargs.get("timeout", timedelta(minutes=30))
    return (find(address, int(rank), int(world_size), None, limit) for _ in range(1))


def find(
    init_method: str | None, rank: int, world_size: int, store: Store | None, timeout: timedelta
) -> tuple[Store, int, int]:
    """Find the store, this process' rank and the number of processes.

    Raises:
        ValueError: the environment lacks what is not given, or a rank is not in the world.
        AssertionError: a store is given without the rank or the size of the world.
        TypeError: the store is none.
        RuntimeError: the address is of a kind that is not known.
    """
    if store is not None:
        if not isinstance(store, Store):
            raise TypeError(f"init_process_group(): store must be a Store, not {type(store)}")
        if world_size <= 0:
            raise AssertionError("world_size must be positive if using store")
        if rank < 0:
            raise AssertionError("rank must be non-negative if using store")
        _check_rank(rank, world_size)
        return store, rank, world_size
    method = "env://" if init_method is None else init_method
    kind = urlparse(method)
    if kind.scheme in _handlers:
        if rank >= 0 or world_size >= 0:
            given = {"rank": rank, "world_size": world_size}
            own = "&".join(f"{name}={n}" for name, n in given.items() if n >= 0)
            method += ("&" if kind.query else "?") + own
        return next(_handlers[kind.scheme](method, timeout=timeout))
    if kind.scheme not in ("env", "tcp", "file"):
        raise RuntimeError(f"No rendezvous handler for {kind.scheme}://")
    if kind.scheme == "env":
        rank = rank if rank >= 0 else int(_variable("RANK"))
        world_size = world_size if world_size >= 0 else int(_variable("WORLD_SIZE"))
        _check_rank(rank, world_size)
        host, port = _variable("MASTER_ADDR"), int(_variable("MASTER_PORT"))
        if world_size == 1:
            return HashStore(), rank, world_size
        return _by_tcp(host, port, rank, world_size, timeout), rank, world_size
    said = {name: values[0] for name, values in parse_qs(kind.query).items()}
    rank = int(said.get("rank", rank))
    world_size = int(said.get("world_size", world_size))
    if rank < 0:
        raise ValueError(
            f"Error initializing torch.distributed using {kind.scheme}:// rendezvous: "
            "rank parameter missing"
        )
    if world_size < 0:
        raise ValueError(
            f"Error initializing torch.distributed using {kind.scheme}:// rendezvous: "
            "world size parameter missing"
        )
    _check_rank(rank, world_size)
    if kind.scheme == "tcp":
        if kind.port is None or kind.hostname is None:
            raise ValueError(
                "Error initializing torch.distributed using tcp:// rendezvous: port number missing"
            )
        if world_size == 1:
            return HashStore(), rank, world_size
        return _by_tcp(kind.hostname, kind.port, rank, world_size, timeout), rank, world_size
    if not kind.path:
        raise ValueError(
            "Error initializing torch.distributed using file:// rendezvous: path missing"
        )
    made = FileStore(kind.path, world_size)
    made.set_timeout(timeout)
    return made, rank, world_size


def _variable(name: str) -> str:
    if name not in os.environ:
        raise ValueError(
            "Error initializing torch.distributed using env:// rendezvous: environment variable "
            f"{name} expected, but not set"
        )
    return os.environ[name]


def _check_rank(rank: int, world_size: int) -> None:
    if not 0 <= rank < world_size:
        raise ValueError(
            f"rank {rank} is out of range: the world has {world_size} "
            f"process{'es' if world_size != 1 else ''}, ranks 0 to {world_size - 1}"
        )


def launched() -> bool:
    """Return whether a launcher serves the store."""
    return os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"


def _by_tcp(host: str, port: int, rank: int, size: int, timeout: timedelta) -> Store:
    is_master = rank == 0 and not launched()
    found = TCPStore(
        host,
        port,
        None,
        is_master,
        timeout,
        wait_for_workers=False,
        multi_tenant=True,
        _secret=of_environment(size),
    )
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") if launched() else "0"
    return PrefixStore(f"worker/attempt_{attempt}", found)


def enter(store: Store, rank: int, size: int, timeout: timedelta) -> Store:
    """Meet the others, and take this process' place among JAX's. Gives the world's part of the
    store.

    Raises:
        DistStoreError: some have not come in time; it says which.
        ValueError: another process came with the same rank, or with another size of the world.
        RuntimeError: JAX has started already, or has given this process another place.
    """
    global _worlds
    _worlds += 1
    own = PrefixStore(f"world{_worlds}", store)
    meet(own, rank, size, timeout)
    if coordination.joined():
        if coordination.place() != (rank, size):
            was, of = coordination.place()
            raise RuntimeError(
                f"rank {rank} of {size} was asked for, but JAX knows this process as {was} of "
                f"{of}, for as long as it runs. Start other processes for another world"
            )
        return own
    seconds = timeout.total_seconds()
    if rank == 0:
        try:
            coordination.refuse_if_started()
            address = _own_address(store)
            made, port = service.serve(size, seconds, address)
        except RuntimeError as error:
            own.set("coordinator", f"error {error}")
            raise
        _service.append(made)
        own.set("coordinator", f"{address}:{port}")
    address = own.get("coordinator").decode()
    if address.startswith("error "):
        raise RuntimeError(f"rank 0 could not begin: {address.removeprefix('error ')}")
    coordination.join(address, rank, size, int(os.environ.get("LOCAL_RANK", rank)), seconds)
    return own


def meet(store: Store, rank: int, size: int, timeout: timedelta) -> None:
    """Wait until all processes are here, each with a rank of its own, and agree how many they are.
    Errors as of ``enter``."""
    if store.add(f"taken/{rank}", 1) > 1:
        raise ValueError(f"two processes came as rank {rank} of {size}: each needs its own rank")
    store.set(f"size/{rank}", str(size))
    keys = [f"size/{r}" for r in range(size)]
    deadline = time.monotonic() + timeout.total_seconds()
    while True:
        left = deadline - time.monotonic()
        try:
            store.wait(keys, timedelta(seconds=max(0.0, min(left, 1.0))))
            here = keys
        except DistStoreError:
            missing = set(store._missing(keys))
            here = [key for key in keys if key not in missing]
        for key in here:
            other = int(store.get(key))
            if other != size:
                raise ValueError(
                    f"rank {rank} was started for a world of {size}, rank {key[5:]} for one of "
                    f"{other}: WORLD_SIZE, or world_size, must be the same in all"
                )
        if len(here) == size:
            return
        if left <= 0:
            ranks = ", ".join(key[5:] for key in keys if key not in here)
            raise DistStoreError(
                f"init_process_group: rank {rank} of {size} waited {timeout.total_seconds():.0f} "
                f"s; rank {ranks} did not come"
            )


def host_of(store: Store) -> str:
    """Return the machine that serves the store; "" for one that no machine serves."""
    while isinstance(store, PrefixStore):
        store = store.underlying_store
    return store.host if isinstance(store, TCPStore) else ""


def _own_address(store: Store) -> str:
    """Return the address at which the others reach this process, which is rank 0."""
    if host_of(store):
        return host_of(store)  # rank 0 serves it
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"
