"""Triangles and diagonals: tril, triu, diag and their kin."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import errors, layouts
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Input, Int, require_tensor
from torchlike._ops.creation.wrap_result import finish, numpy_dtype
from torchlike._ops.outputs import write_out
from torchlike._ops.shape.views import diagonal, select
from torchlike.tensor import Tensor


def _triangle(x: Any, diagonal: int, lower: Any, name: str) -> jax.Array:
    if x.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    rows, columns = jnp.arange(x.shape[-2])[:, None], jnp.arange(x.shape[-1])[None, :]
    keep = columns - rows <= diagonal if lower else columns - rows >= diagonal
    return jnp.where(keep, x, jnp.zeros((), x.dtype))


@op(inplace=True, needs="nothing")
def tril(input: Input, diagonal: Int = 0):
    """Return the lower triangle of matrices: zero above ``diagonal``."""
    return _triangle(input, diagonal, True, "tril")


@op(inplace=True, needs="nothing")
def triu(input: Input, diagonal: Int = 0):
    """Return the upper triangle of matrices: zero below ``diagonal``."""
    return _triangle(input, diagonal, False, "triu")


def _triangle_indices(name: str, lower: Any) -> None:
    def function(
        row: int,
        col: int,
        offset: int = 0,
        *,
        dtype: Any = None,
        device: Any = None,
        layout: Any = None,
    ) -> Tensor:
        for what, n in (("row", row), ("col", col)):
            if n < 0:
                raise RuntimeError(f"{what} must be non-negative, got{n}")
        kind = np.dtype(np.int64) if dtype is None else numpy_dtype(dtype)
        if kind.kind not in "iu":
            raise RuntimeError(f"\"{name}\" not implemented for '{kind.name.capitalize()}'")
        r, c = (np.tril_indices if lower else np.triu_indices)(row, offset, col)
        return finish(jnp.asarray(np.stack([r, c]).astype(kind)), device, False, layout)

    function.__doc__ = (
        f"Return the rows and columns of the {'lower' if lower else 'upper'} triangle, (2, n)."
    )
    composite(name, method=False)(function)


_triangle_indices("tril_indices", True)
_triangle_indices("triu_indices", False)


@op("diag_embed_op", namespaces=(), method=False, needs="nothing", grad_name="DiagEmbedBackward0")
def diag_embed_op(input: Input, offset: Int, dim1: Int, dim2: Int):
    """Place the last dimension on a diagonal of two new dimensions."""
    if not input.ndim:
        raise RuntimeError("diag_embed(): Expected a tensor with at least one dimension")
    ndim = input.ndim + 1
    a, b = errors.wrap_dim(dim1, ndim), errors.wrap_dim(dim2, ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    zero = jnp.zeros((), input.dtype)
    beside = [(0, 0, 0)] * (input.ndim - 1) + [(max(-offset, 0), max(offset, 0), 0)]
    rows = lax.pad(input, zero, beside)
    n = rows.shape[-1]
    on_it = lax.iota(np.int32, n)[:, None] + offset == lax.iota(np.int32, n)
    made = jnp.where(on_it, rows[..., None], zero)
    return jnp.moveaxis(made, (-2, -1), (a, b))


@composite()
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Place the last dimension on the ``offset`` diagonal of two new dimensions."""
    return diag_embed_op(input, offset, dim1, dim2)


@composite()
def diag(input: Tensor, diagonal: int = 0, *, out: Any = None) -> Tensor:
    """Return the matrix with a vector as its diagonal; of a matrix, a copy of its diagonal."""
    require_tensor(input, "diag")
    if input.dim() not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.dim()}D")
    if input.dim() == 1:
        made = diag_embed(input, diagonal)
    else:
        made = input.diagonal(diagonal).clone(memory_format=layouts.contiguous_format)
    return write_out(out, made)


@composite()
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """Return the matrix with the flattened tensor as its diagonal."""
    require_tensor(input, "diagflat")
    return diag_embed(input.reshape(-1), offset)


@op(needs="nothing", autocast={"cpu": "float32", "xla": "float32"})
def trace(input: Input):
    """Return the sum of the diagonal of a matrix (int64 for integers)."""
    if input.ndim != 2:
        raise RuntimeError("trace: expected a matrix, but got tensor with dim " + str(input.ndim))
    x = input.astype(np.int64) if input.dtype.kind in "iub" else input
    return jnp.trace(x)


def _scatter_into(name: str, kind: Any) -> None:
    """Register ``diagonal_scatter`` or one of its kin: a copy of input with a view of it
    overwritten."""

    def function(input: Tensor, src: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Tensor:
        require_tensor(input, name)
        require_tensor(src, name, "src", 2)
        copy = input.clone()
        part = kind(copy, *args, **kwargs)
        if part.shape != src.shape:
            raise RuntimeError(
                "expected src to have a size equal to the slice of self. src size = "
                f"{list(src.shape)}, slice size = {list(part.shape)}"
            )
        part.copy_(src)
        return write_out(out, copy)

    function.__doc__ = (
        f"Return a copy of ``input`` in which its {name.removesuffix('_scatter')} is ``src``."
    )
    composite(name)(function)


def _slice(t: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Tensor:
    d = errors.wrap_dim(dim, t.dim())
    return t[(slice(None),) * d + (slice(start, end, step),)]


_scatter_into("diagonal_scatter", diagonal)
_scatter_into("select_scatter", select)
_scatter_into("slice_scatter", _slice)
