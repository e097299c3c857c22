"""Histograms as TensorBoard stores them."""

from __future__ import annotations

from typing import Any

import numpy as np

from torchlike.utils.tensorboard._protos import HistogramProto


def default_bins() -> list[float]:
    """Return TensorFlow's bins, which grow by a tenth each: ±1e-12 to ±1e20, and 0."""
    positive = []
    edge = 1e-12
    while edge < 1e20:
        positive.append(edge)
        edge *= 1.1
    return [-x for x in reversed(positive)] + [0.0] + positive


def make_histogram(values: np.ndarray, bins: Any, max_bins: int | None = None) -> Any:
    """Count values between edges: ``bins`` as ``numpy.histogram`` takes them.

    Empty bins at both ends are left out, but for the one before the first. With ``max_bins``
    neighbours are joined until there are about as many. ValueError without values, or where no
    value lies in any bin.
    """
    if values.size == 0:
        raise ValueError("The input has no element.")
    values = values.reshape(-1).astype(np.float64)
    counts, limits = np.histogram(values, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        joined = len(counts) // max_bins
        starts = np.arange(0, len(counts), joined)
        counts = np.add.reduceat(counts, starts)
        limits = np.append(limits[starts], limits[-1])
    (filled,) = counts.nonzero()
    if not filled.size:
        raise ValueError("The histogram is empty, please file a bug report.")
    first, end = filled[0], filled[-1] + 1
    return HistogramProto(
        min=values.min(),
        max=values.max(),
        num=len(values),
        sum=values.sum(),
        sum_squares=values.dot(values),
        bucket_limit=limits[first : end + 1].tolist(),
        bucket=[0, *counts[first:end].tolist()],
    )
