"""JAX's coordination service, which processes meet at.

Needs jaxlib alone: the launcher serves it without importing JAX.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from torchlike._runtime.jax_private import processes
from torchlike._runtime.patches import in_use
from torchlike._runtime.rendezvous.addresses import free_place

#: Seconds without a sign of life after which a process counts as failed. Nothing waits for that:
#: a process that has gone is noticed by its connections.
HEARTBEAT = 100
_LEVEL = "TF_CPP_MIN_LOG_LEVEL"


def serve(size: int, seconds: float, host: str) -> tuple[Any, int]:
    """Start the service for ``size`` processes that are told ``host``, on a free port; return it
    and the port. It ends with the last reference to it."""
    # XLA logs each step of the service; it reads this as it is loaded.
    if _LEVEL not in os.environ:
        in_use.XLA_LOGS.set_item(os.environ, _LEVEL, "2")

    last: Exception | None = None
    for _ in range(5):
        address, port = free_place(host)
        try:
            with _unseen():
                # The launcher starts its workers before jaxlib is imported, which takes a while.
                made = processes.make_service(
                    f"{address}:{port}",
                    size,
                    heartbeat_timeout=HEARTBEAT,
                    cluster_register_timeout=max(1, int(seconds)),
                    shutdown_timeout=1,
                    recoverable=True,  # a process that fails or leaves takes no other with it
                )
        except Exception as error:  # another process was faster
            last = error
            continue
        return made, port
    raise RuntimeError(f"JAX's coordination service cannot start: {last}")


@contextlib.contextmanager
def _unseen() -> Iterator[None]:
    """Discard what XLA writes to standard error within a `with` block: it warns of "recoverable",
    which is as meant."""
    try:
        kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    except OSError:  # there is no standard error
        yield
        return
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
