"""JAX's place among several processes. Needs jaxlib alone until `state` is called."""

from __future__ import annotations

from typing import Any

from torchlike._runtime.jax_private.names import declare

_NONE = "init_process_group of several processes raises this error"
STATE = declare(
    "jax._src.distributed.global_state", "where JAX looks for its place among processes", _NONE
)
CLIENT = declare(
    "jaxlib._jax.get_distributed_runtime_client",
    "a client that does not end the process when another has failed",
    _NONE,
)
SERVICE = declare(
    "jaxlib._jax.get_distributed_runtime_service",
    "the service that processes meet at, without importing JAX",
    _NONE,
)


class _Alone:
    """Stands for JAX's record where this JAX has none: a process without others."""

    client, process_id, num_processes, coordinator_address = None, 0, 1, None


def state() -> Any:
    """Return JAX's record of its place among processes: client, process_id, num_processes,
    coordinator_address. Imports JAX."""
    return STATE.find(_Alone)


def make_client(address: str, rank: int, **options: Any) -> Any:
    """Make a client of the coordination service at an address. NotImplementedError where this JAX
    lacks what that needs."""
    STATE.require()
    return CLIENT.require()(address, rank, **options)


def make_service(address: str, size: int, **options: Any) -> Any:
    """Start the coordination service for ``size`` processes at an address."""
    return SERVICE.require()(address, size, **options)
