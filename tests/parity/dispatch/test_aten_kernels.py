"""Overloads of aten's that no public function is called like: PyTorch's dtypes and numbers."""

import numpy as np
import pytest
from aten_kernel_cases import CASES, names

import torchlike

torch = pytest.importorskip("torch")


def flat(out):
    if isinstance(out, (tuple, list)):
        return [array for o in out for array in flat(o)]
    return [] if out is None else [out.detach().numpy()]


@pytest.mark.filterwarnings("ignore:.*deprecated")
@pytest.mark.parametrize("expression", [
    pytest.param(e, marks=() if k % 12 == 0 else pytest.mark.full) for k, e in enumerate(CASES)
])  # fmt: skip
def test_kernels_compute_what_pytorchs_do(expression):
    expected, found = (flat(eval(expression, names(library))) for library in (torch, torchlike))
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.dtype == theirs.dtype
        # A bicubic weight is a sum of products of which some cancel.
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)
