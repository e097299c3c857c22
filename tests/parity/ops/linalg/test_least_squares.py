"""``linalg.lstsq`` against PyTorch: what each driver takes for zero, operands that do not fit."""

import pytest
from oracle import compare, refused, source

torch = pytest.importorskip("torch")

MATRICES = {
    "square": [[2.0, 0], [0, 1]],
    "one element": [[2.0]],
    "tall": [[2.0, 0], [0, 0.5], [0, 0]],
    "zero": [[0.0, 0], [0, 0]],
}
#: "gelsy" cuts off columns of a QR decomposition: the same for diagonal matrices.
TOLERANCES = [None, -1, 0, 0.25, 0.5, 1.0, 2.0]


def check(driver, matrix, rcond):
    def function(t):
        a = t.tensor(MATRICES[matrix], dtype=t.float64)
        return tuple(t.linalg.lstsq(a, a[:, :1] * 0 + 1, rcond=rcond, driver=driver))

    compare(function)


@pytest.mark.parametrize(("driver", "rcond"), [("gelsd", 1.0), ("gelsy", 1.0), ("gelss", -1)])
def test_what_counts_as_zero(driver, rcond):
    check(driver, "square", rcond)


@pytest.mark.full
@pytest.mark.parametrize("driver", [None, "gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("matrix", MATRICES)
def test_tolerances_of_all_drivers(driver, matrix):
    for rcond in TOLERANCES:
        if matrix != "zero" or (driver != "gels" and (rcond is None or rcond > 0)):
            check(driver, matrix, rcond)  # else LAPACK's answer depends on its version


@pytest.mark.parametrize(
    "line",
    """
t.linalg.lstsq(t.ones(2, 2), t.tensor(1.))
t.linalg.lstsq(t.ones(2), t.ones(2))
t.linalg.lstsq(t.ones(2, 2, 2), t.ones(2))
t.linalg.lstsq(t.ones(2, 2), t.ones(1, 2, 2))
t.linalg.lstsq(t.ones(2, 2, 2, 2), t.ones(2, 2))
t.linalg.lstsq(t.ones(2, 2, 2), t.ones(3, 2, 1))
""".strip().splitlines(),
)
def test_operands_that_do_not_fit(line):
    refused(source(line))
