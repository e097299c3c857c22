"""Products: ``linear`` and ``matmul`` by the ranks of their operands."""

from __future__ import annotations

import math
from typing import Any

from torchlike.ops._aten.composites.shapes import broadcast_sizes, reshape
from torchlike.ops._aten.handlers import composite
from torchlike.ops._aten.packets import aten
from torchlike.tensor import Tensor


@composite("linear", "F.linear")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return ``input @ weight.T + bias``."""
    rank = input.dim()
    if rank == 2 and bias is not None:
        return aten.addmm.default(bias, input, aten.t.default(weight))
    if bias is not None and rank == 3 and input.is_contiguous():
        size = input.shape
        flat = aten.view.default(input, [size[0] * size[1], size[2]])
        out = aten.addmm.default(bias, flat, aten.t.default(weight))
        return aten.view.default(out, [size[0], size[1], out.shape[1]])
    out = matmul(input, aten.t.default(weight))
    return out if bias is None else aten.add.Tensor(out, bias)


@composite("matmul", "Tensor.matmul", "Tensor.__matmul__")
def matmul(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """Return the product of vectors, matrices or batches of them."""
    if out is not None:
        return aten.copy_.default(out, matmul(input, other))
    a, b = input.dim(), other.dim()
    if a == 1 and b == 1:
        return aten.dot.default(input, other)
    if a == 2 and b == 1:
        return aten.mv.default(input, other)
    if a == 1 and b == 2:
        row = aten.unsqueeze.default(input, 0)
        return aten.squeeze_.dim(aten.mm.default(row, other), 0)
    if a == 2 and b == 2:
        return aten.mm.default(input, other)
    if a == 0 or b == 0:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {a}D and {b}D"
        )
    if _folds(input, other):
        return _folded(input, other)
    return _batched(input, other)


def _folds(first: Tensor, second: Tensor) -> bool:
    """Return whether the batch of one operand becomes rows: where that needs no copy, or where
    gradients of the smaller one would have the size of the whole batch."""
    flipped = second.dim() > first.dim()
    big, small = (second, first) if flipped else (first, second)
    if small.dim() > 2 or big.dim() < 3:
        return False
    if small.requires_grad and not flipped:
        return True
    if first.dim() == 2:
        return False
    if big.numel() == 0 or small.dim() == 1:
        return True
    strides, size = big.stride(), big.shape
    return all(strides[i] == strides[i + 1] * size[i + 1] for i in range(big.dim() - 2))


def _folded(first: Tensor, second: Tensor) -> Tensor:
    flipped = second.dim() > first.dim()
    if flipped:
        big = aten.transpose.int(second, -2, -1)
        small = aten.t.default(first) if first.dim() == 2 else first
    else:
        big, small = first, second
    size = list(big.shape[:-1])
    rows = reshape(big, [math.prod(size), big.shape[-1]])
    if small.dim() == 1:
        return aten._unsafe_view.default(aten.mv.default(rows, small), size)
    size.append(small.shape[1])
    made = aten._unsafe_view.default(aten.mm.default(rows, small), size)
    return aten.transpose.int(made, -2, -1) if flipped else made


def _batched(first: Tensor, second: Tensor) -> Tensor:
    rows = first.shape[-2] if first.dim() > 1 else 1
    columns = second.shape[-1] if second.dim() > 1 else 1
    batch = list(broadcast_sizes(first.shape[:-2], second.shape[:-2]))
    count = math.prod(batch)
    inner = first.shape[-1]
    a = reshape(aten.expand.default(first, [*batch, rows, inner]), [count, rows, inner])
    if second.dim() == 1:
        b = aten.unsqueeze.default(
            reshape(aten.expand.default(second, [*batch, inner]), [count, inner]), 2
        )
    else:
        b = reshape(aten.expand.default(second, [*batch, inner, columns]), [count, inner, columns])
    size = list(batch)
    if first.dim() > 1:
        size.append(rows)
    if second.dim() > 1:
        size.append(columns)
    return aten._unsafe_view.default(aten.bmm.default(a, b), size)


@composite("outer")
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Return the products of all pairs."""
    return aten.mul.Tensor(aten.view.default(input, [input.shape[0], 1]), vec2)


@composite("tensordot")
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, dims_other: Any = None) -> Tensor:
    """Return a sum of products over dimensions of both, given in a pair or (to the operator) one by
    one."""
    if dims_other is not None:
        of_a, of_b = list(dims), list(dims_other)
    elif isinstance(dims, int):
        of_a, of_b = list(range(-dims, 0)), list(range(dims))
    else:
        of_a, of_b = ([d] if isinstance(d, int) else list(d) for d in dims)
    free_a = [d for d in range(a.dim()) if d not in {k % a.dim() for k in of_a}]
    free_b = [d for d in range(b.dim()) if d not in {k % b.dim() for k in of_b}]
    rows, columns = [a.shape[d] for d in free_a], [b.shape[d] for d in free_b]
    inner = math.prod(a.shape[d] for d in of_a)
    x = aten.permute.default(a, [*free_a, *of_a])
    y = aten.permute.default(b, [*of_b, *free_b])
    if not free_a and not free_b:
        product = aten.dot.default(reshape(x, [inner]), reshape(y, [inner]))
    else:
        product = aten.mm.default(
            reshape(x, [math.prod(rows), inner]), reshape(y, [inner, math.prod(columns)])
        )
    return reshape(product, [*rows, *columns])


@composite("inner")
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Return the sum of products over the last dimensions."""
    if input.dim() == 0 or other.dim() == 0:
        return aten.mul.Tensor(input, other)
    return tensordot(input, other, ((-1,), (-1,)))


@composite("chain_matmul", "F.chain_matmul")
def chain_matmul(*matrices: Any) -> Tensor:
    """Return the product of matrices."""
    product = matrices[0]
    for m in matrices[1:]:
        product = aten.mm.default(product, m)
    return aten.view.default(product, list(product.shape))


@composite("kron")
def kron(input: Tensor, other: Tensor) -> Tensor:
    """Return the Kronecker product."""
    n = max(input.dim(), other.dim())
    a = [1] * (n - input.dim()) + list(input.shape)
    b = [1] * (n - other.dim()) + list(other.shape)
    x = aten._unsafe_view.default(input, [k for s in a for k in (s, 1)])
    y = aten._unsafe_view.default(other, [k for s in b for k in (1, s)])
    return aten._unsafe_view.default(
        aten.mul.Tensor(x, y), [s * t for s, t in zip(a, b, strict=True)]
    )


@composite("linalg_inv", "inverse")
def inv(A: Tensor) -> Tensor:
    """Return the inverse."""
    found, info = aten.linalg_inv_ex.default(A)
    aten._linalg_check_errors.default(info, "linalg.inv", is_matrix=A.dim() == 2)
    return found


@composite("linalg_cholesky")
def cholesky(A: Tensor, *, upper: Any = False) -> Tensor:
    """Return the Cholesky factor."""
    found, info = aten.linalg_cholesky_ex.default(A, **({"upper": True} if upper else {}))
    aten._linalg_check_errors.default(info, "linalg.cholesky", is_matrix=A.dim() == 2)
    return found


@composite("cdist", "F.cdist")
def cdist(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:
    """Return the distances of all pairs of rows."""
    modes = {"use_mm_for_euclid_dist": 1, "donot_use_mm_for_euclid_dist": 2}
    return aten._cdist_forward.default(x1, x2, float(p), modes.get(compute_mode))


@composite("linalg_det", "det")
def det(A: Tensor) -> Tensor:
    """Return the determinant."""
    return aten._linalg_det.default(A)[0]


@composite("linalg_solve")
def solve(A: Tensor, B: Tensor, *, left: Any = True) -> Tensor:
    """Return the solution of a linear system."""
    found, _, _, info = aten._linalg_solve_ex.default(A, B, **({} if left else {"left": False}))
    aten._linalg_check_errors.default(info, "torch.linalg.solve", is_matrix=A.dim() == 2)
    return found
