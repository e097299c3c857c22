"""The rejection fill behind ``nn.init.trunc_normal_``."""

from __future__ import annotations

import math

import numpy as np

from torchlike.random.arithmetic import add_scalar, cast, divide_scalar, multiply_scalar
from torchlike.random.engine import Engine, atomic
from torchlike.random.normal import normal
from torchlike.random.uniform import uniform


@atomic
def trunc_normal(
    engine: Engine,
    shape: tuple[int, ...],
    dtype: np.dtype,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    contiguous: bool = True,
) -> np.ndarray:
    """Draw normals with ``mean`` and ``std`` given that they lie in [a, b].

    Where [a, b] has more than 0.3 of the mass: whole normal fills, of which elements outside are
    replaced from the next fill until none is left. Else: whole uniform fills on [a, b], each
    followed by one on [0, 1) that decides on acceptance.

    Draws what ``normal``, or ``uniform`` twice, draws for ``shape``, once for each round.
    ``contiguous`` concerns the first normal fill; the later ones are of new tensors, which keep
    the strides of the first, so it holds for them too.

    Raises:
      What ``normal`` and ``uniform`` raise; ZeroDivisionError for std = 0.

    Differs from PyTorch: the acceptance test takes the correctly rounded logarithm; PyTorch's may
    be an ulp off, which changes a decision for about one candidate in 10**7.
    """
    mass = _phi((b - mean) / std) - _phi((a - mean) / std)
    if mass > 0.3:
        return _from_normals(engine, shape, dtype, mean, std, a, b, contiguous)
    return _from_uniforms(engine, shape, dtype, mean, std, a, b)


def _phi(x: float) -> float:
    """Return the normal distribution function."""
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _from_normals(
    engine: Engine,
    shape: tuple[int, ...],
    dtype: np.dtype,
    mean: float,
    std: float,
    a: float,
    b: float,
    contiguous: bool,
) -> np.ndarray:
    low, high = np.array([a, b]).astype(dtype)
    result = normal(engine, shape, dtype, mean, std, contiguous)
    while True:
        outside = (result < low) | (result > high)
        if not outside.any():
            return result
        again = normal(engine, shape, dtype, mean, std, contiguous)
        result = np.where(outside, again, result)


def _from_uniforms(
    engine: Engine,
    shape: tuple[int, ...],
    dtype: np.dtype,
    mean: float,
    std: float,
    a: float,
    b: float,
) -> np.ndarray:
    mode = max(a, min(mean, b))
    log_peak = -0.5 * ((mode - mean) / std) ** 2

    def refused(candidates: np.ndarray) -> np.ndarray:
        """Return whether log(uniform) > log density relative to the peak, each step rounded to the
        dtype."""
        offset = divide_scalar(add_scalar(candidates, -mean), std)
        density = add_scalar(multiply_scalar(offset * offset, -0.5), -log_peak)
        u = uniform(engine, shape, dtype).astype(np.float64)
        with np.errstate(divide="ignore"):
            return cast(np.log(u), dtype) > density

    result = uniform(engine, shape, dtype, a, b)
    pending = refused(result)
    while pending.any():
        candidates = uniform(engine, shape, dtype, a, b)
        result = np.where(pending, candidates, result)
        pending &= refused(candidates)
    return result
