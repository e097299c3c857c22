"""``import torch_xla`` under torchlike: thin names over what is here.

torch_xla records operations lazily and runs them at ``mark_step``. torchlike runs each operation at
once, or a whole step compiled by ``torch.compile``, so the names that cut the record do nothing.
The device is JAX's TPU where there is one, else the CPU.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torchlike
from torchlike._core import devices
from torchlike._runtime import pending
from torchlike.compiler.torch_compile import compile as compile_function
from torchlike.porting.torch_xla import experimental
from torchlike.porting.torch_xla._absent import absent
from torchlike.porting.torch_xla.distributed import xla_multiprocessing

if not devices.available("xla") and devices.mapped("xla") == "xla":
    devices.map_types({**devices.mapping(), "xla": devices.mapped("cuda").replace("cuda", "cpu")})
    print("torchlike: there is no TPU, so xla means cpu in this script", file=sys.stderr)

__version__ = "2.9.0+torchlike"
__getattr__ = absent("torch_xla")


def device(index: int | None = None) -> devices.device:
    """Return the accelerator: "xla" on a TPU, else the CPU."""
    if devices.available("xla"):
        return devices.device("xla", index or 0)
    return devices.device("cuda", index or 0) if devices.available("cuda") else devices.CPU


def device_count() -> int:
    """Return how many accelerators this process has; 1 where there is the CPU alone."""
    return max(len(devices.available("xla")), len(devices.available("cuda")), 1)


def real_devices() -> list[str]:
    """Return the devices' names in XLA's words: "TPU:0", "CPU:0"."""
    kind = device().type.replace("xla", "TPU").upper()
    return [f"{kind}:{i}" for i in range(device_count())]


def sync(wait: bool = False, reset_scope: bool = True) -> None:
    """Wait for the end of operations with ``wait``; do nothing otherwise: they have been given to
    the device as they came."""
    if wait:
        pending.wait()


@contextlib.contextmanager
def step() -> Iterator[None]:
    """Mark a step by a ``with`` block, which does nothing."""
    yield


def compile(f: Callable[..., Any] | None = None, full_graph: bool = False, **_: Any) -> object:
    """Compile a function by ``torch.compile``; without one, return a region as ``step``."""
    return step() if f is None else compile_function(f, fullgraph=full_graph)


def manual_seed(seed: int, device: Any = None) -> None:
    """Seed by ``torch.manual_seed``."""
    torchlike.manual_seed(seed)


def launch(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    start_method: str = "spawn",
    debug_single_process: bool = False,
) -> None:
    """Start processes by ``xla_multiprocessing.spawn``."""
    xla_multiprocessing.spawn(fn, args=args, start_method=start_method)
