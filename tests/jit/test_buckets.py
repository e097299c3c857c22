"""Inputs padded to buckets: the values, the gradient, and how often a function compiles."""

import warnings

import pytest

import torchlike as torch
from torchlike.jit import bucket_of, pad_to_bucket


def test_the_next_power_of_two():
    assert [bucket_of(n) for n in (0, 1, 2, 3, 4, 5, 8, 9, 1000)] == [
        1,
        1,
        2,
        4,
        4,
        8,
        8,
        16,
        1024,
    ]


def test_buckets_of_ones_own():
    assert [bucket_of(n, (10, 20)) for n in (1, 10, 11)] == [10, 10, 20]
    with pytest.raises(ValueError, match="no bucket holds 21"):
        bucket_of(21, (10, 20))
    with pytest.raises(ValueError, match="ascending"):
        bucket_of(1, (20, 10))


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -2, -3])
def test_padding_stands_behind(dim):
    x = torch.rand(3, 5, 6)
    padded = pad_to_bucket(x, dim, value=-1)
    n = x.shape[dim]
    assert padded.shape[dim] == bucket_of(n)
    assert torch.equal(padded.narrow(dim, 0, n), x)
    assert (padded.narrow(dim, n, padded.shape[dim] - n) == -1).all()
    whole = torch.rand(4, 8)
    assert pad_to_bucket(whole, 1) is whole


def test_no_such_dimension():
    with pytest.raises(IndexError, match="Dimension out of range"):
        pad_to_bucket(torch.ones(2, 3), 2)


def test_the_gradient_is_that_of_the_part():
    x = torch.rand(5, requires_grad=True)
    (pad_to_bucket(x) * 2).sum().backward()
    assert x.grad.tolist() == [2.0] * 5


def test_one_program_for_each_bucket():
    @torch.jit
    def mean(x, length):
        kept = torch.arange(x.shape[0]) < length
        return torch.where(kept, x, 0).sum() / length

    for n in range(1, 33):
        x = torch.rand(n)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = mean(pad_to_bucket(x), torch.tensor(n))
        torch.testing.assert_close(found, x.mean(), rtol=1e-6, atol=0)
    assert mean.compiles == 6
