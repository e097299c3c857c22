"""``x[mask]`` of small tensors on the CPU, of which nothing is recorded: by NumPy, in one step.

Index tensors made of a mask would be checked and gathered by like any others, at ten times the
time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from torchlike._core import modes
from torchlike._core.storage import host_value
from torchlike.tensor import Tensor, wrap


def chosen(x: Tensor, mask: Any) -> Tensor | None:
    """Return the elements of ``x`` where ``mask`` is True, or None where the general way is to find
    them: one of both is no whole tensor of host values, or somebody looks at operations."""
    current = modes.current
    if type(mask) is not Tensor or type(x) is not Tensor or mask._view is not None:
        return None
    where, values = mask._storage.cell, x._storage.cell
    if (
        type(where) is not np.ndarray
        or type(values) is not np.ndarray
        or where.dtype != np.bool_
        or x._view is not None
        or x._storage.strides is not None
        or mask._storage.strides is not None
        or x._storage.host is not None
        or mask._storage.host is not None
        or not where.ndim
        or where.shape != values.shape[: where.ndim]
    ):
        return None
    if current.capture is not None or current.levels or current.seen_by_mode or current.inference:
        return None
    if current.grad_enabled and x._requires_grad:
        return None
    return wrap(host_value(values[where]))
