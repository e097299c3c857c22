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
    parts = [x.__jax_array__() if hasattr(x, "__jax_array__") else x for x in parts]
    if _is_public:
        return jax.make_array_from_single_device_arrays(aval.shape, sharding, list(parts))
    return ArrayImpl(aval, sharding, list(parts), committed=committed, _skip_checks=True)


_AS_ARRAY = "values that are computed when they are asked for are arrays to JAX"
_NOT_AS_ARRAY = "calls cannot be deferred (torchlike.deferred)"
AVALS = declare("jax._src.core.pytype_aval_mappings", _AS_ARRAY, _NOT_AS_ARRAY)
SHARDED = declare("jax._src.interpreters.pxla.shard_arg_handlers", _AS_ARRAY, _NOT_AS_ARRAY)
SHARD = declare("jax._src.interpreters.pxla.shard_args", _AS_ARRAY, _NOT_AS_ARRAY)
CANONICAL = declare("jax._src.dtypes.register_canonicalize_value_handler", _AS_ARRAY, _NOT_AS_ARRAY)


def know_as_array(kind: type, aval: Any, value: Any) -> None:
    """Have JAX take objects of a class for arrays: ``aval(x)`` is what it is to know beforehand,
    ``value(x)`` the array, which it asks for when it needs one."""
    avals, sharded, shard = AVALS.find(), SHARDED.find(), SHARD.find()
    canonical = CANONICAL.find()
    if avals is None or sharded is None or shard is None or canonical is None:
        return

    def sharded_arguments(xs: Any, shardings: Any, layouts: Any, semantics: Any) -> Any:
        return shard(shardings, layouts, semantics, [value(x) for x in xs])

    avals[kind] = aval
    sharded[kind] = sharded_arguments
    canonical(kind, None)
