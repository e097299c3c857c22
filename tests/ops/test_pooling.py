"""torchlike._ops.nn.pool.pooling: winners, windows, padding."""

import pytest

import torchlike as torch
import torchlike.nn.functional as F


def test_the_first_maximum_takes_the_gradient():
    x = torch.zeros(1, 1, 4, 4, requires_grad=True)
    F.max_pool2d(x, 2).sum().backward()
    assert x.grad[0, 0].tolist() == [[1, 0, 1, 0], [0, 0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]]


def test_overlapping_windows_add_their_gradients():
    x = torch.tensor([[[0.0, 3.0, 1.0, 3.0, 2.0]]], requires_grad=True)
    y, i = F.max_pool1d(x, 3, 1, return_indices=True)
    assert y.tolist() == [[[3.0, 3.0, 3.0]]]
    assert i.tolist() == [[[1, 1, 3]]]
    y.sum().backward()
    assert x.grad.tolist() == [[[0.0, 2.0, 0.0, 1.0, 0.0]]]


def test_padding_never_wins():
    x = torch.full((1, 1, 2, 2), float("-inf"))
    values, indices = F.max_pool2d(x, 3, 2, 1, return_indices=True)
    assert values.tolist() == [[[[float("-inf")]]]]
    assert indices.tolist() == [[[[0]]]]


def test_ceil_mode_counts_a_window_that_starts_inside():
    x = torch.arange(5.0).reshape(1, 1, 5)
    assert F.max_pool1d(x, 2, ceil_mode=True).tolist() == [[[1.0, 3.0, 4.0]]]
    assert F.avg_pool1d(x, 2, ceil_mode=True).tolist() == [[[0.5, 2.5, 4.0]]]


def test_average_with_and_without_padding():
    x = torch.ones(1, 1, 2, 2)
    assert F.avg_pool2d(x, 2, 1, 1)[0, 0, 0].tolist() == [0.25, 0.5, 0.25]
    assert F.avg_pool2d(x, 2, 1, 1, count_include_pad=False)[0, 0, 0].tolist() == [1.0, 1.0, 1.0]
    assert F.avg_pool2d(x, 2, divisor_override=8).item() == 0.5


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7])
def test_adaptive_average_keeps_a_constant(size):
    y = F.adaptive_avg_pool1d(torch.full((1, 2, 5), 3.0), size)
    assert y.shape == (1, 2, size)
    assert y.flatten().tolist() == pytest.approx([3.0] * (2 * size))


def test_adaptive_maximum_of_everything_is_the_maximum():
    x = torch.tensor([[[[1.0, 5.0], [7.0, 2.0], [0.0, 3.0]]]])
    values, indices = F.adaptive_max_pool2d(x, 1, return_indices=True)
    assert (values.item(), indices.item()) == (7.0, 2)


def test_unpooling_puts_maxima_back():
    x = torch.tensor([[[[1.0, 2.0], [4.0, 3.0]]]])
    values, indices = F.max_pool2d(x, 2, return_indices=True)
    assert F.max_unpool2d(values, indices, 2)[0, 0].tolist() == [[0.0, 0.0], [4.0, 0.0]]


def test_windows_that_do_not_fit_are_refused():
    with pytest.raises(RuntimeError, match="Output size is too small"):
        F.max_pool2d(torch.ones(1, 1, 4, 4), 9)
    with pytest.raises(RuntimeError, match="pad should be at most half"):
        F.max_pool2d(torch.ones(1, 1, 4, 4), 2, padding=2)


@pytest.mark.parametrize("asked", [False, True])
def test_pooling_with_indices_takes_the_word_and_gives_both(asked):
    values, places = F.max_pool2d_with_indices(torch.ones(1, 1, 4, 4), 2, return_indices=asked)
    assert values.shape == places.shape == (1, 1, 2, 2)
    assert places.flatten().tolist() == [0, 2, 8, 10]
