"""Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from torchlike._runtime.first_calls.rules.registry import Equation, NoNumpyRule, rule

#: By ``jax.lax.FftType``.
_TRANSFORMS = (np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn)


@rule("fft")
def _fft(eqn: Equation) -> Callable[..., Any]:
    kind, lengths, dtype = int(eqn.params["fft_type"]), eqn.params["fft_lengths"], eqn.dtype
    if 0 in eqn.operands[0].shape or 0 in eqn.shape:
        raise NoNumpyRule("transforms of nothing")
    transform, axes = _TRANSFORMS[kind], tuple(range(-len(lengths), 0))
    return lambda x: transform(x, s=lengths, axes=axes).astype(dtype, copy=False)
