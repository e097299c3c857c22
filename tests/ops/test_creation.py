"""Sequences: their numbers, and the dtypes they refuse."""

import numpy as np
import pytest

import torchlike as torch


@pytest.mark.filterwarnings("ignore:torch.range is deprecated")
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


@pytest.mark.parametrize("n", [1000, 70_001])
def test_long_sequences_are_those_of_short_ones(run, n):
    """From 65,536 numbers on XLA makes them."""
    i = np.arange(n)
    for dtype in (torch.int64, torch.int32, torch.float32, torch.int16, torch.float64):
        found = run(lambda dtype=dtype: torch.arange(5, 5 + 3 * n, 3, dtype=dtype))
        assert found.dtype == dtype
        np.testing.assert_array_equal(found.numpy(), (5 + 3 * i).astype(found.numpy().dtype))
    step = np.float32(2.5)
    np.testing.assert_array_equal(
        run(lambda: torch.arange(-7.0, -7 + 2.5 * n, 2.5)).numpy(), np.float32(-7) + step * i
    )
    # From the nearer end, in steps of the dtype, each number rounded once.
    by = np.float64(np.float32(4) / np.float32(n - 1))
    expected = np.where(i < n // 2, -1 + by * i, 3 - by * (n - 1 - i)).astype(np.float32)
    found = run(lambda: torch.linspace(-1, 3, n))
    np.testing.assert_array_equal(found.numpy(), expected)
    out = torch.empty(n)
    assert torch.linspace(0, 1, n, out=out) is out
    assert torch.arange(float(n), requires_grad=True).requires_grad
    assert torch.arange(n, device="meta").shape == (n,)


def test_a_copy_of_a_tensor_warns():
    x = torch.arange(3.0, requires_grad=True)
    with pytest.warns(UserWarning, match=r"rather than torch.tensor\(sourceTensor\)") as found:
        copy = torch.tensor(x, dtype=torch.float64)
    assert found[0].filename == __file__
    assert copy.is_leaf
    assert not copy.requires_grad
    assert copy.dtype is torch.float64
    with pytest.warns(UserWarning, match=r"rather than tensor.new_tensor\(sourceTensor\)") as found:
        copy = x.new_tensor(torch.ones(2))
    assert found[0].filename == __file__
    assert copy.tolist() == [1, 1]
    assert torch.as_tensor(x) is x  # no copy, no warning
