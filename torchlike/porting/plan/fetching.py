"""Where what a planned script makes lies, and how it fetches batches: with values."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from torchlike._core import devices, modes
from torchlike._runtime import trees
from torchlike._runtime.trees import flatten, unflatten
from torchlike.porting.plan.leaves import fetched_cells
from torchlike.tensor import Tensor
from torchlike.utils.data import DataLoader

#: Device types that scripts name.
_NAMED = ("cpu", "cuda", "xla", "tpu", "mps")
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def begin_mapping(with_values: bool) -> None:
    """Have models and batches made on the meta device from now on, whatever device a script names;
    with values, on the CPU."""
    if with_values:
        devices.map_types(dict.fromkeys(_NAMED[1:], "cpu"))
    else:
        devices.map_types(dict.fromkeys(_NAMED, "meta"))
        devices.set_default_device("meta")


def fetched(with_values: bool, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function that fetches a batch: no part of a step, and run with values on the CPU, so
    that it may read some. A plan on the meta device keeps the shapes of what it gives."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if modes.is_capturing() or with_values:
            with modes.outside():
                result = function(*args, **kwargs)
            fetched_cells.update(x._storage for x in trees.leaves(result, Tensor))
            return result
        device, mapping = modes.current.device, devices.mapping()
        modes.current.device = None
        begin_mapping(with_values=True)
        try:
            leaves, structure = flatten(function(*args, **kwargs))
        finally:
            modes.current.device = device
            devices.map_types(mapping)
        moved = [x.to("meta") if isinstance(x, Tensor) else x for x in leaves]
        return unflatten(structure, moved)

    return run


@contextlib.contextmanager
def loaders(decorated: Decorator) -> Iterator[None]:
    """Have a ``DataLoader`` iterated, and its batches made, as ``decorated`` runs functions, in a
    ``with`` block."""
    original = DataLoader.__iter__

    def __iter__(loader: Any) -> Iterator[Any]:
        ended = object()
        batches = decorated(functools.partial(original, loader))()
        following = decorated(functools.partial(next, batches, ended))
        while (batch := following()) is not ended:
            yield batch

    DataLoader.__iter__ = __iter__  # type: ignore[method-assign]
    try:
        yield
    finally:
        DataLoader.__iter__ = original  # type: ignore[method-assign]
