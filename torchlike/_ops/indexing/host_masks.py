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
    where, values = _whole(mask), _whole(x)
    if where is None or values is None or where.dtype != np.bool_ or not where.ndim:
        return None
    current = modes.current
    if modes.is_capturing() or current.levels or current.seen_by_mode or current.inference:
        return None
    if where.shape != values.shape[: where.ndim] or (current.grad_enabled and x._requires_grad):
        return None
    return wrap(host_value(values[where]))


def _whole(t: Any) -> np.ndarray | None:
    """Return the host value that a tensor is all of, in row-major order; None where there is
    none."""
    if type(t) is not Tensor or t._view is not None:
        return None
    storage = t._storage
    found = type(storage.cell) is np.ndarray and storage.host is None and storage.strides is None
    return storage.cell if found else None
