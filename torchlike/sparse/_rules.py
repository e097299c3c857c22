"""What ops compute on sparse operands: a rule for each, of its operands and static arguments.

Looked up by `run` (torchlike/_extensions/sparse_array.py) where a compiled form refused a sparse
operand, so functions, methods, operators and in-place twins have them alike. Made of ops on indices
and values, which record their gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from torchlike._core import errors, modes
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._core.dispatch.schema import common_dtype, ints
from torchlike._ops.creation.conversion import cast_op
from torchlike._ops.creation.from_data import tensor as make_tensor
from torchlike._ops.linalg import scipy_products
from torchlike._ops.linalg.sparse_products import sparse_matmul
from torchlike._ops.shape.joining import cat
from torchlike.sparse._products import weighted
from torchlike.sparse._rule_table import OF_ELEMENTS, OF_TERMS, functions, rule
from torchlike.sparse._shape_rules import broadcast_sparse
from torchlike.sparse._tensor import SparseTensor
from torchlike.tensor import Tensor

_torch = NAMESPACES[""]


def _number(x: Any) -> bool:
    return not isinstance(x, Tensor)


# -- sums ------------------------------------------------------------------------------------------


def _check_size(name: str, input: Any, other: Any) -> None:
    if other.shape == input.shape:
        return
    if isinstance(input, SparseTensor):
        raise RuntimeError(
            f"{name}: expected sizes of 'self' and 'other' to match, but {list(input.shape)} != "
            f"{list(other.shape)}"
        )
    raise RuntimeError(
        f"{name}: expected 'self' and 'other' to have same size, but self has size "
        f"{list(input.shape)} while other has size {list(other.shape)} (FYI: dense-sparse addition "
        "does not currently support broadcasting)"
    )


def _sum_of(name: str, input: Any, other: Any, factor: Any) -> Tensor:
    """Return ``input + factor * other``, sparse if both are."""
    if not isinstance(other, SparseTensor):
        raise RuntimeError(
            f"{name}(sparse, dense) is not supported. Use {name}(dense, sparse) instead."
        )
    if _number(input):
        raise NotImplementedError(f"{name}(number, sparse): call to_dense() first")
    _check_size(name, input, other)
    # Promoted first: of bytes there are no negative ones to be added.
    common = common_dtype((input, other))
    held = other._held.to(common)
    scaled = held if _number(factor) and factor == 1 else held * factor
    if not isinstance(input, SparseTensor):
        whole: Any = input.to(common)
        if not other.sparse_dim() or not other._nnz():
            return whole + other._with(scaled).to_dense()
        return whole.index_put(tuple(other._at), scaled, accumulate=True)
    if not other._nnz():  # however many of its dimensions have indices
        return input.clone().to(common)
    if not input._nnz():
        return other._with(scaled.clone())
    if input.sparse_dim() != other.sparse_dim():
        raise RuntimeError(
            f"{name}: expected 'self' and 'other' to have same density, but 'self' has "
            f"{input.sparse_dim()} sparse dimensions while 'other' has {other.sparse_dim()} sparse "
            "dimensions"
        )
    if input._at is other._at:
        return input._with(input._held.to(common) + scaled)
    joined = SparseTensor(
        cat([input._at, other._at], 1), cat([input._held.to(common), scaled]), input.shape, False
    )
    tidy = input.is_coalesced() and other.is_coalesced() and not modes.is_capturing()
    return joined.coalesce() if tidy else joined


@rule("add")
def _(input: Any, other: Any, alpha: Any) -> Tensor:
    return _sum_of("add", input, other, alpha)


@rule("sub")
def _(input: Any, other: Any, alpha: Any) -> Tensor:
    return _sum_of("sub", input, other, -alpha)


@rule("sum")
def _sum(input: SparseTensor, dim: Any, keepdim: bool, dtype: Any) -> Tensor:
    """Sum over all dimensions (dense), or over some (with the sparse dimensions that are left)."""
    values = input._held if dtype is None else cast_op(input._held, dtype)
    n, every = input.sparse_dim(), range(input.dim())
    named = every if dim is None else (dim,) if isinstance(dim, int) else ints(dim)
    over: set[int] = set()
    for d in (errors.wrap_dim(d, input.dim()) for d in named):
        if d in over:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
        over.add(d)
    if keepdim and dim is not None:
        summed = _sum(input, dim, False, dtype)
        for d in sorted(over):
            summed = summed.unsqueeze(d)
        return summed
    dense = tuple(d - n + 1 for d in sorted(over) if d >= n)
    values = values.sum(dense) if dense else values
    keep = [d for d in range(n) if d not in over]
    size = [input.shape[d] for d in every if d not in over]
    if not keep:
        return values.sum(0)
    summed = SparseTensor(input._at[keep], values, size, input.is_coalesced() and len(keep) == n)
    return summed if modes.is_capturing() else summed.coalesce()


@rule("norm_op")
def _(input: SparseTensor, p: Any, dim: Any, keepdim: bool, dtype: Any) -> Tensor:
    if keepdim:
        raise RuntimeError("norm_sparse currently does not support keepdim=True")
    named = range(input.dim()) if dim in (None, ()) else (dim,) if isinstance(dim, int) else dim
    if len({errors.wrap_dim(d, input.dim()) for d in named}) != input.dim():
        raise RuntimeError(
            "norm_sparse currently only supports full reductions, so 'dim' must either be empty or "
            "contain all dimensions of the input"
        )
    if dtype is not None:
        raise RuntimeError("norm_sparse currently does not support 'dtype' argument")
    return _torch["norm"](input.coalesce()._held, p)


# -- products --------------------------------------------------------------------------------------


@rule("mul")
def _(input: Any, other: Any) -> SparseTensor:
    """Multiply by a number, a dense tensor that broadcasts to this one, or a sparse one."""
    if not isinstance(input, SparseTensor):
        input, other = other, input
    if isinstance(other, SparseTensor):
        return _product_of_both(input, other)
    if _number(other) or not other.dim():
        return input._with(input._held * other)
    whole: Any = other.expand(tuple(input.shape))
    return input._with(input._held * whole[tuple(input._at)])


def _product_of_both(input: SparseTensor, other: SparseTensor) -> SparseTensor:
    """Multiply two sparse tensors, broadcast: the result has elements where both have."""
    if input.dtype is not other.dtype:  # before either is broadcast: one without dimensions yields
        common = common_dtype((input, other))
        input, other = (t._with(t._held.to(common)) for t in (input, other))
    if other.shape != input.shape:
        size = _torch["broadcast_shapes"](input.shape, other.shape)
        input, other = (t if t.shape == size else broadcast_sparse(t, size) for t in (input, other))
    tidy: Any = input.coalesce()
    if input.sparse_dim() != other.sparse_dim() or modes.is_capturing():
        return tidy * other.to_dense()
    of_other: Any = other.coalesce()
    shape = tuple(input.shape[: input.sparse_dim()])
    keys = [_places(t, shape) for t in (tidy, of_other)]
    _, *chosen = np.intersect1d(*keys, assume_unique=True, return_indices=True)
    mine, others = (make_tensor(x.astype(np.int64)) for x in chosen)
    held = tidy._held[mine] * of_other._held[others]
    return SparseTensor(tidy._at[:, mine], held, input.shape, True)


def _places(t: SparseTensor, shape: tuple[int, ...]) -> np.ndarray:
    """Return the indices of each element as one number, in their order."""
    at = t._at._value("mul")
    if not len(at):
        return np.zeros(at.shape[1], np.int64)
    return np.asarray(np.ravel_multi_index(tuple(at), shape))


@rule("div_op")
def _(input: Any, other: Any) -> SparseTensor:
    if (
        not isinstance(input, SparseTensor)
        or isinstance(other, SparseTensor)
        or (not _number(other) and other.dim())
    ):
        shape = [] if _number(other) else list(other.shape)
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{shape} for divisor)"
        )
    return input._with(input._held / other)


def _product(input: Any, other: Any) -> Tensor:
    """Multiply a sparse matrix and a dense vector or matrix (dense), or two sparse matrices
    (sparse)."""
    if not isinstance(input, SparseTensor):
        if other.dim() != 2:
            raise NotImplementedError(_ONLY_MATRICES)
        return _product(other.t(), input if input.dim() == 1 else input.t()).T
    if input.dim() != 2 or input.sparse_dim() != 2:
        raise NotImplementedError(_ONLY_MATRICES)
    rows, columns = input.shape
    if isinstance(other, SparseTensor):
        return _product(input, other.to_dense()).to_sparse()
    if scipy_products.applies(input._held, other) and other.shape[0] == columns:
        return scipy_products.by_coordinates(
            input._at, input._held, other, rows, input.is_coalesced()
        )
    return sparse_matmul(input._at, input._held, other, rows, columns, input.is_coalesced())


_ONLY_MATRICES = "a product with a sparse tensor takes a sparse matrix; call to_dense() first"
for _name in ("matmul", "mm"):
    rule(_name)(_product)


@rule("mv")
def _(input: Any, vec: Any) -> Tensor:
    if input.shape[-1] != vec.shape[-1]:
        raise RuntimeError("mv: expected self.size(-1) == vec.size(-1)")
    return _product(input, vec)


@rule("addmm")
@rule("addmv")
def _(input: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Tensor:
    return weighted(input, beta) + (mat1 @ mat2) * alpha


@rule("linear")
def _(input: Any, weight: Any, bias: Any) -> Tensor:
    product = _product(input, weight.t())
    return product if bias is None else product + bias


@rule("bmm")
def _(input: Any, mat2: Any) -> Tensor:
    """Multiply batches (b, n, m), with indices in all dimensions, and (b, m, k): one product with
    all matrices along a diagonal."""
    if not isinstance(input, SparseTensor) or isinstance(mat2, SparseTensor):
        raise RuntimeError("bmm_sparse: Tensor 'mat2' must be dense")
    if input.sparse_dim() != 3:
        raise RuntimeError(
            f"bmm_sparse: 'self' must have 3 sparse dimensions, got {input.sparse_dim()}"
        )
    (batch, rows, columns), (many, inner, width) = input.shape, mat2.shape
    if (batch, columns) != (many, inner):
        raise RuntimeError(
            f"bmm_sparse: Tensor 'mat2' must have the sizes [{batch}, {columns}, *], got "
            f"{list(mat2.shape)}"
        )
    which, row, column = input._at
    at = _torch["stack"]([which * rows + row, which * columns + column])
    dense = mat2.reshape(batch * columns, width)
    found = sparse_matmul(at, input._held, dense, batch * rows, batch * columns)
    return found.reshape(batch, rows, width)


# -- one element at a time -------------------------------------------------------------------------


@rule("clone_op")
def _(input: SparseTensor) -> SparseTensor:
    return input.clone()


@rule("cast_op")
def _(input: SparseTensor, dtype: Any) -> SparseTensor:
    return input._with(cast_op(input._held, dtype))


@rule("zero_op")
def _(input: SparseTensor) -> SparseTensor:
    """Return a tensor without elements: all zeros."""
    return SparseTensor(
        input._at.new_empty((input.sparse_dim(), 0)),
        input._held.new_empty((0, *input._held.shape[1:])),
        input.shape,
        True,
    )


def _divided(input: Any, other: Any, *rounding: str) -> SparseTensor:
    """Divide by a number, and round: the sums are divided where an element stands several times."""
    if (
        not isinstance(input, SparseTensor)
        or isinstance(other, SparseTensor)
        or (not _number(other) and other.dim())
    ):
        raise RuntimeError(
            "Sparse floor division requires a scalar or zero-dim dense tensor divisor"
        )
    tidy: Any = input.coalesce()
    return tidy._with(tidy._held.div(other, rounding_mode=rounding[0] if rounding else "floor"))


for _name in ("floor_divide_op", "div_rounded_op"):
    rule(_name)(_divided)


@rule("any")
def _(input: SparseTensor, dim: Any, keepdim: bool) -> Tensor:
    if dim is not None or keepdim:
        raise NotImplementedError("any(dim=…) of a sparse tensor: call to_dense() first")
    return input._held.any()


def _of_elements(name: str, function: Callable[..., Any]) -> None:
    rule(name)(lambda input, *rest: (tidy := input.coalesce())._with(function(tidy._held, *rest)))


for _name, _function in functions(OF_ELEMENTS).items():
    _of_elements(_name, _function)


def _of_terms(name: str, function: Callable[..., Any]) -> None:
    rule(name)(lambda input: input._with(function(input._held)))


for _name, _function in functions(OF_TERMS).items():
    _of_terms(_name, _function)


@rule("round")
def _(input: SparseTensor, decimals: Any) -> SparseTensor:
    tidy = input.coalesce()
    return tidy._with(tidy._held.round(decimals=decimals))


@rule("pow_scalar")
def _(input: Any, exponent: Any) -> SparseTensor:
    if not isinstance(input, SparseTensor) or not _number(exponent) or exponent <= 0:
        raise NotImplementedError("pow() of a sparse tensor takes a positive number as exponent")
    tidy = input.coalesce()
    return tidy._with(tidy._held**exponent)
