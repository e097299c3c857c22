"""Results that are not unique, and what of them is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Entries whose result is whatever memory held; shapes and dtypes are compared.
UNINITIALISED = frozenset(
    (
        "empty",
        "empty_like",
        "empty_permuted",
        "empty_strided",
        "new_empty",
        "new_empty_strided",
        "resize_",
        "resize_as_",
    )
)


def _diag(values: Any) -> Any:
    return values.diag_embed()


def _svd(result: Any) -> Any:
    """Singular values, and the product of the factors (each pair of vectors has a free phase)."""
    u, s, v = result
    if 0 in u.shape:
        return s
    k = s.shape[-1]
    right = v if v.shape[-2] == k else v[..., :k, :]
    return s, (u[..., :k] * s.unsqueeze(-2)) @ right


def _svd_old(result: Any) -> Any:
    """``torch.svd`` gives V rather than its conjugate transpose."""
    u, s, v = result
    if 0 in u.shape:
        return s
    k = s.shape[-1]
    return s, (u[..., :k] * s.unsqueeze(-2)) @ v[..., :k].mH


def _eigh(result: Any) -> Any:
    values, vectors = result
    return values, (vectors * values.unsqueeze(-2)) @ vectors.mH


def _eig(result: Any) -> Any:
    """Eigenvalues in an order of their own, and the matrix they belong to."""
    values, vectors = result
    if 0 in vectors.shape:
        return values.sum(-1)
    weighted = vectors * values.unsqueeze(-2)
    return values.sum(-1), _inverse_right(weighted, vectors)


def _inverse_right(a: Any, b: Any) -> Any:
    return a @ b.inverse()


def _eigvals(values: Any) -> Any:
    """The largest, and power sums relative to it: the order of eigenvalues is free."""
    if not values.numel():
        return []
    largest = values.abs().amax(-1, True)
    relative = values / largest.clamp_min(1e-30)
    return [largest, *((relative**k).sum(-1) for k in range(1, values.shape[-1] + 1))]


def _values(result: Any) -> Any:
    """Which of equal elements is named is left open."""
    return result if not isinstance(result, tuple) else result[0]


INVARIANTS: dict[str, Callable[[Any], Any]] = {
    "svd": _svd_old,
    "linalg.svd": _svd,
    "linalg.eigh": _eigh,
    "linalg.eig": _eig,
    "linalg.eigvals": _eigvals,
    "svd_lowrank": _svd_old,
    "pca_lowrank": _svd_old,
    "topk": _values,
    "kthvalue": _values,
    "mode": _values,
    "median": _values,
    "sort": _values,
    "nanmedian": _values,
}
