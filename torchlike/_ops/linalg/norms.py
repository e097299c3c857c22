"""Norms and distances: linalg.norm and its kin, renorm, cdist, cross, cond."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from torchlike._core import dtypes, errors
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import (
    Bool,
    DType,
    Input,
    Int,
    Number,
    Scalar,
    Str,
    plain_number,
    require_tensor,
)
from torchlike._ops.checks import scalar_type_of
from torchlike._ops.elementwise.subgradients import absolute
from torchlike._ops.linalg.decompositions import require_matrix, require_matrix_shape, svdvals_op
from torchlike._ops.linalg.pairwise import lengths
from torchlike._ops.linalg.solving import inv_ex_op
from torchlike._ops.outputs import write_out
from torchlike._ops.promotion import in_float32, promoted
from torchlike._ops.reduce.extrema import reduced_extremum
from torchlike._ops.reduce.reduction import axes, in_norm_dtype, norm_op
from torchlike._ops.unfused import settled
from torchlike._ops.value_checks import refuse_where, values_of
from torchlike._runtime.reference import error_of
from torchlike.tensor import Tensor


@composite(
    "vector_norm",
    namespaces=("linalg",),
    method=False,
    autocast={"cuda": "float32"},
    other_names={"input": "x"},
)
def linalg_vector_norm(
    x: Tensor,
    ord: Any = 2,
    dim: Any = None,
    keepdim: Any = False,
    *,
    dtype: Any = None,
    out: Any = None,
) -> Tensor:
    """Return ``sum(|x| ** ord) ** (1 / ord)`` over ``dim`` (all by default); also for ord 0 and
    ±inf."""
    order = float(plain_number(ord, "linalg_vector_norm", "ord", 2))
    _check_identity(x, order, dim)
    return norm_op(x, order, dim, keepdim, dtype, out=out)


@composite(method=False)
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """Return the norm of each slice along ``dim``, kept broadcastable; of everything for
    ``dim=-1``."""
    require_tensor(v, "norm_except_dim", "v")
    if dim == -1:
        return linalg_vector_norm(v, pow)
    others = tuple(i for i in range(v.dim()) if i != dim % v.dim())
    return linalg_vector_norm(v, pow, others, keepdim=True) if others else v.abs()


def _check_identity(x: Tensor, order: Any, dim: Any) -> None:
    """Refuse, with RuntimeError, a norm that is an extremum over nothing, which has no value."""
    if order >= 0 and order != math.inf:
        return
    empty = any(x.shape[d] == 0 for d in axes(dim, x.dim()))
    if empty:
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {_order_name(order)} norm on an empty tensor "
            "because the operation does not have an identity"
        )


def _order_name(order: Any) -> str:
    return f"{order:g}" if math.isinf(order) else str(order)


@op(
    "matrix_norm_op",
    namespaces=(),
    method=False,
    residuals=True,
    grad_name="LinalgMatrixNormBackward0",
    autocast={"cuda": "float32"},
)
def matrix_norm_op(
    input: Input, order: Number, rows: Int, columns: Int, keepdim: Bool, dtype: DType
):
    """Return a norm of the matrices whose rows and columns lie on two axes."""
    x = in_norm_dtype(input, dtype, "linalg.matrix_norm")
    p = order.value
    along, across = (rows, columns) if abs(p) == 1 else (columns, rows)
    empty = 0 in (x.shape[rows], x.shape[columns]) if abs(p) == 2 else x.shape[across] == 0
    if empty:
        if p < 0:
            raise IndexError(f"amin(): Expected reduction dim {across} to have non-zero size.")
        sizes = [1 if d in (rows, columns) else n for d, n in enumerate(x.shape)]
        zeros = jnp.zeros(sizes, x.real.dtype)
        return zeros if keepdim else zeros.squeeze((rows, columns))
    if abs(p) == 2:
        s = settled(svdvals_op.spec.fn(jnp.moveaxis(x, (rows, columns), (-2, -1))))
        found = reduced_extremum(s, -1, p > 0)
        return jnp.expand_dims(found, (rows, columns)) if keepdim else found
    sums = settled(jnp.sum(absolute(x), along, keepdims=True))
    best = reduced_extremum(sums, across, p > 0, keepdims=True)
    return best if keepdim else best.squeeze((rows, columns))


@op(
    "nuclear_norm_op", namespaces=(), method=False, residuals=True, grad_name="NuclearNormBackward0"
)
def nuclear_norm_op(input: Input, rows: Int, columns: Int, keepdim: Bool, dtype: DType):
    """Return the sum of the singular values."""
    x = in_norm_dtype(input, dtype, "linalg.matrix_norm")
    found = jnp.sum(svdvals_op.spec.fn(jnp.moveaxis(x, (rows, columns), (-2, -1))), -1)
    return jnp.expand_dims(found, (rows, columns)) if keepdim else found


@composite("matrix_norm", namespaces=("linalg",), method=False, other_names={"input": "A"})
def linalg_matrix_norm(
    A: Tensor,
    ord: Any = "fro",
    dim: Any = (-2, -1),
    keepdim: Any = False,
    *,
    dtype: Any = None,
    out: Any = None,
) -> Tensor:
    """Return a norm of matrices: "fro", "nuc", ±1 (columns), ±inf (rows) or ±2 (singular
    values)."""
    require_tensor(A, "linalg_matrix_norm", "A")
    if A.dim() < 2:
        raise RuntimeError(
            "linalg.matrix_norm: The input tensor A must have at least 2 dimensions."
        )
    if A.dtype.category < 2:
        raise RuntimeError(
            "linalg.matrix_norm: Expected a floating point or complex tensor as input. Got "
            f"{dtypes.scalar_type(A.dtype)}"
        )
    dims = tuple(dim)
    if len(dims) != 2:
        raise RuntimeError(
            f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dims))}"
        )
    rows, columns = (errors.wrap_dim(d, A.dim()) for d in dims)
    if rows == columns:
        raise RuntimeError(
            f"linalg.matrix_norm: dims must be different. Got ({dims[0]}, {dims[1]})"
        )
    if ord == "fro":
        return norm_op(A, 2.0, (rows, columns), keepdim, dtype, out=out)
    if ord == "nuc":
        return nuclear_norm_op(A, rows, columns, keepdim, dtype, out=out)
    if isinstance(ord, str) or abs(ord) not in (1, 2, math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    return matrix_norm_op(A, ord, rows, columns, keepdim, dtype, out=out)


@composite("norm", namespaces=("linalg",), method=False, other_names={"input": "A"})
def linalg_norm(
    A: Tensor,
    ord: Any = None,
    dim: Any = None,
    keepdim: Any = False,
    *,
    dtype: Any = None,
    out: Any = None,
) -> Tensor:
    """Return a vector norm over one dimension or a matrix norm over two; the 2-norm of all elements
    when neither ``ord`` nor ``dim`` is given."""
    dims = (dim,) if isinstance(dim, int) else None if dim is None else tuple(dim)
    if ord is None:
        return linalg_vector_norm(A, 2, dims, keepdim, dtype=dtype, out=out)
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}"
        )
    if dims is None and A.dim() not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{A.dim()}D."
        )
    if (len(dims) if dims is not None else A.dim()) == 2 or isinstance(ord, str):
        return linalg_matrix_norm(
            A, ord, (-2, -1) if dims is None else dims, keepdim, dtype=dtype, out=out
        )
    return linalg_vector_norm(A, ord, dims, keepdim, dtype=dtype, out=out)


@composite(
    python_signature=True,
    tags="reduction.Scalar|ScalarOpt_dim|ScalarOpt_dim_dtype|ScalarOpt_dtype|dtype_out|out",
)
def norm(
    input: Tensor,
    p: Any = "fro",
    dim: Any = None,
    keepdim: Any = False,
    out: Any = None,
    dtype: Any = None,
) -> Tensor:
    """Return the p-norm of all elements or of vectors over ``dim`` ("fro" is 2), or "nuc" of
    matrices.

    Example:
      >>> torch.norm(torch.tensor([3.0, 4.0]))
      tensor(5.)
    """
    require_tensor(input, "norm")
    if p == "nuc":
        dims = _pair(dim, input.dim())
        return linalg_matrix_norm(input, "nuc", dims, keepdim, dtype=dtype, out=out)
    order = 2.0 if p in ("fro", None) else float(plain_number(p, "linalg_vector_norm", "ord", 2))
    return norm_op(input, order, dim, keepdim, dtype, out=out)


def _pair(dim: Any, ndim: int) -> tuple[int, ...]:
    """Return the dimensions of a matrix norm, all of them for None. RuntimeError unless they are
    two."""
    dims = tuple(range(ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) != 2:
        got = " ".join(map(str, dims))
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {got}")
    return dims


@composite(method=False)
def frobenius_norm(
    input: Tensor, dim: Any = None, keepdim: Any = False, *, out: Any = None
) -> Tensor:
    """Return the 2-norm over ``dim``."""
    return norm_op(input, 2.0, dim, keepdim, None, out=out)


@composite(method=False)
def nuclear_norm(
    input: Tensor, dim: Any = None, keepdim: Any = False, *, out: Any = None
) -> Tensor:
    """Return the sum of the singular values."""
    require_tensor(input, "nuclear_norm")
    return norm(input, "nuc", dim, keepdim, out)


def _require_square(A: Tensor, order: Any) -> None:
    """Refuse, with RuntimeError, a matrix that is not square, which has no inverse to ask for the
    norm of."""
    require_matrix_shape(A, f"linalg.cond(ord={order})")
    if A.shape[-1] != A.shape[-2]:
        said = f"{order:f}" if isinstance(order, float) else order
        raise RuntimeError(
            f"linalg.cond(ord={said}): A must be batches of square matrices, but they are "
            f"{A.shape[-2]} by {A.shape[-1]} matrices"
        )


@composite(
    "cond",
    namespaces=("linalg",),
    method=False,
    autocast={"cpu": "float32"},
    other_names={"input": "A"},
)
def linalg_cond(A: Tensor, p: Any = None, *, out: Any = None) -> Tensor:
    """Return the condition number in a matrix norm: the ratio of singular values for None and ±2,
    ``norm(A) * norm(inv(A))`` otherwise; infinite for a singular matrix."""
    if A.dim() < 2 and not isinstance(p, str):
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if p is None or p in (2, -2):
        require_matrix(A._read(), "linalg.cond")
        if not min(A.shape[-2:]):  # of no singular values PyTorch says 0
            return write_out(out, A.new_zeros(A.shape[:-2], dtype=A.dtype.to_real()), cast=True)
        s = svdvals_op(A)
        ends = (s[..., 0], s[..., -1])
        return write_out(out, ends[0] / ends[1] if p != -2 else ends[1] / ends[0], cast=True)
    if isinstance(p, str):
        _require_square(A, p)
    if p not in ("fro", "nuc", 1, -1, math.inf, -math.inf):
        raise error_of(ValueError)(f"linalg.cond got an invalid norm type: {p}")
    if not A.numel():
        return write_out(out, A.new_zeros(A.shape[:-2], dtype=A.dtype.to_real()), cast=True)
    _require_square(A, p)
    inverse, info = inv_ex_op(A)
    found = linalg_matrix_norm(A, p) * linalg_matrix_norm(inverse, p)
    return write_out(out, found.masked_fill(info != 0, math.inf), cast=True)


@op(inplace=True, autocast={"cuda": "float32"})
def renorm(input: Input, p: Scalar, dim: Int, maxnorm: Scalar):
    """Scale each slice along ``dim`` down to p-norm ``maxnorm`` where it is larger."""
    if input.ndim < 2:
        raise RuntimeError(
            f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions"
        )
    if dtypes.kind_of(input.dtype) not in "fc":
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{scalar_type_of(input)}"
        )
    d = errors.wrap_dim(dim, input.ndim)
    others = tuple(k for k in range(input.ndim) if k != d)
    if input.size == 0:
        return input

    def limited(x: Any) -> jax.Array:
        order, limit = (jnp.asarray(v).astype(x.real.dtype) for v in (p, maxnorm))
        size = absolute(x)
        # A norm of NaN is not larger than any limit, and what is not scaled has its own gradient.
        size = jnp.where(jnp.any(jnp.isnan(size), others, keepdims=True), 0, size)
        safe = jnp.where(size == 0, 1, size)
        finite = jnp.where(jnp.isinf(order), 1, order)  # size ** inf has a gradient of NaN
        total = jnp.sum(jnp.where(size == 0, 0, safe**finite), others, keepdims=True)
        zero = total == 0
        length = jnp.where(zero, 0, jnp.where(zero, 1, total) ** (1 / finite))
        length = jnp.where(jnp.isinf(order), jnp.max(size, others, keepdims=True), length)
        # 1e-7 as in PyTorch, where it keeps the quotient below 1 after rounding.
        scale = jnp.where(length > limit, limit / (length + 1e-7), 1)
        return x * scale.astype(x.dtype)

    return in_float32(limited)(input)


def _check_renorm(input: Any, p: Any, dim: int, maxnorm: Any) -> None:
    refuse_where(~(values_of(p) > 0), RuntimeError, "renorm: non-positive-norm not supported")
    limit, words = values_of(maxnorm), "renorm: expected maxnorm to be >= 0 but got {0:g}"
    refuse_where(~(limit >= 0), RuntimeError, words, limit)


renorm.spec.check = _check_renorm


# -- distances -------------------------------------------------------------------------------------

_MODES = (
    "use_mm_for_euclid_dist_if_necessary",
    "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist",
)


@op(
    "cdist_op",
    namespaces=(),
    method=False,
    residuals=True,
    grad_name="CdistBackward0",
    autocast="float32",
)
def cdist_op(x1: Input, x2: Input, p: Number, mode: Str):
    """Return the distances between the rows of two (batches of) matrices."""
    for name, x in (("X1", x1), ("X2", x2)):
        if dtypes.kind_of(x.dtype) != "f":
            raise RuntimeError(
                f"cdist only supports floating-point dtypes, {name} got: {scalar_type_of(x)}"
            )
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    if not p.value >= 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if x1.dtype != x2.dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_type_of(x1)} but found {scalar_type_of(x2)}"
        )
    batch = jnp.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    a, b = (jnp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (x1, x2))
    large = a.shape[-2] > 25 or b.shape[-2] > 25
    if p.value == 2 and (mode == _MODES[1] or (mode == _MODES[0] and large)):
        return _by_product(a, b)
    return lengths(a[..., :, None, :] - b[..., None, :, :], p.value, passes_over_nan=True)


def _by_product(a: Any, b: Any) -> Any:
    """Compute squared distances as ``|a|² - 2 a·b + |b|²``: one matrix product instead of all
    differences, as PyTorch does for more than 25 rows; less exact where points are close. The
    gradient at distance 0 is 0."""
    lengths = [jnp.sum(x * x, -1) for x in (a, b)]
    squares = (
        lengths[0][..., :, None] + lengths[1][..., None, :] - 2 * (a @ jnp.swapaxes(b, -1, -2))
    )
    positive = ~(squares <= 0)  # or NaN
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, squares, 1)), 0)


@composite(method=False, python_signature=True)
def cdist(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:
    """Return the p-norm distance of every row of ``x1`` to every row of ``x2``. (..., P, M), (...,
    R, M) to (..., P, R)."""
    if compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return cdist_op(x1, x2, float(plain_number(p, "cdist", "p", 3)), compute_mode)


@op(
    "cross_op",
    namespaces=(),
    method=False,
    grad_name="LinalgCrossBackward0",
    autocast={"cuda": "widest"},
)
def cross_op(input: Input, other: Input, dim: Int):
    """Return the cross product of vectors of length 3 along a dimension."""
    if input.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    d = errors.wrap_dim(dim, input.ndim)
    if input.shape[d] != 3 or other.shape[d] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[d]} and "
            f"{other.shape[d]}"
        )
    x, y = jnp.broadcast_arrays(*promoted(input, other))
    (a, b, c), (e, f, g) = ([jnp.take(v, i, d) for i in range(3)] for v in (x, y))
    return jnp.stack([b * g - c * f, c * e - a * g, a * f - b * e], d)


@composite()
def cross(input: Tensor, other: Tensor, dim: int | None = None, *, out: Any = None) -> Tensor:
    """Return the cross product along ``dim`` (the first of size 3 by default)."""
    if dim is None:
        errors.warn_user_once(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass "
            "the dim explicitly or simply use torch.linalg.cross.\nThe default value of dim will "
            "change to agree with that of linalg.cross in a future release."
        )
        dim = next((d for d, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return cross_op(input, other, dim, out=out)


@composite("cross", namespaces=("linalg",), method=False)
def linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1, out: Any = None) -> Tensor:
    """Return the cross product along ``dim`` (the last by default)."""
    return cross_op(input, other, dim, out=out)


@op("vecdot", namespaces=("linalg",), method=False, autocast={"cpu": "low", "cuda": "low"})
def vecdot(x: Input, y: Input, *, dim: Int = -1):
    """Return the dot products along a dimension, the first vector conjugated."""
    a, b = promoted(x, y)
    d = errors.wrap_dim(dim, max(a.ndim, b.ndim))
    return jnp.sum(jnp.conj(a) * b, d)
