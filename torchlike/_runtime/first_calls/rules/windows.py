"""Reductions of windows that slide over an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from torchlike._runtime.first_calls.rules.registry import (
    Equation,
    NoNumpyRule,
    Rule,
    highest,
    is_complex,
    is_half,
    lowest,
    rule,
)


def _windowed(ufunc: np.ufunc, identity: Callable[[Any], Any]) -> Rule:
    def over_windows(eqn: Equation) -> Callable[..., Any]:
        sizes, strides = eqn.params["window_dimensions"], eqn.params["window_strides"]
        pads, dilation = eqn.params["padding"], eqn.params["window_dilation"]
        operand, shape, dtype = eqn.operands[0], eqn.shape, eqn.dtype
        if any(step != 1 for step in eqn.params["base_dilation"]) or is_complex(dtype):
            raise NoNumpyRule("windows over a dilated or complex array")
        if is_half(dtype) or 0 in operand.shape or 0 in shape or min(map(min, pads), default=0) < 0:
            raise NoNumpyRule("windows in half precision, over nothing, or cut off")
        fill, is_padded = identity(dtype), any(map(any, pads))
        axes = tuple(range(len(sizes), 2 * len(sizes)))

        def reduced(x: Any) -> np.ndarray:
            if is_padded:
                x = np.pad(x, pads, constant_values=fill)
            steps = [s * n for s, n in zip(x.strides, strides, strict=True)]
            within = [s * n for s, n in zip(x.strides, dilation, strict=True)]
            windows = as_strided(x, (*shape, *sizes), (*steps, *within), writeable=False)
            return ufunc.reduce(windows, axis=axes, dtype=dtype)

        return reduced

    return over_windows


rule("reduce_window_sum")(_windowed(np.add, lambda dtype: 0))
rule("reduce_window_max")(_windowed(np.maximum, lowest))
rule("reduce_window_min")(_windowed(np.minimum, highest))
