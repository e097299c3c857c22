"""``torch.onnx.symbolic_helper``: for functions that libraries write for PyTorch's exporter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["parse_args"]


def parse_args(*descriptors: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function of a graph, which nobody calls here: it is left as it is."""
    return lambda function: function
