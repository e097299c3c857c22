"""``torch_xla.experimental.scan_layers``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torchlike.porting.torch_xla._absent import absent

__getattr__ = absent("torch_xla.experimental.scan_layers")


def scan_layers(
    layers: Iterable[Callable[[Any], Any]],
    input_data: Any,
    partition_fn: Any = None,
    is_layer_pure: bool = False,
) -> Any:
    """Apply each of ``layers`` in turn, from ``input_data``.

    Differs from torch_xla: a program has every layer, and takes longer to compile than of one.
    """
    for layer in layers:
        input_data = layer(input_data)
    return input_data
