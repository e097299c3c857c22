"""Sizes that overflow 64 bits, and memory that cannot be had: errors that can be caught."""

import jax
import pytest

import torchlike as torch

OVERFLOWING = {
    "empty": lambda: torch.empty(2**62),
    "empty of two": lambda: torch.empty(2**40, 2**40),
    "empty of none": lambda: torch.empty(0, 2**62, 2**62),
    "ones": lambda: torch.ones(2**62),
    "new_empty": lambda: torch.empty(3).new_empty(2**62),
    "meta": lambda: torch.empty(2**62, device="meta"),
    "rand": lambda: torch.rand(2**62),
    "arange": lambda: torch.arange(2**60),
    "eye": lambda: torch.eye(2**40),
    "resize_": lambda: torch.empty(1).resize_(2**62),
    "resize_ of three": lambda: torch.empty(1).resize_(2**48 + 1, 2**48 + 1, 2**48),
    "expand": lambda: torch.empty(1).expand(2**40, 2**40),
    "clone": lambda: torch.empty(1).expand(2**62).clone(),
    "contiguous": lambda: torch.empty(1).expand(2**62).contiguous(),
    "repeat": lambda: torch.ones(1).repeat(2**62),
    "addition": lambda: torch.ones(2**35, 1, device="meta") + torch.ones(2**35, device="meta"),
}


@pytest.mark.parametrize("case", OVERFLOWING)
def test_a_size_that_overflows_is_refused(case):
    with pytest.raises(RuntimeError, match="overflow"):
        OVERFLOWING[case]()


def test_a_size_that_overflows_is_refused_in_a_jitted_function():
    with pytest.raises(RuntimeError, match="overflow"):
        torch.jit.jit(lambda x: x + torch.ones(2**62))(torch.ones(1))


# 2**57 bytes or more: beyond the addresses of any process.
@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.zeros(2**56),
        lambda: torch.full((2**56,), 1.0),
        lambda: torch.ones(1).new_zeros(2**56),
        lambda: torch.zeros_like(torch.ones(1).expand(2**56)),
        lambda: torch.rand(2**56),
        lambda: torch.randperm(2**56),
        lambda: torch.arange(2**56, dtype=torch.float64),
        lambda: torch.empty(0).resize_(2**56),
    ],
)
def test_memory_that_cannot_be_had_is_an_out_of_memory_error(make):
    with pytest.raises(torch.OutOfMemoryError, match="not enough memory") as raised:
        make()
    assert not isinstance(raised.value, jax.errors.JaxRuntimeError)


def test_a_size_that_is_refused_leaves_the_tensor_and_the_random_stream_as_they_were():
    x = torch.arange(3.0)
    for size in ((2**62,), (2**56,)):
        with pytest.raises(RuntimeError):
            x.resize_(*size)
    assert x.tolist() == [0.0, 1.0, 2.0]
    torch.manual_seed(0)
    expected = torch.rand(3).tolist()
    torch.manual_seed(0)
    with pytest.raises(RuntimeError):
        torch.rand(2**62)
    with pytest.raises(RuntimeError):
        torch.rand(2**56)
    assert torch.rand(3).tolist() == expected
