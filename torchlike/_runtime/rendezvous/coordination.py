"""This process' place among those that JAX computes with together.

``jax.distributed.initialize`` does the same with defaults that do not fit here: its client ends the
process when another one has failed, and at the end waits for all of them, minutes where one was
killed; its preemption service takes SIGTERM away from Python. So the service and the client are
made here, and given to the place where JAX looks for them when its backend starts.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from typing import Any

import jax

from torchlike._runtime import platforms
from torchlike._runtime.jax_private import processes
from torchlike._runtime.patches import in_use
from torchlike._runtime.rendezvous.service import HEARTBEAT

_state: Any = processes.state()


def joined() -> bool:
    """Return whether this process has a place among others."""
    return _state.client is not None


_local: list[int] = []


def local_rank() -> int | None:
    """Return this process' number among those of its machine, which is what scripts call its one
    device by; None for a process without a place."""
    return _local[0] if _local else None


def place() -> tuple[int, int]:
    """Return this process' number, and how many processes there are."""
    return _state.process_id, _state.num_processes


def join(address: str, rank: int, size: int, local_rank: int = 0, seconds: float = 300.0) -> None:
    """Take the place ``rank`` among ``size`` processes, which meet at the coordination service at
    ``address``, and start JAX's backend, with one device.

    Raises:
        RuntimeError: a backend runs already (it has no place, and cannot get one); or not all have
            come within ``seconds``.
    """
    refuse_if_started()
    client = processes.make_client(
        address,
        rank,
        init_timeout=max(1, int(seconds)),
        shutdown_timeout=1,
        heartbeat_timeout=HEARTBEAT,
        missed_heartbeat_callback=_missed,
        shutdown_on_destruction=False,
        use_compression=True,
    )
    client.connect()
    _state.client, _state.process_id, _state.num_processes = client, rank, size
    _state.coordinator_address = address
    _local.append(local_rank)
    in_use.PROCESSES_OF_JAX.at_exit(_leave)
    config: Any = jax.config
    for name in ("jax_cuda_visible_devices", "jax_rocm_visible_devices"):
        if getattr(config, name, None) == "all":
            in_use.PROCESSES_OF_JAX.set_option(config, name, str(local_rank))
    jax.local_devices()


def refuse_if_started() -> None:
    """Raise RuntimeError where a backend runs already: it has no place, and cannot get one."""
    if platforms.started():
        raise RuntimeError(
            "JAX has started in this process without knowing of the others, by a computation "
            "before init_process_group. Call init_process_group first, or start the script with "
            "`torchlike launch`, which joins the processes before it runs"
        )


def _missed(*_: Any) -> None:
    """Ignore that somebody has failed, or that the service has ended. JAX's own answer ends the
    process; here the collective that the failed process is missing from says so."""


def _leave() -> None:
    """Leave the others at this process' end, before JAX does: wait for nobody, as processes of
    PyTorch's do not. Where a collective is under way that nobody will complete, end at once: XLA
    would wait."""
    client, _state.client = _state.client, None
    if stuck():
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(1)
    with contextlib.suppress(Exception):  # the service may have ended before
        client.shutdown()


_stuck: list[str] = []


def stuck() -> bool:
    """Return whether a collective is under way that was given up."""
    return bool(_stuck)


def give_up(what: str) -> None:
    """Note that a collective was given up while XLA waits in it."""
    _stuck.append(what)


@functools.cache
def device_of(process: int) -> object:
    """Return the device of a process, which is the first that it has."""
    mine = [d for d in jax.devices() if d.process_index == process]
    return min(mine, key=lambda d: d.id)
