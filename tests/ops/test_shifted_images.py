"""Convolutions of few taps as sums of shifted images: XLA's convolution, and its derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from torchlike._ops.nn.conv import shifted_images
from torchlike._ops.nn.conv.convolution_gradient import ConvolutionGeometry, channels_last


@pytest.mark.parametrize(
    ("kernel", "channels", "made", "dtype", "expected"),
    [
        ((3, 3), 1, 128, "float32", True),
        ((3, 3), 1, 129, "float32", False),
        ((5, 5), 1, 46, "float64", True),
        ((3, 3), 3, 32, "float32", True),
        ((3, 3), 3, 64, "float32", False),
        ((9, 9), 1, 1, "float32", False),  # each tap is compiled
        ((3,), 8, 8, "float32", True),
        ((3, 3), 1, 8, "bfloat16", False),  # a sum of nine terms, each rounded to 8 bits
    ],
)
def test_few_taps_pay(kernel, channels, made, dtype, expected):
    weight = jax.ShapeDtypeStruct((*kernel, channels, made), jnp.dtype(dtype))
    assert shifted_images.pays(weight) is expected


@pytest.mark.sampled(every=8)
@pytest.mark.parametrize("transform", [lambda f: f, jax.jit])
@pytest.mark.parametrize(
    ("sizes", "kernel", "geometry"),
    [
        ((11,), (4,), ConvolutionGeometry((2,), ((1, 2),), (1,))),
        ((9, 8), (3, 2), ConvolutionGeometry((1, 2), ((2, 0), (0, 1)), (2, 1))),
        ((9, 9), (3, 3), ConvolutionGeometry((3, 1), ((0, 0), (1, 1)), (1, 1))),
        ((5, 6, 4), (2, 1, 3), ConvolutionGeometry((1, 2, 1), ((0, 1), (0, 0), (1, 1)), (1, 1, 1))),
    ],
)
def test_values_and_gradients_are_those_of_a_convolution(sizes, kernel, geometry, transform):
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.standard_normal((2, *sizes, 2)))
    w = jnp.asarray(rng.standard_normal((*kernel, 2, 3)))
    assert shifted_images.pays(w)
    letters = "DHW"[3 - len(sizes) :]
    names = f"N{letters}C", f"{letters}IO", f"N{letters}C"

    def plain(x, w):
        return lax.conv_general_dilated(
            x,
            w,
            geometry.stride,
            geometry.pads,
            rhs_dilation=geometry.dilation,
            dimension_numbers=names,
        )

    def ours(x, w):
        return channels_last(x, w, geometry)

    def norm(convolve):
        return jax.value_and_grad(lambda x, w: jnp.sum(jnp.sin(convolve(x, w))), (0, 1))

    np.testing.assert_allclose(
        transform(ours)(x, w), transform(plain)(x, w), rtol=1e-12, atol=1e-12
    )
    found, expected = transform(norm(ours))(x, w), transform(norm(plain))(x, w)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)
    # jnp's convolution does not appear in what is computed forward.
    assert "conv_general_dilated" not in str(jax.make_jaxpr(ours)(x, w))
