"""Which platforms JAX can find, where that is known before a backend starts.

A process whose backend has not started can be forked: DataLoader's workers and
``torch.multiprocessing`` start in milliseconds from it. So a script that asks whether there is a
GPU, or makes a few small tensors, should not start one.
"""

from __future__ import annotations

import functools
import importlib.util
from importlib import metadata
from typing import Any

import jax
from jax._src import xla_bridge


def started() -> bool:
    """Whether a backend runs in this process, with threads that a fork of it would not have."""
    return bool(xla_bridge._backends)


def only_cpu() -> bool:
    """Whether JAX can find no platform but the CPU; False also where only starting would tell."""
    config: Any = jax.config  # gets its fields one by one
    said = config.jax_platforms
    return said == "cpu" if said else not _has_plugins()


@functools.cache
def _has_plugins() -> bool:
    if any(map(importlib.util.find_spec, ("jax_plugins", "libtpu"))):
        return True
    return bool(metadata.entry_points(group="jax_plugins"))
