"""``torch.fx._compatibility``: marks of what PyTorch promises to keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def compatibility(is_backward_compatible: bool) -> Callable[[Any], Any]:
    """A decorator that says whether a function is kept as it is; it changes nothing."""
    return lambda function: function
