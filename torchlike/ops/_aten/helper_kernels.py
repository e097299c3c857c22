"""Kernels of aten's helpers: operators that its public functions are made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from torchlike._core import dtypes
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike.ops._aten.kernels import kernel
from torchlike.tensor import Tensor

_torch, _nn = NAMESPACES[""], NAMESPACES["nn.functional"]
_fft, _linalg = NAMESPACES["fft"], NAMESPACES["linalg"]

#: The words for a scale, by its number (none, 1 / sqrt(n), 1 / n): of forward transforms, and of
#: inverse ones.
_FORWARD, _INVERSE = ("backward", "ortho", "forward"), ("forward", "ortho", "backward")


@kernel("_conj")
def _conj(self: Tensor) -> Tensor:
    return _torch["conj"](self)


@kernel("_conj_physical")
def _conj_physical(self: Tensor) -> Tensor:
    return _torch["conj_physical"](self)


@kernel("_fft_c2c")
def _fft_c2c(self: Tensor, dim: Sequence[int], normalization: int, forward: bool) -> Tensor:
    if not dim:
        return self.clone()
    name, words = ("fftn", _FORWARD) if forward else ("ifftn", _INVERSE)
    return _fft[name](self, dim=tuple(dim), norm=words[normalization])


@kernel("_fft_r2c")
def _fft_r2c(self: Tensor, dim: Sequence[int], normalization: int, onesided: bool) -> Tensor:
    return _fft["rfftn" if onesided else "fftn"](self, dim=tuple(dim), norm=_FORWARD[normalization])


@kernel("_fft_c2r")
def _fft_c2r(self: Tensor, dim: Sequence[int], normalization: int, last_dim_size: int) -> Tensor:
    sizes = [*(self.shape[d] for d in dim[:-1]), last_dim_size]
    return _fft["irfftn"](self, s=sizes, dim=tuple(dim), norm=_INVERSE[normalization])


@kernel("_fused_rms_norm")
def _fused_rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Any, eps: float | None
) -> tuple[Tensor, Tensor]:
    """Return the normalized tensor, and the factor of each row."""
    wide = input.double() if input.dtype is dtypes.float64 else input.float()  # type: ignore[attr-defined]
    least = dtypes.finfo(input.dtype).eps if eps is None else eps
    dims = tuple(range(-len(normalized_shape), 0))
    factor = ((wide * wide).mean(dims, keepdim=True) + least).rsqrt()  # type: ignore[operator]
    return _nn["rms_norm"](input, normalized_shape, weight, eps), factor


@kernel("_linalg_slogdet")
def _linalg_slogdet(A: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    sign, logabsdet = _linalg["slogdet"](A)
    lu, pivots = _linalg["lu_factor"](A)
    return sign, logabsdet, lu, pivots


@kernel("_linalg_svd")
def _linalg_svd(
    A: Tensor, full_matrices: bool = False, compute_uv: bool = True, *, driver: Any = None
) -> tuple[Tensor, Tensor, Tensor]:
    if not compute_uv:
        values = _linalg["svdvals"](A)
        empty = A.new_empty((0,))  # type: ignore[attr-defined]
        return empty, values, empty.clone()
    u, s, vh = _linalg["svd"](A, full_matrices)
    return u, s, vh


@kernel("_logcumsumexp")
def _logcumsumexp(self: Tensor, dim: int) -> Tensor:
    return _torch["logcumsumexp"](self, dim)


def _helper(name: str) -> Callable[..., None]:
    def into(self: Tensor, values: Tensor, indices: Tensor, dim: int) -> None:
        found = _torch[name](self, dim)
        values.copy_(found[0])  # type: ignore[attr-defined]
        indices.copy_(found[1])  # type: ignore[attr-defined]

    return into


kernel("_cummax_helper")(_helper("cummax"))
kernel("_cummin_helper")(_helper("cummin"))


@kernel("_masked_softmax")
def _masked_softmax(
    self: Tensor, mask: Tensor, dim: int | None = None, mask_type: int | None = None
) -> Tensor:
    """Return the softmax of the elements that the mask does not hide; NaN in a row that is hidden
    whole.

    mask_type: 0 for a mask of (L, L), 1 for one of (B, L), 2 for one of this tensor's shape.
    """
    if mask_type == 1:
        mask = mask.view(self.shape[0], *(1,) * (self.dim() - 2), self.shape[-1])  # type: ignore[attr-defined]
    hidden = self.masked_fill(mask, -math.inf)  # type: ignore[attr-defined]
    return _nn["softmax"](hidden, -1 if dim is None else dim)


@kernel("_trilinear")
def _trilinear(
    i1: Tensor,
    i2: Tensor,
    i3: Tensor,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    sumdim: Sequence[int],
    unroll_dim: int = 1,
) -> Tensor:
    """Return the sum over ``sumdim`` of the product, after each gets dimensions of size 1."""

    def opened(t: Any, dims: Sequence[int]) -> Any:
        for d in sorted(dims):
            t = t.unsqueeze(d)
        return t

    product = opened(i1, expand1) * opened(i2, expand2) * opened(i3, expand3)
    return product.sum(tuple(sumdim)) if sumdim else product


def _unique(self: Tensor, dim: int | None, sorted: bool, inverse: bool, counts: bool) -> Any:
    found = _torch["unique"](self, sorted, True, True, dim)
    empty = self.new_empty((0,), dtype=dtypes.int64)  # type: ignore[attr-defined]
    return found[0], found[1] if inverse else empty, found[2] if counts else empty.clone()


@kernel("_unique2")
def _unique2(
    self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> Any:
    return _unique(self, None, sorted, return_inverse, return_counts)


@kernel("unique_dim")
def _unique_dim(
    self: Tensor,
    dim: int,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> Any:
    return _unique(self, dim, sorted, return_inverse, return_counts)


@kernel("_scaled_dot_product_attention_math")
def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    dropout_mask: Any = None,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return the result and the weights. NotImplementedError with dropout, whose draws are the
    composite function's."""
    if dropout_p or dropout_mask is not None:
        raise NotImplementedError(
            "aten::_scaled_dot_product_attention_math with dropout. Use instead: "
            "torch.nn.functional.scaled_dot_product_attention."
        )
    if enable_gqa:
        shared = query.shape[-3] // key.shape[-3]
        key = key.repeat_interleave(shared, -3)  # type: ignore[attr-defined]
        value = value.repeat_interleave(shared, -3)  # type: ignore[attr-defined]
    scores = query @ key.transpose(-2, -1)  # type: ignore[operator]
    scores = scores * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        attn_mask = _torch["ones"](scores.shape[-2:], dtype=dtypes.bool, device=query.device)
        attn_mask = attn_mask.tril()
    if attn_mask is not None and attn_mask.dtype is dtypes.bool:
        scores = scores.masked_fill(~attn_mask, -math.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    weights = _nn["softmax"](scores, -1)
    if attn_mask is not None:
        weights = weights.masked_fill(scores == -math.inf, 0)
    return weights @ value, weights


@kernel("_grouped_mm")
def _grouped_mm(
    self: Tensor, mat2: Tensor, offs: Any = None, bias: Any = None, out_dtype: Any = None
) -> Tensor:
    return _nn["grouped_mm"](self, mat2, offs=offs, bias=bias, out_dtype=out_dtype)
