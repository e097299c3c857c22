"""``torch.get_device_module``: the module of a device type."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from torchlike import cuda
from torchlike._compat.devices import cpu, mps, xpu
from torchlike._core import devices

_MODULES: dict[str, ModuleType] = {"cpu": cpu, "cuda": cuda, "mps": mps, "xpu": xpu}


def get_device_module(device: Any = None) -> ModuleType:
    """Return ``torch.cuda`` for "cuda:0", ``torch.cpu`` for "cpu"; None for the device there is.

    RuntimeError for a device type without a module, or none at all.
    """
    if device is None:
        kind = "cuda" if cuda.is_available() else "cpu"
    else:
        kind = (device if isinstance(device, devices.device) else devices.device(device)).type
    if kind not in _MODULES:
        raise RuntimeError(
            f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'."
        )
    return _MODULES[kind]
