"""A strategy for dtypes, and the refusal of those that a device lacks."""

from __future__ import annotations

import functools
from typing import Any

from torchlike._core import dtypes as _dtypes
from torchlike._ops import functions
from torchlike.testing.strategies.hypothesis_package import st

#: By kind; the simplest first, to which hypothesis shrinks.
DTYPES: dict[str, tuple[_dtypes.dtype, ...]] = {
    "float": (_dtypes.float32, _dtypes.float64, _dtypes.float16, _dtypes.bfloat16),
    "integer": (_dtypes.int64, _dtypes.int32, _dtypes.int16, _dtypes.int8, _dtypes.uint8),
    "bool": (_dtypes.bool,),
    "complex": (_dtypes.complex64, _dtypes.complex128),
}


def dtypes(*kinds: str, device: Any = "cpu") -> Any:
    """Return a strategy for dtypes.

    Args:
      kinds: of "float", "integer", "bool" and "complex"; all by default.
      device: only dtypes that it has.

    Returns:
      the strategy.

    Raises:
      ValueError: another kind.

    Example:
      >>> import hypothesis
      >>> from torchlike.testing import strategies
      >>> @hypothesis.settings(max_examples=5, database=None, deadline=None)
      ... @hypothesis.given(strategies.dtypes("float"))
      ... def check(dtype):
      ...     assert dtype.is_floating_point
      >>> check()
    """
    for kind in kinds:
        if kind not in DTYPES:
            raise ValueError(f"unknown kind of dtypes {kind!r}: one of {', '.join(DTYPES)}")
    wanted = [d for kind in kinds or DTYPES for d in DTYPES[kind]]
    return st.sampled_from([d for d in wanted if not lacking(d, str(device))])


def checked(dtype: Any, device: Any) -> _dtypes.dtype:
    """Return the dtype after a check. TypeError for what is none, ValueError for one that the
    device lacks."""
    if not isinstance(dtype, _dtypes.dtype):
        raise TypeError(
            f"dtype must be a torch.dtype or a strategy for some, not {type(dtype).__name__}"
        )
    if why := lacking(dtype, str(device)):
        raise ValueError(f"the device '{device}' cannot hold {dtype}: {why}")
    return dtype


@functools.cache
def lacking(dtype: _dtypes.dtype, device: str) -> str:
    """Return the reason for which a device has no tensors of a dtype; "" where it has. RuntimeError
    for a device that is not here."""
    functions.zeros((1,), device=device)
    try:
        functions.zeros((1,), dtype=dtype, device=device)
    except (NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        return str(error)
    return ""
