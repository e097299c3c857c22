"""Rounding to quantized levels in floats, and its gradient, against PyTorch."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from oracle import compare, refused, with_gradients  # noqa: E402

ROWS = [[-1.0, 0.24, 0.25, 0.35, 2.04], [2.06, math.nan, 1e4, -1e4, -1.0]]


TENSORS = {
    "numbers": lambda m, x: m.fake_quantize_per_tensor_affine(x, 0.1, 1, 0, 20),
    "tensors": lambda m, x: m.fake_quantize_per_tensor_affine(
        x, m.tensor(0.1), m.tensor(1, dtype=m.int32), 0, 20
    ),
    "channels": lambda m, x: m.fake_quantize_per_channel_affine(
        x, m.tensor([0.1, 0.2]), m.tensor([0, 1], dtype=m.int32), 0, -128, 127
    ),
    "last": lambda m, x: m.fake_quantize_per_channel_affine(
        x, m.arange(1.0, 6) / 7, m.arange(5.0), 1, 0, 9
    ),
}


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_and_gradient(name, dtype):
    compare(with_gradients(TENSORS[name], ROWS, dtype=dtype), exact=True)


def test_compiled():
    compare(with_gradients(TENSORS["numbers"], ROWS, jitted=True), exact=True)


REFUSED = {
    "range": lambda m, x: m.fake_quantize_per_tensor_affine(x, 0.1, 0, 20, 0),
    "zero point": lambda m, x: m.fake_quantize_per_tensor_affine(x, 0.1, 30, 0, 20),
    "sizes": lambda m, x: m.fake_quantize_per_channel_affine(
        x, m.ones(1), m.zeros(2, dtype=m.int32), 0, 0, 20
    ),
    "dtype": lambda m, x: m.fake_quantize_per_channel_affine(
        x, m.ones(2), m.zeros(2, dtype=m.int64), 0, 0, 20
    ),
    "axis": lambda m, x: m.fake_quantize_per_channel_affine(
        x, m.ones(2), m.zeros(2, dtype=m.int32), 3, 0, 20
    ),
    "negative axis": lambda m, x: m.fake_quantize_per_channel_affine(
        x, m.ones(5), m.zeros(5, dtype=m.int32), -1, 0, 20
    ),
    "points": lambda m, x: m.fake_quantize_per_channel_affine(
        x, m.ones(2), m.full((2,), 99, dtype=m.int32), 0, 0, 20
    ),
    "integers": lambda m, x: m.fake_quantize_per_tensor_affine(x.long(), 0.1, 0, 0, 20),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    refused(lambda m: REFUSED[name](m, m.ones(2, 5)))
