"""Devices of a machine that is not here, from a name such as ``v5e:4x4`` or ``h100:8``."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.experimental import mesh_utils, topologies
from jax.sharding import AxisType, Mesh

from torchlike.porting.plan.chips import CHIPS, Chip
from torchlike.porting.plan.cuda_targets import target_config

_INSTALL = "pip install 'torchlike[plan]'"
#: The packages that compile for a platform, and what each is.
_COMPILERS = {"tpu": ("libtpu", "libtpu"), "cuda": ("jax_plugins.xla_cuda13", "jax-cuda13-plugin")}
#: What libtpu would ask a metadata server for.
_TPU_ENVIRONMENT = {
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_ACCELERATOR_TYPE": "v5litepod-1",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_MIN_LOG_LEVEL": "3",
    "TF_CPP_MIN_LOG_LEVEL": "3",
}


@dataclass(frozen=True)
class Topology:
    """A machine to compile for.

    Attributes:
      name: as it was asked for.
      chip: the kind of its devices.
      devices: JAX's descriptions of them; none of them can run anything.
    """

    name: str
    chip: Chip
    devices: tuple[Any, ...]

    @property
    def platform(self) -> str:
        return self.chip.platform

    def mesh(self, axes: dict[str, int] | None = None) -> Mesh:
        """Return the devices as a mesh of named axes; one axis ``data`` over all of them unless
        given.

        ValueError where the axes' product is not the number of devices.
        """
        axes = axes or {"data": len(self.devices)}
        if math.prod(axes.values()) != len(self.devices):
            product = "x".join(map(str, axes.values()))
            raise ValueError(
                f"the mesh {', '.join(f'{k}={v}' for k, v in axes.items())} has {product} = "
                f"{math.prod(axes.values())} devices, but {self.name} has {len(self.devices)}"
            )
        shape = tuple(axes.values())
        kinds = (AxisType.Auto,) * len(axes)
        if self.platform == "cuda":  # XLA knows nothing of their places
            return Mesh(np.array(self.devices).reshape(shape), tuple(axes), axis_types=kinds)
        # An axis may be a part of a side of the machine: four chips of a row of sixteen.
        found = mesh_utils.create_device_mesh(
            shape, list(self.devices), allow_split_physical_axes=True
        )
        return Mesh(found, tuple(axes), axis_types=kinds)


def known() -> str:
    """Return names of topologies, for messages."""
    tpus = [name for name, chip in CHIPS.items() if chip.platform == "tpu"]
    gpus = [name for name, chip in CHIPS.items() if chip.platform == "cuda"]
    return (
        f"TPUs as KIND:AxB or KIND:AxBxC ({', '.join(tpus)}; v5e:4x4, v5p:2x2x1), GPUs as "
        f"KIND:GPUS or KIND:HOSTSxGPUS ({', '.join(gpus)}; h100:8, h100:2x8)"
    )


@functools.cache
def topology(name: str) -> Topology:
    """Return the machine called ``name``. ValueError for an unknown one.

    Raises:
      ValueError: no such topology.
      ImportError: what compiles for it is not installed.
    """
    kind, _, layout = name.lower().partition(":")
    chip = CHIPS.get({"v7x": "tpu7x", "7x": "tpu7x"}.get(kind, kind))
    shape = re.fullmatch(r"\d+(x\d+){0,2}", layout or "1")
    if chip is None or shape is None:
        raise ValueError(f"unknown topology {name!r}. Known: {known()}")
    sizes = tuple(map(int, shape.group().split("x")))
    if 0 in sizes:
        raise ValueError(f"unknown topology {name!r}: it has no devices. Known: {known()}")
    require(chip.platform)
    find = _tpu_devices if chip.platform == "tpu" else _gpu_devices
    return Topology(name, chip, tuple(find(name, chip, sizes)))


def missing(platform: str) -> str | None:
    """Return the package that compiling for ``platform`` lacks here, or None."""
    module, package = _COMPILERS[platform]
    try:
        return None if importlib.util.find_spec(module) else package
    except ModuleNotFoundError:
        return package


def require(platform: str) -> None:
    """Raise ImportError where what compiles for ``platform`` is not installed."""
    package = missing(platform)
    if package is not None:
        raise ImportError(
            f"compiling for {platform} ahead of time needs the package {package}: {_INSTALL}"
        )


def _tpu_devices(name: str, chip: Chip, sizes: Sequence[int]) -> list[Any]:
    n_dims = 2 if chip.name in ("v5e", "v6e") else 3
    sizes = (*sizes, *(1,) * (n_dims - len(sizes)))
    options = {"chips_per_host_bounds": (1, 1, 1)} if math.prod(sizes) == 1 else {}
    with _environment(_TPU_ENVIRONMENT), _silent_start():
        try:
            found = topologies.get_topology_desc(
                platform="tpu", topology_name=f"{chip.name}:{'x'.join(map(str, sizes))}", **options
            )
        except Exception as error:
            raise ValueError(
                f"{name} is no topology of {chip.title}: {_first_line(error)}. Sides are even "
                f"(hosts have 2x2 chips). Known: {known()}"
            ) from None
    return found.devices


def _gpu_devices(name: str, chip: Chip, sizes: Sequence[int]) -> list[Any]:
    if len(sizes) > 2:
        raise ValueError(f"{name} has three sizes: GPUs are KIND:GPUS or KIND:HOSTSxGPUS")
    hosts, each = (1, *sizes) if len(sizes) == 1 else sizes
    with _silent_start():
        return topologies.get_topology_desc(
            platform="cuda",
            topology_name="",
            target_config=target_config(chip),
            topology=f"1x{hosts}x{each}",
        ).devices


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


@contextlib.contextmanager
def _environment(wanted: dict[str, str]) -> Iterator[None]:
    """Set environment variables in a ``with`` block, where the environment does not say them
    itself."""
    added = [name for name in wanted if name not in os.environ]
    os.environ.update({name: wanted[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


@contextlib.contextmanager
def _silent_start() -> Iterator[None]:
    """Keep standard error silent in a ``with`` block: plugins that start without a device say so
    there at length; an error is raised anyway. The CPU's backend starts before, by the flags that
    are set for it."""
    jax.devices("cpu")
    kept = os.dup(2)
    try:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
