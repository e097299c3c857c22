"""What layers share: sizes given once for all dimensions, and fresh parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from operator import index
from typing import Any

import jax
import numpy as np

from torchlike._core import devices, overrides
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._core.dtypes import get_default_dtype
from torchlike._extensions.meta import MetaArray
from torchlike._ops.creation.wrap_result import finish, numpy_dtype
from torchlike.nn.parameter import Parameter
from torchlike.tensor import Tensor


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that repeats a number n times and leaves a sequence as a tuple."""

    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Any, n: int) -> tuple[Any, ...]:
    """Return each entry n times, last entry first: the order in which ``F.pad`` wants its sides."""
    return tuple(x for x in reversed(t) for _ in range(n))


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take a prefix off the names in a ``state_dict()``, in place; names without it stay.

    What ``DataParallel`` and its kin save has the prefix ``"module."``. The versions of modules
    that go with the dictionary are renamed too.
    """
    for name in [name for name in state_dict if name.startswith(prefix)]:
        state_dict[name.removeprefix(prefix)] = state_dict.pop(name)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is None:
        return
    outer = prefix.removesuffix(".")
    for name in list(metadata):
        if name == outer:
            metadata[""] = metadata.pop(name)
        elif name.startswith(prefix):
            metadata[name.removeprefix(prefix)] = metadata.pop(name)


def as_sizes(given: Any) -> tuple[int, ...]:
    """Return an integer (NumPy's too), or several, as a tuple of sizes."""
    return tuple(map(index, given if isinstance(given, Iterable) else (given,)))


def new_tensor(shape: Any, device: Any = None, dtype: Any = None, value: Any = 0) -> Tensor:
    """Return a fresh tensor. Its memory is made by NumPy and handed over: nothing is compiled."""
    size = as_sizes(shape)
    for n in size:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(size)}")
    if overrides.state.dispatch_modes:  # they see how parameters are made
        return NAMESPACES[""]["full"](
            size, value, dtype=dtype or get_default_dtype(), device=device
        )
    if devices.resolve(device).type == "meta":
        return finish(MetaArray(size, numpy_dtype(dtype)), device)
    return finish(jax.device_put(np.full(size, value, numpy_dtype(dtype))), device)


def new_parameter(shape: Any, device: Any = None, dtype: Any = None, value: Any = 0) -> Parameter:
    """Return a fresh parameter, holding ``value`` until it is initialised."""
    return Parameter(new_tensor(shape, device, dtype, value))
