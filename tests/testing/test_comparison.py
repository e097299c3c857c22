"""assert_close: what passes, what fails, in which words."""

import numpy as np
import pytest

import torchlike as torch
from torchlike.testing import assert_close

PASSES = {
    "equal": (torch.ones(2), torch.ones(2), {}),
    "within the default": (torch.tensor([1.0]), torch.tensor([1.0 + 1e-6]), {}),
    "bfloat16 is wider": (
        torch.tensor([1.0], dtype=torch.bfloat16),
        torch.tensor([1.01], dtype=torch.bfloat16),
        {},
    ),
    "numbers": (1.0, 1.0 + 1e-9, {}),
    "nests": ({"a": [1, torch.ones(2)]}, {"a": (1, torch.ones(2))}, {}),
    "nan": (torch.tensor(float("nan")), torch.tensor(float("nan")), {"equal_nan": True}),
    "inf": (torch.tensor([float("inf")]), torch.tensor([float("inf")]), {}),
    "given": (torch.tensor([1.0]), torch.tensor([1.4]), {"rtol": 0, "atol": 0.5}),
    "dtype ignored": (torch.ones(2), torch.ones(2, dtype=torch.int64), {"check_dtype": False}),
    "arrays": (np.ones(2), np.ones(2), {}),
    "empty": (torch.ones(0), torch.ones(0), {}),
}
FAILS = {
    "value": (torch.ones(2), torch.tensor([1.0, 2.0]), r"1 / 2 \(50\.0%\)"),
    "where": (
        torch.ones(2),
        torch.tensor([1.0, 2.0]),
        r"absolute difference: 1\.0 at index \(1,\)",
    ),
    "integers": (torch.tensor([1, 2]), torch.tensor([1, 3]), "difference: 1 at index"),
    "large integers": (torch.tensor([2**62]), torch.tensor([2**62 + 1]), "not equal"),
    "shape": (torch.ones(2, 3), torch.ones(3), "'shape' do not match"),
    "dtype": (torch.ones(2), torch.ones(2, dtype=torch.float64), "'dtype' do not match"),
    "nan": (torch.tensor(float("nan")), torch.tensor(float("nan")), "not close"),
    "item": ([1.0, torch.ones(2)], [1.0, torch.zeros(2)], r"failure occurred for item \[1\]"),
    "length": ([1.0], [1.0, 2.0], "length of the sequences"),
    "keys": ({"a": 1}, {"b": 1}, r"Missing keys in the actual mapping: \['b'\]"),
    "none": (torch.ones(1), None, "None mismatch"),
    "number": (1.0, 1.1, "Expected 1.1 but got 1.0"),
}


@pytest.mark.parametrize(("actual", "expected", "options"), PASSES.values(), ids=PASSES)
def test_passes(actual, expected, options):
    assert_close(actual, expected, **options)


@pytest.mark.parametrize(("actual", "expected", "words"), FAILS.values(), ids=FAILS)
def test_fails(actual, expected, words):
    with pytest.raises(AssertionError, match=words):
        assert_close(actual, expected)


def test_arguments():
    with pytest.raises(ValueError, match="got no atol"):
        assert_close(1.0, 1.0, rtol=1e-4)
    with pytest.raises(TypeError, match="No comparison pair"):
        assert_close("a", "a")
    with pytest.raises(TypeError, match="No comparison pair"):
        assert_close(np.ones(2), torch.ones(2, dtype=torch.float64))
    with pytest.raises(AssertionError, match=r"^mine: Scalars"):
        assert_close(1, 2, msg=lambda text: f"mine: {text}")
    with pytest.raises(AssertionError, match=r"^mine$"):
        assert_close(1, 2, msg="mine")


def test_stride():
    a = torch.ones(2, 3)
    assert_close(a, torch.ones(3, 2).t())
    with pytest.raises(AssertionError, match="stride"):
        assert_close(a, torch.ones(3, 2).t(), check_stride=True)
