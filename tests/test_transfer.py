"""NumPy arrays reach the device by the short way as by `jax.device_put`."""

from __future__ import annotations

import jax
import ml_dtypes
import numpy as np
import pytest

from torchlike._runtime import transfer


def test_the_short_way_is_open():
    assert transfer._direct() is not None


@pytest.mark.parametrize(
    "values",
    [
        np.arange(6.0).reshape(2, 3),
        np.arange(6, dtype=np.int64)[::2],
        np.array(True),
        np.zeros((0, 3), np.float16),
        np.ones(3, ml_dtypes.bfloat16),
        np.arange(6.0).reshape(2, 3).T,
        np.array(1 + 2j, np.complex64),
        np.arange(4, dtype=np.uint8)[::-1],
        np.broadcast_to(3.0, (2, 2)),
    ],
)
def test_arrays_are_those_of_device_put(values):
    mine, public = transfer.to_device(values), jax.device_put(values)
    assert mine.aval == public.aval
    assert mine.sharding == public.sharding
    assert mine.committed is public.committed
    np.testing.assert_array_equal(np.asarray(mine), np.asarray(values))


def test_without_the_private_function_the_public_one_serves(monkeypatch):
    monkeypatch.setattr(transfer, "_direct", lambda: None)
    assert transfer.to_device(np.ones(3)).tolist() == [1, 1, 1]


def test_where_another_device_is_the_default_the_public_one_serves(monkeypatch):
    asked = []
    monkeypatch.setattr(jax, "device_put", lambda values, device: asked.append(device))
    device = jax.devices()[0]
    with jax.default_device(device):
        transfer.to_device(np.ones(3))
    assert asked == [None]  # JAX goes by the default
