"""What public functions do with ragged tensors: importing this fills the table of rules."""

from torchlike.nested._internal.rules import (
    attention,
    layers,
    padding,
    placing,
    pointwise,
    products,
    reductions,
    shapes,
)

__all__ = [
    "attention",
    "layers",
    "padding",
    "placing",
    "pointwise",
    "products",
    "reductions",
    "shapes",
]
