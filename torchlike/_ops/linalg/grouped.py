"""Grouped matrix products: each group of rows, columns or summands has a matrix of its own."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core.dispatch.registry import composite, export, op
from torchlike._core.dispatch.schema import Input, OptInput
from torchlike.tensor import Tensor

_DTYPES = frozenset(("float32", "bfloat16", "float16"))


def _check(a: Any, b: Any, ends: Any) -> None:
    for name, x in (("mat_a", a), ("mat_b", b)):
        if x.dtype.name not in _DTYPES:
            kind = {"float64": "Double", "int64": "Long", "int32": "Int"}.get(x.dtype.name)
            raise RuntimeError(
                f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got "
                f"{kind or x.dtype.name}"
            )
        if x.ndim not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    if (ends is None) != (a.ndim == b.ndim == 3):
        raise RuntimeError(
            "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d"
        )
    if a.dtype != b.dtype:
        raise RuntimeError(f"grouped_mm: expected one dtype, got {a.dtype.name} and {b.dtype.name}")
    if ends is None:
        if a.shape[0] != b.shape[0]:
            raise RuntimeError("batched dimension has to match")
        return
    if ends.dtype != np.int32:
        raise RuntimeError("Offsets have to be int32")
    if any(x.ndim == 3 and x.shape[0] != ends.shape[0] for x in (a, b)):
        raise RuntimeError("matrix batch sizes have to match")


@op("grouped_mm_op", namespaces=(), method=False, grad_name="GroupedMmBackward0")
def grouped_mm_op(mat_a: Input, mat_b: Input, ends: OptInput):
    """Multiply in groups, added up in float32; what lies behind the last group is 0."""
    _check(mat_a, mat_b, ends)
    dtype = mat_a.dtype
    # XLA's CPU backend has no 16-bit products with float32 sums inside ragged_dot.
    mat_a, mat_b = mat_a.astype(jnp.float32), mat_b.astype(jnp.float32)
    if ends is None:
        return jnp.matmul(mat_a, mat_b).astype(dtype)
    sizes = jnp.diff(ends, prepend=jnp.zeros(1, ends.dtype))
    if mat_b.ndim == 3:
        out = lax.ragged_dot(mat_a, mat_b, sizes)
    elif mat_a.ndim == 3:
        out = lax.ragged_dot(mat_b.T, jnp.swapaxes(mat_a, 1, 2), sizes).T
    else:
        place = jnp.arange(mat_a.shape[1])
        mine = (place >= (ends - sizes)[:, None]) & (place < ends[:, None])
        out = jnp.matmul(jnp.where(mine[:, None, :], mat_a, 0), mat_b)
    return out.astype(dtype)


@composite(namespaces=("nn.functional",), method=False)
def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: Any = None,
) -> Tensor:
    """Multiply matrices in groups, as a mixture of experts has them.

    Both 3-D: a product for each group. A 2-D operand is cut by ``offs`` (int32, the end of each
    group): rows of ``mat_a`` against (G, K, N) give (M, N), columns of ``mat_b`` against (G, M, K)
    give (M, N), and two 2-D operands, cut along what is summed over, give (G, M, N).

    RuntimeError for sizes and dtypes (float32, bfloat16, float16) that do not fit, for ``bias``,
    and for another ``out_dtype`` than the operands'.

    Differs from PyTorch: what lies behind the last group is 0.
    """
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype is not None and out_dtype is not mat_a.dtype:
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")
    return grouped_mm_op(mat_a, mat_b, offs)


#: What ``nn.functional`` calls, by its own name.
export(grouped_mm, "_grouped_mm", ("",))
