"""What ops compute on compressed operands: a rule for each, of its operands and static arguments.

Found as the rules for coordinate form are (_rules.py). Made of ops on indices and values, which
record their gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from torchlike._core import dtypes, errors, modes
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._core.dispatch.schema import common_dtype, ints
from torchlike._core.layouts import sparse_csc, sparse_csr
from torchlike._ops.creation.conversion import cast_op
from torchlike._ops.creation.from_data import tensor as make_tensor
from torchlike._ops.linalg import scipy_products
from torchlike._ops.linalg.solving import solve_triangular_op
from torchlike._ops.linalg.sparse_products import coalesced_values, csr_matmul, sparse_matmul
from torchlike.sparse._compressed import CompressedTensor
from torchlike.sparse._compression import compressed, of_coordinates
from torchlike.sparse._kinds import KINDS
from torchlike.sparse._products import weighted
from torchlike.sparse._rule_table import OF_ELEMENTS, OF_TERMS, functions
from torchlike.sparse._rule_table import compressed_rule as rule
from torchlike.sparse._tensor import SparseTensor
from torchlike.tensor import Tensor

_INSTEAD = "the operation outside the jit"


def _is_number(x: Any) -> bool:
    return not isinstance(x, Tensor)


def _unsupported(t: Any) -> RuntimeError:
    return RuntimeError(f"unsupported tensor layout: {t.kind.name}")


def _check_sizes(name: str, input: Any, other: Any) -> None:
    first, second = (() if _is_number(x) else tuple(x.shape) for x in (input, other))
    if first != second:
        hint = ""
        if not isinstance(other, CompressedTensor):  # PyTorch tells the dense one first
            first, second = second, first
            hint = " (FYI: op2-sparse addition does not currently support broadcasting)"
        raise RuntimeError(
            f"{name}: expected 'self' and 'other' to have same size, but self has size "
            f"{list(first)} while other has size {list(second)}{hint}"
        )


# -- sums ------------------------------------------------------------------------------------------


@rule("add")
def _(input: Any, other: Any, alpha: Any) -> Tensor:
    """Add two tensors of one layout (compressed), or a dense and a compressed one (dense)."""
    _check_sizes("add", input, other)
    common = common_dtype((input, other))
    both = isinstance(input, CompressedTensor) and isinstance(other, CompressedTensor)
    if not both:
        parts: Any = [
            t.to_dense() if isinstance(t, CompressedTensor) else t for t in (input, other)
        ]
        return NAMESPACES[""]["add"](*parts, alpha=alpha)
    if input.layout is not other.layout:
        row = "row" if input.kind.by_rows else "column"
        raise RuntimeError(
            f"{input.kind.compressed} expected sparse {row} compressed tensor layout but got "
            f"{other.kind.name}"
        )
    second = other._held.to(common) * alpha if alpha != 1 else other._held.to(common)
    first = input._held.to(common)
    if input._compressed is other._compressed and input._plain is other._plain:
        return input._with(first + second)
    (at, _), (further, _) = input.coordinates(), other.coordinates()
    n = tuple(input.shape[input.n_batch() + 2 :])
    values = NAMESPACES[""]["cat"]([first.reshape(-1, *n), second.reshape(-1, *n)])
    both_at = NAMESPACES[""]["cat"]([at, further], 1)
    return of_coordinates(both_at, values, tuple(input.shape), input.kind, input.blocksize())


@rule("sub")
def _(input: Any, other: Any, alpha: Any) -> Tensor:
    raise _unsupported(input if isinstance(input, CompressedTensor) else other)


@rule("sum")
def _(input: CompressedTensor, dim: Any, keepdim: bool, dtype: Any) -> Tensor:
    """Sum over all dimensions (dense), or over some with ``keepdim`` (compressed)."""
    held = input._held if dtype is None else cast_op(input._held, dtype)
    if dim is None:
        return held.sum()
    over = {
        errors.wrap_dim(d, input.dim())
        for d in ((dim,) if isinstance(dim, int) else ints(dim) or range(input.dim()))
    }
    if not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    if input.n_batch() or input.dense_dim() or input.kind.in_blocks:
        raise NotImplementedError("sum(dim, keepdim=True) takes a CSR or CSC matrix")
    at, _ = input.coordinates()
    kept = [at[d] * (d not in over) for d in range(2)]
    size = tuple(1 if d in over else n for d, n in enumerate(input.shape))
    return of_coordinates(NAMESPACES[""]["stack"](kept), held, size, input.kind, None)


# -- products --------------------------------------------------------------------------------------


@rule("mul")
def _(input: Any, other: Any) -> Tensor:
    """Multiply by a number, a dense tensor of this size, or a compressed one: the result has
    elements where both have any."""
    if not isinstance(input, CompressedTensor):
        input, other = other, input
    if _is_number(other) or not other.dim():
        return input._with(input._held * other)
    if tuple(other.shape) != tuple(input.shape):
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(other.shape)} "
            f"but mask has size {list(input.shape)}"
        )
    at, values = input.coordinates()
    if not isinstance(other, CompressedTensor):
        return input._with(input._held * other[tuple(at)].reshape(input._held.shape))
    further, factors = other.coordinates()
    keys = [
        np.ravel_multi_index(tuple(i._value("mul", _INSTEAD)), input.shape[: len(at)])
        for i in (at, further)
    ]
    _, mine, theirs = np.intersect1d(*keys, assume_unique=True, return_indices=True)
    mine, theirs = (make_tensor(i.astype(np.int64)) for i in (mine, theirs))
    product = values[mine] * factors[theirs]
    return of_coordinates(at[:, mine], product, tuple(input.shape), input.kind, input.blocksize())


@rule("div_op")
def _(input: Any, other: Any) -> Tensor:
    raise _unsupported(input if isinstance(input, CompressedTensor) else other)


def _product(input: Any, other: Any) -> Tensor:
    """Multiply a compressed matrix and a dense vector or matrix (dense), or two compressed ones
    (compressed); batches are multiplied matrix by matrix."""
    if not isinstance(input, CompressedTensor):
        if input.dim() == 1:
            return _product(other.mT, input)
        return _product(other.mT, input.mT).mT
    if input.dim() == 3:
        if other.dim() != 3:
            raise RuntimeError("batch2 must be a 3D tensor")
        found = [_product(input.select(0, i), other[i]) for i in range(input.shape[0])]
        return NAMESPACES[""]["stack"](found)
    if input.dim() != 2:
        raise NotImplementedError("a product with a compressed tensor takes a matrix or a batch")
    rows, columns = input.shape
    if other.dim() == 2 and other.shape[0] != columns:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{columns} and "
            f"{other.shape[0]}x{other.shape[1]})"
        )
    if isinstance(other, CompressedTensor):
        return _product_of_two(input, other)
    fits = other.shape[0] == columns
    if fits and not input.kind.in_blocks and scipy_products.applies(input._held, other):
        return scipy_products.by_compressed(
            input._compressed, input._plain, input._held, other, rows, input.kind.by_rows
        )
    if input.layout is sparse_csr and input.dtype in (dtypes.float32, dtypes.float64):
        return csr_matmul(input._compressed, input._plain, input._held, other, columns)
    at, values = input.coordinates()
    return sparse_matmul(at, values, other, rows, columns)


def _product_of_two(a: CompressedTensor, b: CompressedTensor) -> CompressedTensor:
    """Compute a product at every place that has a term: pairs of elements, of which those for one
    place are added."""
    layout = a.layout if a.layout is b.layout and a.kind.in_blocks else sparse_csr
    left, right = (compressed(t, sparse_csr) if t.layout is not sparse_csr else t for t in (a, b))
    begins = right._compressed._value("a product of sparse matrices", _INSTEAD)
    at, values = left.coordinates()
    row, column = at._value("a product of sparse matrices", _INSTEAD)
    terms = begins[column + 1] - begins[column]
    mine = np.repeat(np.arange(row.size), terms)
    first = np.repeat(begins[column] - (np.cumsum(terms) - terms), terms)
    theirs = first + np.arange(mine.size)
    plain = right._plain._value("a product of sparse matrices", _INSTEAD)
    key = row[mine] * b.shape[1] + plain[theirs]
    places, slot = np.unique(key, return_inverse=True)
    mine, theirs, slot = (make_tensor(i.reshape(-1).astype(np.int64)) for i in (mine, theirs, slot))
    summed = coalesced_values(values[mine] * right._held[theirs], slot, places.size, False)
    where = np.stack(np.divmod(places, max(b.shape[1], 1)))
    kind = KINDS[layout] if layout in (sparse_csr, sparse_csc) else KINDS[sparse_csr]
    found = of_coordinates(
        make_tensor(where.astype(np.int64)), summed, (a.shape[0], b.shape[1]), kind, None
    )
    return found if layout is kind.layout else compressed(found, layout, a.blocksize())


for _name in ("matmul", "mm", "mv"):
    rule(_name)(_product)


@rule("bmm")
def _(input: Any, mat2: Any) -> Tensor:
    if input.dim() != 3:
        raise RuntimeError("batch1 must be a 3D tensor")
    return _product(input, mat2)


@rule("addmm")
@rule("addmv")
def _(input: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Tensor:
    product: Any = _product(mat1, mat2)
    if isinstance(product, CompressedTensor) and isinstance(input, CompressedTensor):
        product = compressed(product, input.layout, input.blocksize())
    return weighted(input, beta) + product * alpha


@rule("linear")
def _(input: Any, weight: Any, bias: Any) -> Tensor:
    product = _product(input, weight.mT)
    return product if bias is None else product + bias


# -- one element at a time -------------------------------------------------------------------------


@rule("clone_op")
def _(input: CompressedTensor) -> CompressedTensor:
    return input.clone()


@rule("cast_op")
def _(input: CompressedTensor, dtype: Any) -> CompressedTensor:
    return input._with(cast_op(input._held, dtype))


@rule("zero_op")
def _(input: CompressedTensor) -> CompressedTensor:
    """Return a tensor without elements: all zeros."""
    return input._filled(0, input.layout)


def _of_elements(name: str, function: Callable[..., Any]) -> None:
    rule(name)(lambda input, *rest: input._with(function(input._held, *rest)))


for _name, _function in functions((*OF_ELEMENTS, *OF_TERMS, "fill")).items():
    _of_elements(_name, _function)


@rule("round")
def _(input: CompressedTensor, decimals: Any) -> CompressedTensor:
    return input._with(input._held.round(decimals=decimals))


@rule("solve_triangular_op")
def _(A: Any, B: Any, upper: bool, left: bool, unitriangular: bool) -> Tensor:
    """Solve with a CSR or BSR matrix, whose transposed is CSC or BSC: densely."""
    if isinstance(B, CompressedTensor):
        raise NotImplementedError("a triangular system with a sparse right side: use to_dense()")
    return solve_triangular_op(A.to_dense(), B, upper, left, unitriangular)


# -- layouts ---------------------------------------------------------------------------------------


def same_layout(found: SparseTensor, like: CompressedTensor) -> CompressedTensor:
    """Convert a tensor in coordinate form to the layout of another."""
    modes.running_capture().refuse("a change of layout", _INSTEAD)
    return compressed(found, like.layout, like.blocksize())
