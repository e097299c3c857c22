"""``assert_aliases``: whether a write to one tensor is one to another."""

from __future__ import annotations

import numpy as np

from torchlike.tensor import Tensor


def _elements(t: Tensor) -> np.ndarray:
    """Return the places of a tensor's elements in its memory, in elements."""
    places = np.array(t.storage_offset())
    for n, stride in zip(t.shape, t.stride(), strict=True):
        places = places[..., None] + np.arange(n) * stride
    return np.unique(places)


def assert_aliases(a: Tensor, b: Tensor) -> None:
    """Raise AssertionError unless two tensors have memory in common: a view and its base, two views
    that overlap. Two halves of one tensor have none.

    Args:
      a, b: the tensors, of any shapes and dtypes.

    Raises:
      AssertionError: a write to one is not seen in the other.
      TypeError: one of them is no tensor.

    Example:
      >>> x = torch.zeros(3, 4)
      >>> torchlike.testing.assert_aliases(x, x.T[1])
    """
    for name, t in (("a", a), ("b", b)):
        if not isinstance(t, Tensor):
            raise TypeError(f"assert_aliases expects tensors, but {name} is {type(t).__name__}")
    if a._storage is not b._storage:
        raise AssertionError(
            f"the tensors of shapes {tuple(a.shape)} and {tuple(b.shape)} have memory of their "
            "own: a write to one is not seen in the other"
        )
    if (
        a.dtype.itemsize == b.dtype.itemsize
        and not np.intersect1d(_elements(a), _elements(b), assume_unique=True).size
    ):
        raise AssertionError("the tensors are parts of one tensor that do not overlap")
