"""NumPy arrays to the CPU by the short way.

``jax.device_put`` takes 29 µs for three numbers, 3.5 of them in the function of jaxlib's that it
ends in. That is private, so it is looked for once, tried, and called only where it does what
`jax.device_put` would: for an array of NumPy's to the CPU.

Where JAX's default device is another, arrays are *committed* to the CPU, as JAX calls it: what is
computed from them stays there. An array that is not would go to the accelerator with the first
program.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np
from jax import core

from torchlike._runtime import platforms
from torchlike._runtime.jax_private import arrays


@functools.cache
def _aval(shape: tuple[int, ...], dtype: np.dtype) -> Any:
    return core.ShapedArray(shape, dtype)


@functools.cache
def _direct() -> Any:
    """Return the function ``put(values)``, or None where it means something else in this
    jaxlib."""
    try:
        from_host = arrays.put
        device = platforms.cpu_device()
        sharding = jax.sharding.SingleDeviceSharding(device)
        committed = not platforms.cpu_is_default()

        def put(values: np.ndarray) -> jax.Array:
            aval = _aval(values.shape, values.dtype)
            return from_host(aval, sharding, [values], [device], committed)

        for values in (np.arange(6.0).reshape(2, 3).T, np.array(True)):
            mine, public = put(values), jax.device_put(values, _place())
            same = mine.aval == public.aval and mine.sharding == public.sharding
            if not same or mine.committed != committed or not np.array_equal(mine, values):
                return None
    except (AttributeError, TypeError, RuntimeError):
        return None
    return put


def _place() -> Any:
    """Return the device argument for `jax.device_put`, so that an array is the CPU's: None where
    that goes without saying."""
    return None if platforms.cpu_is_default() else platforms.cpu_device()


def moved(value: Any, device: Any) -> jax.Array:
    """Return an array on a device of JAX's. It shares memory with no other array of JAX's: one that
    did could not be given up alone."""
    may_alias = None if isinstance(value, np.ndarray) else False
    return jax.device_put(value, device, may_alias=may_alias)


def to_device(values: Any) -> jax.Array:
    """Make an array of NumPy's values on the CPU, or where the user's ``jax.default_device``
    says."""
    put = _direct()
    config: Any = jax.config  # gets its fields one by one
    if (
        put is None
        or type(values) is not np.ndarray
        or config.jax_default_device is not None
        or not config.jax_enable_x64  # avals are kept, and would be of 32 bits
    ):
        return jax.device_put(values, None if config.jax_default_device is not None else _place())
    return put(values)
