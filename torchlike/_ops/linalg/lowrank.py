"""Singular vectors of large matrices by random projection.

N. Halko, P. G. Martinsson & J. A. Tropp, "Finding structure with randomness", 2011: algorithms 4.4
and 5.1.
"""

from __future__ import annotations

from torchlike._core.dispatch.registry import NAMESPACES, composite
from torchlike._ops.linalg.decompositions import linalg_qr, linalg_svd
from torchlike.tensor import Tensor

_randn = NAMESPACES[""]["randn"]


def _basis(a: Tensor, q: int, rounds: int, m: Tensor | None) -> Tensor:
    """Return orthonormal columns that nearly span the range of ``a - m``."""

    def of(x: Tensor, adjoint: bool) -> Tensor:
        product = (a.mH if adjoint else a) @ x
        return product if m is None else product - (m.mH if adjoint else m) @ x

    found = linalg_qr(of(_randn(a.shape[-1], q, dtype=a.dtype, device=a.device), False)).Q
    for _ in range(rounds):
        found = linalg_qr(of(found, True)).Q
        found = linalg_qr(of(found, False)).Q
    return found


@composite(method=False, python_signature=True)
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return U (..., m, q), S (q), V (..., n, q) with ``A - M`` nearly ``U diag(S) V.mH``; random.

    ``q`` should be a little more than the rank; ``niter`` rounds of subspace iteration sharpen it.
    """
    q = 6 if q is None else q
    rounds = 2 if niter is None else niter
    m = None if M is None else M.expand(A.shape)
    wide = A.shape[-2] < A.shape[-1]
    if wide:
        A, m = A.mH, None if m is None else m.mH
    basis = _basis(A, q, rounds, m)
    inner = basis.mH @ A
    if m is not None:
        inner = inner - basis.mH @ m
    u, s, vh = linalg_svd(inner, full_matrices=False)
    left, right = basis @ u, vh.mH
    return (right, s, left) if wide else (left, s, right)


@composite(method=False, python_signature=True)
def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the principal components of the rows of ``A`` (..., m, n) by ``svd_lowrank``, of
    columns less their means if ``center``; q is min(6, m, n) unless given.

    ValueError for q outside [0, min(m, n)] and a negative ``niter``.
    """
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if not A.is_floating_point() and not A.is_complex():
        raise ValueError(f"pca_lowrank expected floating point or complex dtype, got {A.dtype}")
    if center:
        A = A - A.mean(dim=-2, keepdim=True)
    return svd_lowrank(A, q, niter)
