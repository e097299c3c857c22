"""Functions that PyTorch makes of other operators, made of the same ones."""

from torchlike.ops._aten.composites import (
    conversions,
    indexing,
    layers,
    losses,
    multihead,
    noise,
    pointwise,
    products,
    shapes,
)

__all__ = [
    "conversions",
    "indexing",
    "layers",
    "losses",
    "multihead",
    "noise",
    "pointwise",
    "products",
    "shapes",
]
