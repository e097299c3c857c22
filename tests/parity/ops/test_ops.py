"""Ops against PyTorch: values, dtypes, shapes, strides, gradients, in-place twins, out=, errors."""

import warnings

import pytest

torch = pytest.importorskip("torch")

import op_cases  # noqa: E402 - needs torch
import op_cases_core  # noqa: E402
import op_cases_linalg  # noqa: E402
import op_cases_special  # noqa: E402
from op_error_cases import ERRORS  # noqa: E402
from op_harness import Case, compare, compare_error  # noqa: E402

ALL = [*op_cases_core.CASES, *op_cases.CASES, *op_cases_linalg.CASES, *op_cases_special.CASES]


@pytest.fixture(autouse=True)
def _quiet_torch():
    """PyTorch warns of its own deprecations (resized out=, qr, meshgrid); torchlike must not."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="torch|op_harness")
        warnings.filterwarnings("ignore", message=".*(deprecated|resized|required to pass).*")
        yield


@pytest.mark.sampled(per=lambda params: params["case"].name)
@pytest.mark.parametrize("case", ALL, ids=str)
def test_same_as_torch(case: Case) -> None:
    compare(case)


@pytest.mark.full
@pytest.mark.parametrize("case", ALL, ids=str)
def test_same_as_torch_in_full(case: Case) -> None:
    compare(case, full=True)


@pytest.mark.parametrize("case", [*ERRORS, *op_cases_special.ERRORS], ids=str)
def test_same_error_as_torch(case: Case) -> None:
    compare_error(case)
