"""``torch_xla.distributed.xla_multiprocessing``, usually ``xmp``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike.porting.torch_xla._absent import absent

__getattr__ = absent("torch_xla.distributed.xla_multiprocessing")


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int | None = None,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> None:
    """Run ``fn(0, *args)`` in this process, which has all the devices.

    NotImplementedError for more processes.
    """
    if nprocs is not None and nprocs > 1:
        raise NotImplementedError(
            f"xmp.spawn with {nprocs} processes: one process has all devices here. Use nprocs=1 or "
            "None and shard over them (torch_xla.distributed.spmd, torch.distributed.tensor), or "
            "start processes by torchrun"
        )
    fn(0, *args)


class MpModelWrapper:
    """A model that processes are to share: there is one."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def to(self, device: Any) -> object:
        """Move the model to a device, and return it."""
        return self._model.to(device)


class MpSerialExecutor:
    """Runs functions of processes one after another: there is one."""

    def run(self, fn: Callable[[], object]) -> object:
        """Call ``fn()`` and return its result."""
        return fn()
