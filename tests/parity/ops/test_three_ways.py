"""The op table by NumPy, compiled, and by NumPy from traces of other sizes: the same numbers and
the same errors; nothing of NumPy's warnings reaches the user.

The plain run takes one case in ``_SAMPLED`` (a case costs 0.4 s); ``-m full`` takes all.
"""

import warnings

import pytest

pytest.importorskip("torch")

import op_cases
import op_cases_core
import op_cases_linalg
import op_cases_special
import three_ways
from op_error_cases import ERRORS

from torchlike._core.dispatch.registry import clear_executables

ALL = [*op_cases_core.CASES, *op_cases.CASES, *op_cases_linalg.CASES, *op_cases_special.CASES]
REFUSED = [*ERRORS, *op_cases_special.ERRORS]
_SAMPLED = 60


@pytest.fixture(autouse=True)
def _quiet():
    """torchlike warns of what PyTorch calls deprecated; NumPy's warnings are errors."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning)
        yield


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("case", ALL[::_SAMPLED], ids=str)
def test_same_three_ways(case):
    three_ways.check(case)


@pytest.mark.full
@pytest.mark.parametrize("case", ALL, ids=str)
def test_same_three_ways_in_full(case):
    three_ways.check(case)


def same_errors(case):
    found = three_ways.errors(case, [c for c in ALL if c.name == case.name][:1])
    assert found["numpy"] == found["compiled"]
    assert found["specialised"] == found["compiled"]


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("case", REFUSED[:: _SAMPLED // 4], ids=str)
def test_same_error_three_ways(case):
    same_errors(case)


@pytest.mark.full
@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_same_error_three_ways_in_full(case):
    same_errors(case)


def test_comparison_can_fail():
    import numpy as np
    from op_harness import F, case

    one = case("exp", F(3))
    x = np.array([1.0, np.nan, 8.0], np.float32)
    three_ways.agree([x], [x.copy()], one, "same")
    for other in (x + np.float32(2e-5), np.array([1.0, np.inf, 8.0], np.float32), x.astype("f8")):
        with pytest.raises(AssertionError):
            three_ways.agree([other], [x], one, "other")
    with pytest.raises(AssertionError):
        three_ways.agree([np.array([1, 2])], [np.array([1, 3])], one, "integers")


def test_ops_are_made_from_other_sizes():
    clear_executables()  # the table may have met these sizes before
    assert three_ways.check(next(c for c in ALL if c.name == "cumsum")) >= 1
