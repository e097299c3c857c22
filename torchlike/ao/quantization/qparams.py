"""Scale and zero point: how the levels of a dtype of few bits lie over a range of numbers."""

from __future__ import annotations

from torchlike._compat import qschemes
from torchlike._compat.qschemes import qscheme as _QScheme
from torchlike._core import dtypes
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike.tensor import Tensor

_torch = NAMESPACES[""]


def check_range(quant_min: int, quant_max: int) -> None:
    """Raise AssertionError for levels that do not include 0, or are none."""
    if not quant_min <= 0 <= quant_max:
        raise AssertionError("Used-specified quantization range must include 0.")
    if quant_min >= quant_max:
        raise AssertionError(
            "qmin must be strictly less than qmax for user-specified quantization range."
        )


def determine_qparams(
    min_val: Tensor,
    max_val: Tensor,
    least: int,
    most: int,
    scheme: _QScheme,
    eps: Tensor,
    middle: int,
) -> tuple[Tensor, Tensor]:
    """Return the scales and zero points, (channels,) or (1,), with which the levels ``least`` to
    ``most`` lie over the numbers ``min_val`` to ``max_val``.

    Args:
        eps: the least scale.
        middle: the zero point of symmetric schemes.
    """
    low, high = min_val.clamp(max=0), max_val.clamp(min=0)
    if scheme.is_symmetric:
        scale = _torch["maximum"](-low, high) / (float(most - least) / 2)
        scale = _torch["maximum"](scale, eps)
        zero_point = _torch["full_like"](low, middle, dtype=dtypes.int64)
    elif scheme is qschemes.per_channel_affine_float_qparams:
        scale = (max_val - min_val) / float(most - least)
        scale = _torch["where"](scale > eps, scale, _torch["ones_like"](scale))
        zero_point = -1 * min_val / scale
    else:
        scale = _torch["maximum"]((high - low) / float(most - least), eps)
        zero_point = least - (low / scale).round().to(dtypes.int32)
        zero_point = zero_point.clamp(least, most)
    return scale.reshape(-1), zero_point.reshape(-1)
