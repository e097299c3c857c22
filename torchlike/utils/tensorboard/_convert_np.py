"""What users log (tensors, arrays, numbers) as NumPy arrays."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from torchlike._core import dtypes
from torchlike.tensor import Tensor


def make_np(x: Any) -> np.ndarray:
    """Return the values of ``x``, not to be written to: a tensor's, an array's, or one number as
    (1,).

    bfloat16 becomes float16, as in PyTorch. NotImplementedError for anything else;
    ``JitCaptureError`` for a tensor of a function that is being captured.
    """
    if isinstance(x, np.ndarray):
        return x
    if np.isscalar(x):
        return np.array([x])
    if isinstance(x, Tensor):
        t: Any = x.detach()
        if t.dtype == dtypes.bfloat16:
            t = t.to(dtypes.float16)
        # Without the host buffer that numpy() would make of the tensor's memory for good.
        return t._value("SummaryWriter", "a returned value, logged outside")
    if isinstance(x, jax.Array):
        return np.asarray(x)
    raise NotImplementedError(f"Got {type(x)}, but numpy array or torch tensor are expected.")
