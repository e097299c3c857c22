"""``torch.lobpcg``: a few eigenpairs of a symmetric matrix, from all of them."""

from __future__ import annotations

from typing import Any

from torchlike._core.dispatch.registry import NAMESPACES, composite
from torchlike.tensor import Tensor


@composite(method=False)
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Any = None,
    ortho_iparams: Any = None,
    ortho_fparams: Any = None,
    ortho_bparams: Any = None,
) -> tuple[Tensor, Tensor]:
    """Return the ``k`` largest (or smallest) eigenvalues of ``A`` (*, m, m), symmetric, and
    eigenvectors (*, m, k); of ``A x = l B x`` with a positive definite ``B``.

    ``k`` is by default the columns of the first guess ``X``, or 1. Differs from PyTorch: all
    eigenpairs are computed, densely, so the result is exact and does not depend on ``X``, ``n``,
    ``iK``, ``niter``, ``tol`` and ``method``; ``tracker`` is not called (NotImplementedError).

    ValueError, as in PyTorch, for fewer than 3 k rows, and AssertionError for other than squares.
    """
    if tracker is not None:
        raise NotImplementedError("lobpcg: there are no iterations to track. Use tracker=None")
    if A.shape[-2] != A.shape[-1]:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    linalg = NAMESPACES["linalg"]
    count = k if k is not None else 1 if X is None else X.shape[-1]
    rows = A.shape[-2]
    if rows < 3 * count:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={rows}) is smaller "
            f"than 3 x the number of requested eigenpairs (={count})"
        )
    A = A.to_dense() if A.is_sparse else A
    A = (A + A.mT) / 2  # as in PyTorch, so that both halves of A have a gradient
    lower = None
    if B is not None:
        B = B.to_dense() if B.is_sparse else B
        lower = linalg["cholesky"]((B + B.mT) / 2)
        half = linalg["solve_triangular"](lower, A, upper=False)
        A = linalg["solve_triangular"](lower, half.mT, upper=False)
    values, vectors = linalg["eigh"](A)
    if largest is None or largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    values, vectors = values[..., :count], vectors[..., :count]
    if lower is not None:
        vectors = linalg["solve_triangular"](lower.mT, vectors, upper=True)
    return values, vectors
