"""What ops compute on sparse operands: a rule for each, of its operands and static arguments.

Found where a compiled function refused a SparseArray (dispatch/call.py), so functions, methods,
operators and in-place twins have them alike. Made of ops on indices and values, which record their
gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike._core import errors, modes
from torchlike._core.extension import add_method
from torchlike._core.sparse_array import RULES
from torchlike._core.tensor import Tensor
from torchlike._dispatch.registry import NAMESPACES, OPS
from torchlike._dispatch.schema import common_dtype, ints
from torchlike._ops.creation.conversion import cast_op
from torchlike._ops.linalg import sparse_vectors
from torchlike._ops.linalg.sparse_products import sparse_matmul
from torchlike._ops.shape.joining import cat
from torchlike.sparse._tensor import SparseTensor


def _rule(name: str) -> Callable[..., Any]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if name not in OPS:
            raise TypeError(f"a rule for the op {name}, which there is not")
        RULES[OPS[name].name] = function
        return function

    return register


def _number(x: Any) -> bool:
    return not isinstance(x, Tensor)


# -- sums ------------------------------------------------------------------------------------------


def _sum_of(name: str, input: Any, other: Any, factor: Any) -> Tensor:
    """``input + factor * other``, sparse if both are."""
    if not isinstance(other, SparseTensor):
        raise RuntimeError(
            f"{name}(sparse, dense) is not supported. Use {name}(dense, sparse) instead."
        )
    if _number(input):
        raise NotImplementedError(f"{name}(number, sparse): call to_dense() first")
    if other.shape != input.shape:
        raise RuntimeError(
            f"{name}: expected sizes of 'self' and 'other' to match, but {list(input.shape)} != "
            f"{list(other.shape)}"
        )
    # Promoted first: of bytes there are no negative ones to be added.
    common = common_dtype((input, other))
    held = other._held.to(common)
    scaled = held if _number(factor) and factor == 1 else held * factor
    if not isinstance(input, SparseTensor):
        whole: Any = input.to(common)
        if not other.sparse_dim() or not other._nnz():
            return whole + other._with(scaled).to_dense()
        return whole.index_put(tuple(other._at), scaled, accumulate=True)
    joined = SparseTensor(
        cat([input._at, other._at], 1), cat([input._held.to(common), scaled]), input.shape, False
    )
    tidy = input.is_coalesced() and other.is_coalesced() and modes.current.capture is None
    return joined.coalesce() if tidy else joined


@_rule("add")
def _(input: Any, other: Any, alpha: Any) -> Tensor:
    return _sum_of("add", input, other, alpha)


@_rule("sub")
def _(input: Any, other: Any, alpha: Any) -> Tensor:
    return _sum_of("sub", input, other, -alpha)


@_rule("sum")
def _(input: SparseTensor, dim: Any, keepdim: bool, dtype: Any) -> Tensor:
    """Dense over all dimensions, else with the sparse dimensions that are left."""
    values = input._held if dtype is None else input.to(dtype=dtype)._held
    n, every = input.sparse_dim(), range(input.dim())
    over = {errors.wrap_dim(d, input.dim()) for d in (
        every if dim is None else (dim,) if isinstance(dim, int) else ints(dim))}  # fmt: skip
    if keepdim:
        raise NotImplementedError("sum(keepdim=True) of a sparse tensor: call to_dense() first")
    dense = tuple(d - n + 1 for d in sorted(over) if d >= n)
    values = values.sum(dense) if dense else values
    keep = [d for d in range(n) if d not in over]
    size = [input.shape[d] for d in every if d not in over]
    if not keep:
        return values.sum(0)
    summed = SparseTensor(input._at[keep], values, size, input.is_coalesced() and len(keep) == n)
    return summed if modes.current.capture is not None else summed.coalesce()


@_rule("norm_op")
def _(input: SparseTensor, p: Any, dim: Any, keepdim: bool, dtype: Any) -> Tensor:
    if dim is not None or keepdim:
        raise NotImplementedError("norm(dim=…) of a sparse tensor: call to_dense() first")
    return NAMESPACES[""]["norm"](input.coalesce()._held, p, dtype=dtype)


@_rule("cat_op")
def _(tensors: Any, dim: int) -> SparseTensor:
    """One after another along a dimension with indices."""
    first = tensors[0]
    if not all(isinstance(t, SparseTensor) and t.sparse_dim() == first.sparse_dim()
               for t in tensors):  # fmt: skip
        raise NotImplementedError("cat() of sparse and dense tensors: call to_dense() first")
    dim = errors.wrap_dim(dim, first.dim())
    if dim >= first.sparse_dim():
        raise NotImplementedError("cat() along a dense dimension: call to_dense() first")
    rest = [(*t.shape[:dim], *t.shape[dim + 1 :]) for t in tensors]
    if len(set(rest)) > 1:
        raise RuntimeError("Sizes of tensors must match except in dimension " + str(dim))
    at, start = [], 0
    for t in tensors:
        moved = t._at.clone()
        moved[dim] += start
        at.append(moved)
        start += t.shape[dim]
    size = [*first.shape]
    size[dim] = start
    return SparseTensor(cat(at, 1), cat([t._held for t in tensors]), size, False)


# -- products --------------------------------------------------------------------------------------


@_rule("mul")
def _(input: Any, other: Any) -> SparseTensor:
    """Times a number, a dense tensor that broadcasts to this, or a sparse one of this size."""
    if not isinstance(input, SparseTensor):
        input, other = other, input
    if isinstance(other, SparseTensor):
        if other.shape != input.shape:
            raise RuntimeError(
                f"mul: expected sizes of 'self' and 'other' to match, but {list(input.shape)} != "
                f"{list(other.shape)}"
            )
        tidy: Any = input.coalesce()
        return tidy * other.to_dense()
    if _number(other) or not other.dim():
        return input._with(input._held * other)
    whole: Any = other.expand(tuple(input.shape))
    return input._with(input._held * whole[tuple(input._at)])


@_rule("div_op")
def _(input: Any, other: Any) -> SparseTensor:
    if not isinstance(input, SparseTensor) or isinstance(other, SparseTensor) or (
        not _number(other) and other.dim()
    ):  # fmt: skip
        shape = [] if _number(other) else list(other.shape)
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{shape} for divisor)"
        )
    return input._with(input._held / other)


def _product(input: Any, other: Any) -> Tensor:
    """Of a sparse matrix and a dense vector or matrix (dense), or of two sparse ones (sparse)."""
    if not isinstance(input, SparseTensor):
        if other.dim() != 2:
            raise NotImplementedError(_ONLY_MATRICES)
        return _product(other.t(), input if input.dim() == 1 else input.t()).T
    if input.dim() != 2 or input.sparse_dim() != 2:
        raise NotImplementedError(_ONLY_MATRICES)
    rows, columns = input.shape
    if isinstance(other, SparseTensor):
        return _product(input, other.to_dense()).to_sparse()
    if sparse_vectors.applies(input._held, other) and other.shape[0] == columns:
        return sparse_vectors.by_coordinates(input._at, input._held, other, rows)
    return sparse_matmul(input._at, input._held, other, rows, columns)


_ONLY_MATRICES = "a product with a sparse tensor takes a sparse matrix; call to_dense() first"
for _name in ("matmul", "mm", "mv"):
    _rule(_name)(_product)


@_rule("addmm")
def _(input: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Tensor:
    return input * beta + (mat1 @ mat2) * alpha


# -- one element at a time -------------------------------------------------------------------------


@_rule("neg")
def _(input: SparseTensor) -> SparseTensor:
    return input._with(-input._held)


@_rule("clone_op")
def _(input: SparseTensor) -> SparseTensor:
    return input.clone()


@_rule("cast_op")
def _(input: SparseTensor, dtype: Any) -> SparseTensor:
    return input._with(cast_op(input._held, dtype))


@_rule("zero_op")
def _(input: SparseTensor) -> SparseTensor:
    """Nothing that is not zero."""
    return SparseTensor(
        input._at.new_empty((input.sparse_dim(), 0)),
        input._held.new_empty((0, *input._held.shape[1:])), input.shape, True,
    )  # fmt: skip


@_rule("any")
def _(input: SparseTensor, dim: Any, keepdim: bool) -> Tensor:
    if dim is not None or keepdim:
        raise NotImplementedError("any(dim=…) of a sparse tensor: call to_dense() first")
    return input._held.any()


def _of_elements(name: str) -> None:
    """A function that is 0 at 0, and so may look at the (whole) values alone."""
    function = NAMESPACES[""][name]
    _rule(name)(lambda input, *rest: (tidy := input.coalesce())._with(function(tidy._held, *rest)))


for _name in ("abs", "sqrt", "square", "sign", "relu", "isnan", "isinf", "sin", "sinh", "asin",
              "asinh", "tan", "tanh", "atan", "atanh", "log1p", "expm1", "floor", "ceil",
              "trunc", "erf", "deg2rad", "rad2deg"):  # fmt: skip
    _of_elements(_name)


@_rule("round")
def _(input: SparseTensor, decimals: Any) -> SparseTensor:
    tidy = input.coalesce()
    return tidy._with(tidy._held.round(decimals=decimals))


@_rule("pow_scalar")
def _(input: Any, exponent: Any) -> SparseTensor:
    if not isinstance(input, SparseTensor) or not _number(exponent) or exponent <= 0:
        raise NotImplementedError("pow() of a sparse tensor takes a positive number as exponent")
    tidy = input.coalesce()
    return tidy._with(tidy._held**exponent)


for _name in ("__matmul__", "matmul", "mv"):
    add_method(_name, sparse_vectors.directly(_product), SparseTensor)
