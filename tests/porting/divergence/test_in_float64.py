"""What float64 runs say of an operation that two runs disagree in."""

import json

import numpy as np
import pytest

from torchlike.porting.divergence.in_float64 import judged
from torchlike.porting.divergence.values import written

TOLERANCE = 1e-4
F32, BF16 = "torch.float32", "torch.bfloat16"


def held(values, dtype=F32):
    return {"values": np.asarray(values), "dtype": dtype}


def operation(given, outputs, takes=(), gives=()):
    """The notes of a call of one tensor's or of several; of its backward pass, where there are
    gradients of what it ``takes`` and ``gives``."""
    args = {"tuple": [{"tensor": x} if isinstance(x, dict) else x for x in given]}
    note = {"given": {"tuple": [args, {"dict": {}}]}, "outputs": list(outputs)}
    values = written({**note, "takes": list(takes), "gives": list(gives)})
    return {"arguments": [], "values": json.loads(json.dumps(values))}


X = np.linspace(0.5, 2.0, 16, dtype=np.float32)
ONES = np.ones(3, np.float32)


def exp(x, y, dtype=F32):
    return operation([held(x, dtype)], [held(y, dtype)])


def relu(x, gradient):
    y = np.maximum(np.float32(x), 0)
    return operation([held(np.float32(x))], [held(y)], [held(np.float32(gradient))], [held(ONES)])


def test_of_two_results_the_nearer_is_told():
    verdict = judged("torch.exp", exp(X, np.exp(X)), exp(X, 1.01 * np.exp(X)), TOLERANCE)
    assert verdict.is_fault
    assert verdict.says.endswith("here is nearer")
    verdict = judged("torch.exp", exp(X, 1.01 * np.exp(X)), exp(X, np.exp(X)), TOLERANCE)
    assert verdict.says.endswith("there is nearer")


def test_rounding_of_the_dtype_is_no_fault():
    here, there = exp(X, np.exp(X), BF16), exp(X, np.exp(X) * (1 + 2.0**-9), BF16)
    verdict = judged("torch.exp", here, there, TOLERANCE)
    assert (verdict.is_fault, verdict.says[:26]) == (False, "rounding of torch.bfloat16")


def test_what_differed_before_is_no_fault():
    other = X * (1 + 1e-3)
    verdict = judged("torch.exp", exp(X, np.exp(X)), exp(other, np.exp(other)), TOLERANCE)
    assert (verdict.is_fault, verdict.says[:14]) == (False, "no fault of it")


def test_a_kink_is_where_inputs_lie_on_both_sides():
    here, there = relu([1.0, -1e-9, -1.0], [1, 0, 0]), relu([1.0, 1e-9, -1.0], [1, 1, 0])
    verdict = judged("torch.nn.functional.relu", here, there, TOLERANCE)
    assert not verdict.is_fault
    assert verdict.says == (
        "a kink: results agree, and gradients of 1 of 3 elements differ, which stand on both sides "
        "of it, at most 2.0e-09 apart"
    )


def test_equal_inputs_at_a_kink_are_no_excuse():
    here, there = relu([1.0, 0.0, -1.0], [1, 0, 0]), relu([1.0, 0.0, -1.0], [1, 1, 0])
    verdict = judged("torch.nn.functional.relu", here, there, TOLERANCE)
    assert verdict.is_fault
    assert verdict.says.endswith("here is nearer")


@pytest.mark.parametrize("name", ["Halved", "torch.nosuch", "torch.nn.functional.dropout"])
def test_what_cannot_be_run_again_is_not_judged(name):
    assert judged(name, exp(X, X), exp(X, 2 * X), TOLERANCE) is None
