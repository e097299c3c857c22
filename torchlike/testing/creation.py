"""``make_tensor``: random tensors for tests, PyTorch's numbers for a seed."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from torchlike._core import dtypes
from torchlike._ops.creation.conversion import clone
from torchlike._ops.creation.filled import empty
from torchlike._ops.random.random import randint
from torchlike._ops.shape.views.complex_parts import view_as_real
from torchlike.tensor import Tensor

_EIGHT_BITS = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")


def make_tensor(
    *shape: Any,
    dtype: dtypes.dtype,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Make a tensor of random numbers, uniform in ``[low, high)``.

    Args:
      low, high: bounds, brought into the dtype's range. By default -9 and 9 for floats and complex
        numbers (of both parts), -9 and 10 for integers (0 and 10 for unsigned ones), 0 and 2 for
        bool.
      noncontiguous: every other element of a tensor twice as long in its last dimension.
      exclude_zero: 1 instead of 0, or the smallest normal number of a float dtype.
      memory_format: the order in memory; not together with ``noncontiguous``.

    ValueError for bounds that are NaN, not in order, or outside the dtype; for ``noncontiguous``
    with a memory format; for ``requires_grad`` of integers. TypeError for other dtypes.

    Example:
      >>> x = torch.testing.make_tensor(2, 3, dtype=torch.float32, device="cpu", low=0, high=1)
      >>> x.shape, bool((x >= 0).all())
      (torch.Size([2, 3]), True)
    """
    size = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else tuple(shape)
    whole = dtype.category < 2
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"{noncontiguous=} and {memory_format=}"
        )
    if requires_grad and whole:
        raise ValueError(
            "`requires_grad=True` is not supported for boolean and integral dtypes, but got "
            f"{dtype=}"
        )
    spread = noncontiguous and math.prod(size) > 1
    drawn = (*size[:-1], 2 * size[-1]) if spread else size
    made = (
        _integers(drawn, dtype, device, low, high)
        if whole
        else (_floats(drawn, dtype, device, low, high))
    )
    if spread:
        made = made[..., 1::2]  # not from 0: the offset is tested too
    elif memory_format is not None:
        made = clone(made, memory_format=memory_format)
    if exclude_zero:
        made[made == 0] = 1 if whole else dtypes.finfo(dtype).tiny
    if dtype.name not in _EIGHT_BITS and not whole:
        made.requires_grad = requires_grad
    return made


def _integers(shape: Any, dtype: dtypes.dtype, device: Any, low: Any, high: Any) -> Tensor:
    if dtype is dtypes.bool:
        smallest, end, bounds = 0, 2, (0, 2)
    else:
        facts = dtypes.iinfo(dtype)
        # randint's bounds are 64-bit numbers, so that it cannot reach the greatest of them.
        smallest, end = facts.min, facts.max + (dtype is not dtypes.int64)
        bounds = (-9, 10)
    low, high = _range(low, high, bounds, smallest, end, dtype)
    return randint(math.ceil(low), math.ceil(high), shape, dtype=dtype, device=device)


def _floats(shape: Any, dtype: dtypes.dtype, device: Any, low: Any, high: Any) -> Tensor:
    if type(dtype) is not dtypes.dtype:
        raise TypeError(
            f"The requested dtype '{dtype}' is not supported by torch.testing.make_tensor()."
        )
    facts = dtypes.finfo(dtype)
    low, high = _range(low, high, (-9, 9), facts.min, facts.max, dtype)
    narrow = dtype.name in _EIGHT_BITS
    made = empty(shape, dtype=dtypes.float32 if narrow else dtype, device=device)
    # Two reals for each complex number, in the order in which they lie.
    parts = view_as_real(made) if dtype.is_complex else made
    if high - low >= dtypes.finfo(parts.dtype).max:  # uniform_ refuses so wide a range
        parts.uniform_(low / 2, high / 2).mul_(2)
    else:
        parts.uniform_(low, high)
    return made.to(dtype)


def _range(
    low: Any, high: Any, bounds: tuple[Any, Any], smallest: Any, end: Any, dtype: dtypes.dtype
) -> tuple[Any, Any]:
    """Return the bounds, given or by default, within what the dtype has."""
    low = bounds[0] if low is None else low
    high = bounds[1] if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and dtype.category >= 2 and dtype.name not in _EIGHT_BITS:
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is "
            "deprecated since 2.1 and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=4,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < smallest or low >= end:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} "
            f"only supports [{smallest}, {end})"
        )
    return min(max(low, smallest), end), min(max(high, smallest), end)
