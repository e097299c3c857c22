"""Sequences: the dtypes they refuse."""

import pytest

import torchlike as torch


@pytest.mark.parametrize(
    ("name", "arguments", "dtype", "kind"),
    [
        ("arange", (3,), torch.bool, "Bool"),
        ("arange", (3,), torch.complex64, "ComplexFloat"),
        ("range", (0, 3), torch.complex128, "ComplexDouble"),
        ("linspace", (0, 1, 3), torch.bool, "Bool"),
        ("logspace", (0, 1, 3), torch.bool, "Bool"),
    ],
)
def test_sequences_of_some_dtypes_are_refused(name, arguments, dtype, kind):
    with pytest.raises(NotImplementedError, match=f"\"{name}_cpu\" not implemented for '{kind}'"):
        getattr(torch, name)(*arguments, dtype=dtype)


@pytest.mark.parametrize("data", [2**70, [2**70], [[2**63]], [1, -(2**64)]])
def test_integers_beyond_64_bits_are_refused(data):
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        torch.tensor(data)


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        ([1, 2.5], torch.float32),
        ([[True, False]], torch.bool),
        ((1, True), torch.int64),
        ([2, 1j], torch.complex64),
        ([[], []], torch.float32),
    ],
)
def test_lists_of_numbers(data, dtype):
    made = torch.tensor(data)
    assert made.dtype is dtype
    assert made.tolist() == [list(row) for row in data] if made.dim() > 1 else list(data)
