"""Arrays made without the checks of JAX's public functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from torchlike._runtime.jax_private.names import declare

PUT = declare(
    "jaxlib._jax.batched_device_put",
    "NumPy's values to a device in 3.5 µs for the 29 of jax.device_put",
    "jax.device_put is called, whose arrays are bound to their device; every call is compiled",
)
ARRAY = declare(
    "jax._src.array.ArrayImpl",
    "the class of arrays, and arrays of parts that are known to fit",
    "the parts are checked by jax.make_array_from_single_device_arrays; every call is compiled",
)


def _put_publicly(
    aval: Any, sharding: Any, values: Sequence[Any], devices: Any, committed: bool = True
) -> jax.Array:
    (value,) = values
    return jax.device_put(value, sharding)


#: ``put(aval, sharding, [values], [device], committed)``: an array of these values, whose memory
#: JAX may keep.
put = PUT.find(lambda: _put_publicly)
#: The class of arrays with values. ``type(x) is ArrayImpl`` takes a tenth of ``isinstance``.
ArrayImpl: Any = ARRAY.find(lambda: jax.Array)
_is_public = ArrayImpl is jax.Array


def of_parts(aval: Any, sharding: Any, parts: Sequence[Any], committed: bool) -> jax.Array:
    """Make an array of parts, one on each device, that are known to fit. Public JAX checks each
    part once more, at a tenth of the time of a collective of 4 KB."""
    if _is_public:
        return jax.make_array_from_single_device_arrays(aval.shape, sharding, list(parts))
    return ArrayImpl(aval, sharding, list(parts), committed=committed, _skip_checks=True)
