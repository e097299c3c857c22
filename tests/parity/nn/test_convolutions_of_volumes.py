"""Convolutions of volumes, which the CPU computes plane by plane: strides, dilation, groups."""

import itertools

import numpy as np
import pytest
import torch

import torchlike

WAYS = [*itertools.product((1, (2, 1, 3)), ((1, 2, 0), (2, 0, 1)), (1, (2, 1, 1)), (1, 2))]


def gradients(lib, function, arrays):
    x, weight = (lib.tensor(a, requires_grad=True) for a in arrays)
    y = function(x, weight)
    y.square().sum().backward()
    return [t.detach().numpy() for t in (y, x.grad, weight.grad)]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), WAYS)
def test_convolution_of_volumes(stride, padding, dilation, groups, compiled):
    rng = np.random.default_rng(0)
    shapes = (2, 4, 7, 6, 8), (6, 4 // groups, 3, 2, 3)
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]

    def of(lib):
        conv = lib.nn.functional.conv3d
        return lambda x, w: conv(x, w, None, stride, padding, dilation, groups)

    ours = torchlike.jit(of(torchlike), warmup=0) if compiled else of(torchlike)
    found = gradients(torchlike, ours, arrays)
    # Sums of 144 products in another order.
    for a, b in zip(found, gradients(torch, of(torch), arrays), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-3)
