"""Where PyTorch's resampling copies although the scale factor given says otherwise.

``interpolate(x, scale_factor=1.3)`` of three elements makes three: linear kernels then copy, and
those of "nearest" read ``i`` (``i >> 1`` where the size doubles), some of them forward too, all of
them backward. Kernels with a wide filter differ in one direction only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax.custom_derivatives import linear_call

from torchlike._core import layouts
from torchlike.tensor import Tensor

_Linear = Callable[[Any], jax.Array]


def goes_in_pixels(input: Tensor, size: Any) -> bool:
    """True if PyTorch resamples pixel by pixel, by its kernel for channels last: such images of 4
    channels and more, and small 2-D ones."""
    if len(size) == 1:
        return False
    if len(size) == 2 and sum(size) <= 128:
        return True
    last = layouts.channels_last if len(size) == 2 else layouts.channels_last_3d
    return input.shape[1] > 3 and input.is_contiguous(memory_format=last)


def two_directions(forward: _Linear, backward: _Linear, x: Any) -> jax.Array:
    """Return ``forward(x)``, whose gradient is that of ``backward(x)``; both are linear."""

    def transposed(_: Any, given: Any) -> Any:
        return jax.linear_transpose(backward, x)(given)[0]

    @jax.custom_jvp
    def both(x: Any) -> jax.Array:
        return forward(x)

    @both.defjvp
    def _(at: Any, towards: Any) -> Any:
        return both(*at), linear_call(lambda _, t: forward(t), transposed, (), *towards)

    return both(x)
