"""torchlike._ops.nn.conv.ops: every lowering gives the same convolution; the transpose is one."""

import math

import numpy as np
import pytest

import torchlike as torch
import torchlike.nn.functional as F


def direct(x, w, stride, padding, dilation, groups):
    """The definition, in NumPy loops over output positions."""
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    kh, kw = w.shape[2:]
    out = [
        (s - dilation * (k - 1) - 1) // stride + 1
        for s, k in zip(x.shape[2:], (kh, kw), strict=True)
    ]
    y = np.zeros((x.shape[0], w.shape[0], *out), np.float64)
    per_in, per_out = w.shape[1], w.shape[0] // groups
    for o in range(w.shape[0]):
        g = o // per_out
        for i, j in np.ndindex(*out):
            rows = slice(i * stride, i * stride + dilation * (kh - 1) + 1, dilation)
            columns = slice(j * stride, j * stride + dilation * (kw - 1) + 1, dilation)
            patch = x[:, g * per_in : (g + 1) * per_in, rows, columns]
            y[:, o, i, j] = (patch * w[o]).sum((1, 2, 3))
    return y


@pytest.mark.parametrize(
    ("x", "w", "options"),
    [
        ((2, 3, 9, 8), (4, 3, 3, 2), {}),  # few channels: channels last
        ((2, 6, 9, 8), (4, 6, 3, 2), {"padding": 1}),  # XLA's convolution
        ((2, 6, 5, 5), (4, 6, 3, 3), {"stride": 2, "padding": 1}),  # tiny output: im2col
        ((2, 6, 5, 6), (4, 6, 1, 1), {}),  # one product
        ((2, 6, 9, 8), (4, 3, 3, 3), {"groups": 2, "dilation": 2}),
    ],
)
def test_every_lowering_is_the_definition(x, w, options):
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal(x, np.float32), rng.standard_normal(w, np.float32)
    full = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1, **options}
    y = F.conv2d(torch.tensor(x), torch.tensor(w), **options)
    np.testing.assert_allclose(y.numpy(), direct(x, w, **full), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("options", [{"stride": 2, "padding": 1}, {"dilation": 2, "groups": 2}])
def test_transposed_convolution_is_the_gradient_of_the_convolution(options):
    rng = np.random.default_rng(1)
    w = torch.tensor(rng.standard_normal((4, 4 // options.get("groups", 1), 3, 3), np.float32))
    x = torch.tensor(rng.standard_normal((1, 4, 7, 7), np.float32), requires_grad=True)
    y = F.conv2d(x, w, **options)
    g = torch.tensor(rng.standard_normal(tuple(y.shape), np.float32))
    (expected,) = torch.autograd.grad(y, x, g)
    found = F.conv_transpose2d(g, w, **options)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5, atol=1e-5)


def test_an_unbatched_input_has_no_batch_dimension():
    assert F.conv1d(torch.ones(2, 5), torch.ones(3, 2, 2)).shape == (3, 4)
    assert F.conv2d(torch.ones(0, 3, 8, 8), torch.ones(4, 3, 3, 3)).shape == (0, 4, 6, 6)


def test_errors_name_both_shapes():
    with pytest.raises(RuntimeError, match=r"to have 2 channels, but got 3 channels instead"):
        F.conv2d(torch.ones(2, 3, 8, 8), torch.ones(4, 2, 3, 3))
    with pytest.raises(RuntimeError, match="Kernel size can't be greater than actual input size"):
        F.conv2d(torch.ones(1, 3, 2, 2), torch.ones(4, 3, 3, 3))


def test_fold_of_unfold_counts_each_element_once_per_block():
    x = torch.arange(16.0).reshape(1, 1, 4, 4)
    columns = F.unfold(x, 2, stride=2)
    assert columns.shape == (1, 4, 4)
    assert F.fold(columns, (4, 4), 2, stride=2).tolist() == x.tolist()
    assert F.fold(F.unfold(torch.ones(1, 1, 3, 3), 2), (3, 3), 2)[0, 0].tolist() == [
        [1.0, 2.0, 1.0],
        [2.0, 4.0, 2.0],
        [1.0, 2.0, 1.0],
    ]


def test_float32_stays_float32():
    x = torch.ones(1, 2, 4, 4, requires_grad=True)
    y = F.conv2d(x, torch.full((2, 2, 3, 3), math.pi), torch.ones(2))
    y.sum().backward()
    assert y.dtype is torch.float32
    assert x.grad.dtype is torch.float32
