"""The weight gradient in parts of the batch is the one of the whole batch."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from torchlike._ops.nn.conv.convolution_gradient import (
    ConvolutionGeometry,
    channels_last,
    images_at_once,
)
from torchlike._runtime import xla_flags


@pytest.mark.parametrize(
    ("images", "positions", "column", "expected"),
    [
        (32, 14 * 14, 9 * 32 * 4, 4),
        (32, 32 * 32, 9 * 64 * 4, 2),  # at most 16 parts
        (32, 7 * 7, 9 * 128 * 4, 16),  # too few positions otherwise
        (8, 14 * 14, 9 * 32 * 4, 4),
        (1, 28 * 28, 9 * 4, 1),
        (7, 28 * 28, 9 * 64 * 4, 1),
        (13, 14 * 14, 9 * 64 * 4, 13),  # no divisor but itself has the positions
        (0, 14 * 14, 9 * 4, 0),
    ],
)
def test_a_part_divides_the_batch_and_stays_in_the_cache(images, positions, column, expected):
    assert images_at_once(images, positions, column) == expected


@pytest.mark.exhaustive
@pytest.mark.parametrize("transform", [lambda f: f, jax.jit])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("by_eigen", [False, True])
def test_gradients_of_every_order(transform, stride, by_eigen, monkeypatch):
    monkeypatch.setattr(xla_flags, "convolves_by_eigen", lambda: by_eigen)
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.standard_normal((32, 14 * stride, 14 * stride, 8)))
    w = jnp.asarray(rng.standard_normal((3, 3, 8, 24)))
    geometry = ConvolutionGeometry((stride, stride), ((1, 1), (1, 1)), (1, 1))
    assert images_at_once(32, 14 * 14, 9 * 8 * 8) < 32

    def plain(x, w):
        return lax.conv_general_dilated(
            x, w, (stride, stride), geometry.pads, dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    def ours(x, w):
        return channels_last(x, w, geometry)

    def first(conv):
        return transform(jax.grad(lambda x, w: jnp.sum(jnp.sin(conv(x, w))), (0, 1)))

    def second(conv):
        def norm(x, w):
            dx, dw = jax.grad(lambda x, w: jnp.sum(jnp.sin(conv(x, w))), (0, 1))(x, w)
            return jnp.sum(dx**2) + jnp.sum(dw**2)

        return transform(jax.grad(norm, (0, 1)))

    for order in (first, second):
        for found, expected in zip(order(ours)(x, w), order(plain)(x, w), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-9)
    tangents = (jnp.cos(x), jnp.sin(w))
    found = transform(lambda: jax.jvp(ours, (x, w), tangents))()
    expected = transform(lambda: jax.jvp(plain, (x, w), tangents))()
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("by_eigen", [False, True])
def test_the_gradient_is_computed_in_parts_by_ynnpack(by_eigen, monkeypatch):
    monkeypatch.setattr(xla_flags, "convolves_by_eigen", lambda: by_eigen)
    x, w = jnp.ones((32, 14, 14, 32), "float32"), jnp.ones((3, 3, 32, 64), "float32")
    geometry = ConvolutionGeometry((1, 1), ((1, 1), (1, 1)), (1, 1))
    jaxpr = jax.make_jaxpr(jax.grad(lambda w: channels_last(x, w, geometry).sum()))(w)
    # The output itself and, for the gradient, eight parts of four images or all at once.
    assert str(jaxpr).count("conv_general_dilated[") == (2 if by_eigen else 9)
