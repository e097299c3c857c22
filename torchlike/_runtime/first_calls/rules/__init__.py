"""NumPy rules for lax primitives, one family a file; importing the room registers them."""

from torchlike._runtime.first_calls.rules import (
    arithmetic,
    control_flow,
    conversions,
    convolution,
    fourier,
    indexing,
    linear_algebra,
    ordering,
    products,
    random_bits,
    reductions,
    shapes,
    special,
    windows,
)
from torchlike._runtime.first_calls.rules.registry import RULES, Equation, NoNumpyRule, TooLong

__all__ = ["RULES", "Equation", "NoNumpyRule", "TooLong"]
