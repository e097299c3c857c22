"""Pivots that name no row: an error, and NaN in a program that checks no values."""

import pytest

import torchlike as torch

GOOD = torch.tensor([[2.0, 1.0], [1.0, 3.0]])
SOLVERS = {
    "lu_unpack": lambda p: torch.lu_unpack(GOOD, p)[0],
    "lu_solve": lambda p: torch.linalg.lu_solve(GOOD, p, GOOD),
    "adjoint": lambda p: torch.linalg.lu_solve(GOOD, p, GOOD, adjoint=True),
    "right": lambda p: torch.linalg.lu_solve(GOOD, p, GOOD, left=False),
    "ldl_solve": lambda p: torch.linalg.ldl_solve(GOOD, p, GOOD),
}


@pytest.mark.sampled(every=9)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("bad", [[0, 2], [3, 2], [-3, 2]])
def test_rows_that_there_are_not(run, solver, bad) -> None:
    pivots = torch.tensor(bad, dtype=torch.int32)
    with pytest.raises(RuntimeError, match=r"Did you properly pass the result of l.*_factor"):
        run(SOLVERS[solver], pivots).tolist()
    assert torch.jit(SOLVERS[solver], checks=False)(pivots).isnan().all()


def test_a_batch_is_nan_where_its_pivots_are_bad() -> None:
    pivots = torch.tensor([[1, 2], [1, 0], [2, 2]], dtype=torch.int32)
    matrices = GOOD.expand(3, 2, 2)
    solver = torch.jit(lambda p: torch.linalg.lu_solve(matrices, p, matrices), checks=False)
    solved = solver(pivots)
    assert solved.isnan().any(-1).any(-1).tolist() == [False, True, False]


@pytest.mark.sampled(every=2)
def test_good_pivots(run) -> None:
    a = torch.tensor([[0.0, 1.0, 2.0], [3.0, 1.0, 1.0], [1.0, 4.0, 0.5]])
    lu, pivots = torch.linalg.lu_factor(a)
    for left, adjoint in ((True, False), (True, True), (False, False), (False, True)):
        x = run(
            lambda p, k=left, h=adjoint: torch.linalg.lu_solve(lu, p, a, left=k, adjoint=h), pivots
        )
        matrix = a.mH if adjoint else a
        torch.testing.assert_close(matrix @ x if left else x @ matrix, a, rtol=1e-5, atol=1e-5)
    p, lower, upper = run(lambda p: tuple(torch.lu_unpack(lu, p)), pivots)
    torch.testing.assert_close(p @ lower @ upper, a, rtol=1e-5, atol=1e-5)
