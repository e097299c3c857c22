"""Decompositions and solvers: what they mean rather than which sign LAPACK chose."""

import functools

import comparing
import numpy as np
import pytest

import torchlike as torch
import torchlike.linalg

RNG = np.random.default_rng(0)
A = torch.tensor(RNG.normal(size=(2, 4, 3)), dtype=torch.float64)
S = torch.tensor(A.numpy().mT @ A.numpy() + np.eye(3))  # symmetric, positive-definite

close = functools.partial(comparing.close, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("full", [True, False])
def test_svd_rebuilds_the_matrix(run, full) -> None:
    u, s, vh = run(lambda a: tuple(torch.linalg.svd(a, full)), A)
    close(u[..., :3] * s[..., None, :] @ vh, A)
    close(u.mT @ u, torch.eye(u.shape[-1], dtype=A.dtype).expand(2, -1, -1))
    close(torch.linalg.svdvals(A), s)


@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("wide", [False, True])
def test_qr_rebuilds_the_matrix(run, mode, wide) -> None:
    a = A.mT if wide else A
    q, r = run(lambda a: tuple(torch.linalg.qr(a, mode)), a)
    close(q @ r, a)
    close(r, r.triu())
    close(q.mT @ q, torch.eye(q.shape[-1], dtype=A.dtype).expand(2, -1, -1))


def test_eigenvectors(run) -> None:
    values, vectors = run(lambda s: tuple(torch.linalg.eigh(s)), S)
    close(S @ vectors, vectors * values[..., None, :])
    square = A[:, :3]
    values, vectors = run(lambda a: tuple(torch.linalg.eig(a)), square)
    close(
        torch.view_as_real(square.to(torch.complex128) @ vectors),
        torch.view_as_real(vectors * values.unsqueeze(-2)),
    )


@pytest.mark.sampled(every=2)
def test_lu_and_cholesky(run) -> None:
    p, l, u = run(lambda a: tuple(torch.linalg.lu(a)), A)  # noqa: E741 - the names of the factors
    close(p @ l @ u, A)
    factor = run(lambda s: torch.linalg.cholesky(s), S)
    close(factor @ factor.mT, S)
    close(torch.linalg.cholesky(S, upper=True), factor.mT)


@pytest.mark.sampled(every=2)
def test_solutions(run) -> None:
    b = A[:, :3, :2]
    close(S @ run(lambda s, b: torch.linalg.solve(s, b), S, b), b)
    close(run(lambda s: torch.linalg.inv(s), S) @ S, torch.eye(3, dtype=A.dtype).expand(2, -1, -1))
    pinv = run(lambda a: torch.linalg.pinv(a), A)
    close(A @ pinv @ A, A)
    close(torch.linalg.lstsq(A, A @ b).solution, b)
    close(torch.cholesky_solve(b, torch.linalg.cholesky(S)), torch.linalg.solve(S, b))


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    "function",
    [
        lambda a: torch.linalg.inv(a @ a.mT + torch.eye(2, dtype=a.dtype)),
        lambda a: torch.linalg.pinv(a),
        lambda a: torch.linalg.svd(a, full_matrices=False).S,
        lambda a: torch.linalg.qr(a).R ** 2,
        lambda a: torch.linalg.eigvals(a[:, :2]).abs(),
        lambda a: torch.linalg.eig(a[:, :2]).eigenvectors.abs(),
        lambda a: torch.linalg.matrix_norm(a, "nuc"),
        lambda a: torch.linalg.matrix_exp(a[:, :2]),
    ],
    ids=["inv", "pinv", "svd", "qr", "eigvals", "eig", "nuc", "exp"],
)
def test_gradients_against_differences(function) -> None:
    x = torch.tensor([[1.0, 0.3, -0.5], [0.2, -0.8, 0.4]], dtype=torch.float64, requires_grad=True)
    out = function(x)
    weights = torch.cos(torch.arange(out.numel(), dtype=torch.float64)).reshape(out.shape)
    (grad,) = torch.autograd.grad((out * weights).sum(), x)
    step = 1e-6
    for i in range(2):
        for j in range(3):
            d = torch.zeros(2, 3, dtype=torch.float64)
            d[i, j] = step
            slope = ((function(x + d) - function(x - d)) * weights).sum() / (2 * step)
            assert abs(slope.item() - grad[i, j].item()) < 1e-6 * max(1, abs(slope.item()))


def test_a_singular_matrix_is_an_error() -> None:
    singular = torch.ones(2, 2)
    with pytest.raises(torch.linalg.LinAlgError, match="diagonal element 2 is zero"):
        torch.linalg.inv(singular)
    with pytest.raises(torch.linalg.LinAlgError, match="leading minor of order 1"):
        torch.linalg.cholesky(-torch.eye(2))
    with pytest.raises(torch.linalg.LinAlgError, match=r"\(Batch element 1\)"):
        torch.linalg.cholesky(torch.tensor([[[1.0]], [[-1.0]]]))
    assert torch.linalg.inv_ex(singular).info.item() == 2
    assert torch.linalg.matrix_rank(singular).item() == 1


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.int64, torch.complex64])
def test_powers_of_matrices_of_other_dtypes(run, dtype) -> None:
    a = torch.tensor([[2, 1], [1, 2]], dtype=dtype)
    for n, expected in ((0, [[1, 0], [0, 1]]), (1, [[2, 1], [1, 2]]), (3, [[14, 13], [13, 14]])):
        power = run(lambda a, n=n: torch.linalg.matrix_power(a, n), a)
        assert power.dtype is dtype
        assert power.tolist() == expected


def test_powers_that_are_refused() -> None:
    with pytest.raises(RuntimeError, match=r"linalg.inv: Low precision dtypes not supported"):
        torch.linalg.matrix_power(torch.eye(2, dtype=torch.bfloat16), -1)
    with pytest.raises(NotImplementedError, match="\"addmm_impl_cpu_\" not implemented for 'Bool'"):
        torch.linalg.matrix_power(torch.eye(2, dtype=torch.bool), 2)
    with pytest.raises(RuntimeError, match="must be batches of square matrices"):
        torch.linalg.matrix_power(torch.ones(2, 3), -2)


def _without_checks(function, *tensors):
    return torch.jit(function, checks=False)(*tensors)


@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
def test_svd_of_what_is_not_finite_ends_and_is_nan_there_alone(run, bad) -> None:
    if bad != bad:
        with pytest.raises(torch.linalg.LinAlgError, match="non-finite values"):
            run(torch.linalg.svdvals, torch.full((2, 2), bad)).tolist()
        run = _without_checks
    # LAPACK never returned from this one.
    broken = torch.tensor([[1.0, bad, 3.0], [bad, 2.0, 4.0], [3.0, 4.0, 5.0]])
    both = torch.stack([torch.eye(3), broken])
    for whole in (True, False):
        for part in run(lambda a, whole=whole: tuple(torch.linalg.svd(a, whole)), both):
            assert not part[0].isnan().any()
            assert part[1].isnan().all()
    assert run(torch.linalg.svdvals, both).isnan().any(-1).tolist() == [False, True]
    assert run(torch.linalg.pinv, both).isnan().any(-1).any(-1).tolist() == [False, True]
    assert run(lambda a: torch.linalg.norm(a, "nuc"), broken).isnan()


@pytest.mark.parametrize(("driver", "second"), [("gels", 10.0), ("gelsd", 0.0), ("gelsy", 0.0)])
def test_only_least_squares_of_full_rank_know_no_tolerance(driver, second) -> None:
    a = torch.tensor([[4.0, 0.0], [0.0, 0.1]])
    found = torch.linalg.lstsq(a, torch.ones(2, 1), rcond=0.3, driver=driver).solution
    np.testing.assert_allclose(found.tolist(), [[0.25], [second]], rtol=1e-5, atol=1e-6)
