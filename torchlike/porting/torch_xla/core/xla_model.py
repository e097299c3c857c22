"""``torch_xla.core.xla_model``, usually ``xm``."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torchlike
from torchlike._core import devices
from torchlike.porting import torch_xla
from torchlike.porting.torch_xla import runtime
from torchlike.porting.torch_xla._absent import absent

__getattr__ = absent("torch_xla.core.xla_model")

REDUCE_SUM, REDUCE_MUL, REDUCE_AND, REDUCE_OR = "sum", "mul", "and", "or"
REDUCE_MIN, REDUCE_MAX = "min", "max"


class RateTracker:
    """How many samples a second a script told of."""

    def __init__(self, smooth_factor: float | None = None) -> None:
        self._began = self._last = time.perf_counter()
        self._count = self._before = 0.0

    def add(self, count: float) -> None:
        """Count so many more."""
        self._count += count

    def rate(self) -> float:
        """Return the rate a second, since it was asked last."""
        now = time.perf_counter()
        found = (self._count - self._before) / max(now - self._last, 1e-9)
        self._last, self._before = now, self._count
        return found

    def global_rate(self) -> float:
        """Return the rate a second, since the beginning."""
        return self._count / max(time.perf_counter() - self._began, 1e-9)


def xla_device(n: int | None = None, devkind: str | None = None) -> devices.device:
    """Return the device of ``torch_xla.device``."""
    return torch_xla.device(n)


def xla_device_hw(device: Any) -> str:
    """Return "TPU", "CUDA" or "CPU"."""
    return devices.device(device).type.replace("xla", "TPU").upper()


def get_xla_supported_devices(
    devkind: str | None = None, max_devices: int | None = None
) -> list[str]:
    """Return the names of the devices: "xla:0", "cpu"."""
    return [str(torch_xla.device(i)) for i in range(torch_xla.device_count())][:max_devices]


def mark_step(wait: bool = False, reset_scope: bool = True) -> None:
    """Do ``torch_xla.sync``."""
    torch_xla.sync(wait)


def wait_device_ops(devices: Any = None) -> None:
    """Wait for what the device was asked for."""
    torch_xla.sync(True)


def optimizer_step(
    optimizer: Any,
    barrier: bool = False,
    optimizer_args: dict[str, Any] | None = None,
    groups: Any = None,
    pin_layout: bool = True,
) -> object:
    """Sum the gradients over the processes, of which there is one, and step."""
    return optimizer.step(**(optimizer_args or {}))


def reduce_gradients(optimizer: Any, groups: Any = None, pin_layout: bool = True) -> None:
    """Do nothing: there is one process."""
    _alone()


def all_reduce(
    reduce_type: str, inputs: Any, scale: float = 1.0, groups: Any = None, pin_layout: bool = True
) -> object:
    """Multiply what the one process has by ``scale``: a tensor into a new one, a list in place."""
    _alone()
    if isinstance(inputs, torchlike.Tensor):
        return inputs * scale
    for t in inputs:
        t.mul_(scale)
    return inputs


def mesh_reduce(tag: str, data: Any, reduce_fn: Callable[[list[Any]], Any]) -> object:
    """Return ``reduce_fn`` of what each process has."""
    _alone()
    return reduce_fn([data])


def rendezvous(tag: str, payload: bytes = b"", replicas: Any = None) -> list[bytes]:
    """Return the payload of each process."""
    _alone()
    return [payload]


def _alone() -> None:
    if runtime.world_size() > 1:
        raise NotImplementedError(
            "torch_xla's collectives over several processes: use torch.distributed"
        )


def get_ordinal(defval: int = 0) -> int:
    """Return the process's rank."""
    return runtime.global_ordinal()


get_local_ordinal = get_ordinal


def xrt_world_size(defval: int = 1) -> int:
    """Return how many processes there are."""
    return runtime.world_size()


def is_master_ordinal(local: bool = True) -> bool:
    """Return whether this is the first process."""
    return get_ordinal() == 0


def master_print(*args: Any, fd: Any = None, local: bool = False, flush: bool = False) -> None:
    """Do ``print`` in the first process."""
    if is_master_ordinal(local):
        print(*args, file=fd, flush=flush)


def add_step_closure(
    closure: Callable[..., Any], args: tuple[Any, ...] = (), run_async: bool = False
) -> None:
    """Run ``closure`` now: the step's operations have been asked for."""
    closure(*args)


def save(
    data: Any, file_or_path: Any, master_only: bool = True, global_master: bool = False
) -> None:
    """Do ``torch.save`` in the first process."""
    if is_master_ordinal() or not master_only:
        torchlike.save(data, file_or_path)


def send_cpu_data_to_device(datas: Any, device: Any, input_sharding: Any = None) -> object:
    """Move each of ``datas`` to a device."""
    return [t.to(device) for t in datas]


def set_rng_state(seed: int, device: Any = None) -> None:
    """Seed by ``torch.manual_seed``."""
    torchlike.manual_seed(seed)
