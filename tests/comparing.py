"""How test files compare results of torchlike's with each other, with JAX's and NumPy's; with those
of PyTorch `parity/oracle.py` does."""

from __future__ import annotations

from typing import Any

import numpy as np

import torchlike


def close(
    found: Any, expected: Any, where: str = "", *, rtol: float = 1e-5, atol: float = 1e-6
) -> None:
    """AssertionError unless the values agree; those of two tensors in dtype and shape as well."""
    if isinstance(found, torchlike.Tensor) and isinstance(expected, torchlike.Tensor):
        message = (lambda text: f"{where}: {text}") if where else None
        torchlike.testing.assert_close(found, expected, rtol=rtol, atol=atol, msg=message)
        return
    found, expected = np.asarray(found), np.asarray(expected)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol, err_msg=where)
