"""Which platforms JAX can find, where that is known before a backend starts.

A process whose backend has not started can be forked: DataLoader's workers and
``torch.multiprocessing`` start in milliseconds from it. So a script that asks whether there is a
GPU, or makes a few small tensors, should not start one.

A plugin is not a device: compiling ahead of time needs TPU's and CUDA's plugins on machines that
have neither. There JAX would try to start them, and print why it cannot; `hide_absent` has it look
at the CPU alone.
"""

from __future__ import annotations

import functools
import glob
import importlib.util
import os
import pkgutil
from importlib import metadata
from typing import Any

import jax

from torchlike._runtime.jax_private import backends
from torchlike._runtime.patches import at_import, in_processes

#: Whether the first of two devices of the CPU stands for a GPU (`stand_for_gpu`).
_stand_in: list[bool] = [False]


def stand_for_gpu() -> None:
    """Let JAX make two devices of the CPU, and the first of them stand for a GPU: what is "on cuda"
    and what is on the CPU stay apart, as on a machine that has one. RuntimeError where a backend
    has started with a single device."""
    if _stand_in[0]:
        return
    if not started():
        config: Any = jax.config
        in_processes.STAND_IN.set_option(config, "jax_platforms", "cpu")
        if not _has_two_by_flags():
            in_processes.STAND_IN.set_option(config, "jax_num_cpu_devices", 2)
    if jax.local_device_count("cpu") < 2:
        raise RuntimeError(
            "a device of the CPU's cannot stand for a GPU any more: something has been computed "
            "already. Say so when the program starts, by torchlike run --card or TORCHLIKE_CARD"
        )
    _stand_in[0] = True


def _has_two_by_flags() -> bool:
    return "xla_force_host_platform_device_count" in os.environ.get("XLA_FLAGS", "")


def stands_for_gpu(device: Any = None) -> bool:
    """Return whether a device of the CPU's stands for a GPU: this one, or with None any."""
    return _stand_in[0] and (device is None or (device.platform == "cpu" and device.id == 0))


def stand_ins(type: str) -> list[Any]:
    """Return the devices of the CPU's that serve PyTorch's device type where one stands for a
    GPU."""
    gpu, cpu = jax.local_devices(backend="cpu")[:2]
    return {"cuda": [gpu], "cpu": [cpu]}.get(type, [])


def is_gpu(device: Any) -> bool:
    """Return whether a JAX device is a GPU, or stands for one."""
    return device.platform in ("gpu", "cuda", "rocm") or stands_for_gpu(device)


def started() -> bool:
    """Return whether a backend runs in this process, with threads that a fork of it would not
    have."""
    return backends.started()


def only_cpu() -> bool:
    """Return whether JAX can find no platform but the CPU; False also where only starting would
    tell."""
    if _stand_in[0]:
        return False
    config: Any = jax.config  # gets its fields one by one
    said = config.jax_platforms
    return said == "cpu" if said else not _has_plugins()


def cpu_is_default() -> bool:
    """Return whether arrays that name no device are made on the CPU; starts a backend where that is
    the only way to know."""
    return only_cpu() or is_cpu(jax.local_devices()[0])


def default_device() -> Any:
    """Return the device, one of JAX's, where it computes what no operand has a place for."""
    config: Any = jax.config  # gets its fields one by one
    return config.jax_default_device or jax.local_devices()[0]


@functools.cache
def cpu_device() -> Any:
    """Return the CPU, as JAX's device of this process; starts its backend."""
    return jax.local_devices(backend="cpu")[int(_stand_in[0])]


def is_cpu(device: Any) -> bool:
    """Return whether a JAX device is the CPU."""
    return device.platform == "cpu" and not (_stand_in[0] and device.id == 0)


def hide_absent() -> None:
    """Have JAX start the CPU alone where plugins are installed and none has a device here. Leaves
    what the user said (``JAX_PLATFORMS``) as it is."""
    config: Any = jax.config
    if not config.jax_platforms and _is_installed() and not _has_plugins():
        at_import.PLATFORMS.set_option(config, "jax_platforms", "cpu")


def _is_installed() -> bool:
    return any(map(importlib.util.find_spec, ("jax_plugins", "libtpu")))


@functools.cache
def _has_plugins() -> bool:
    """Return whether JAX would start something besides the CPU."""
    names = {p.name for p in metadata.entry_points(group="jax_plugins")}
    found = importlib.util.find_spec("jax_plugins")
    if found is not None:
        places = found.submodule_search_locations or ()
        names.update(module.name for module in pkgutil.iter_modules(places))
    if importlib.util.find_spec("libtpu") is not None:
        names.add("libtpu")
    return any(_has_device(name) for name in names)


def _has_device(plugin: str) -> bool:
    """Return whether a plugin's device may be here; True also where only starting it would tell."""
    if plugin == "libtpu":
        return (
            backends.has_tpu()
            or "JAX_FORCE_TPU_INIT" in os.environ
            or bool(glob.glob("/dev/accel*") or glob.glob("/dev/vfio/[0-9]*"))
        )
    if "cuda" in plugin:
        return backends.has_nvidia_gpu()
    return True
