"""``assert_allclose``: what ``assert_close`` was called before."""

from __future__ import annotations

import warnings
from typing import Any

from torchlike._ops.creation.from_data import as_tensor
from torchlike.testing.comparison import assert_close

#: Tolerances by dtype when none are given: for the wider of the two, 0 for whole numbers.
_TOLERANCES = {
    "float16": (1e-3, 1e-3),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1e-4, 1e-5),
    "float64": (1e-5, 1e-8),
}


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Raise AssertionError unless the values are close; dtypes, devices and strides may differ.

    Deprecated (FutureWarning): ``assert_close``. ValueError for one tolerance without the other.
    """
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a "
        "future release. Please use `torch.testing.assert_close()` instead.",
        FutureWarning,
        stacklevel=2,
    )
    a, e = as_tensor(actual), as_tensor(expected, dtype=getattr(actual, "dtype", None))
    if rtol is None and atol is None:
        kinds = [_TOLERANCES.get(t.dtype.name, (0.0, 0.0)) for t in (a, e)]
        rtol, atol = max(k[0] for k in kinds), max(k[1] for k in kinds)
    assert_close(
        a,
        e,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=True,
        check_dtype=False,
        check_stride=False,
        msg=msg or None,
    )
