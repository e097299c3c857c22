"""Functions and products of matrices: powers, the exponential, chains of products."""

from __future__ import annotations

import itertools
import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from torchlike._core import dtypes
from torchlike._core.dispatch.registry import NAMESPACES, composite, export, op
from torchlike._core.dispatch.schema import Input, Inputs, Int
from torchlike._ops.linalg.decompositions import require_matrix, require_matrix_shape
from torchlike._ops.linalg.exponential import exponential
from torchlike._ops.linalg.solving import inv
from torchlike._ops.outputs import write_out
from torchlike._ops.shape.views import diagonal
from torchlike.tensor import Tensor


def _flops_of_power(a: Any, n: int, **_: Any) -> int:
    """Count the products of repeated squaring."""
    n = abs(n)
    products = 0 if n < 2 else n.bit_length() - 1 + n.bit_count() - 1
    return 2 * products * math.prod(a) * a[-1]


@op(
    "matrix_power_op",
    namespaces=(),
    method=False,
    grad_name="MatrixPowerBackward0",
    flops=_flops_of_power,
)
def matrix_power_op(A: Input, n: Int):
    """Multiply a matrix with itself, ``n`` times."""
    require_matrix_shape(A, "linalg.matrix_power", square=True)
    if A.dtype != np.bool_:
        return jnp.linalg.matrix_power(A, n)
    if n > 1:
        raise NotImplementedError("\"addmm_impl_cpu_\" not implemented for 'Bool'")
    return A if n else jnp.broadcast_to(jnp.eye(A.shape[-1], dtype=bool), A.shape)


@composite("matrix_power", namespaces=("", "linalg"), other_names={"input": "A"})
def matrix_power(A: Tensor, n: int, *, out: Any = None) -> Tensor:
    """Return the ``n``-th power of square matrices; a negative n inverts.

    RuntimeError for integers and 16-bit floats to a negative power.
    """
    # PyTorch makes other powers by a last product straight into out=, which must have its dtype.
    power = abs(n)
    copied = n in (0, 1) or (power > 2 and not power & (power - 1))
    if n < 0:
        require_matrix_shape(A._read(), "linalg.matrix_power", square=True)
        A = inv(A)
        if power == 1:
            return write_out(out, A, cast=True)
    return write_out(out, matrix_power_op(A, power), cast=copied)


@op(namespaces=("", "linalg"), residuals=True, other_names={"input": "A"})
def matrix_exp(A: Input):
    """Return the matrix exponential of square matrices; in float32 for 16-bit ones."""
    if dtypes.is_half(A.dtype):
        return matrix_exp.spec.fn(A.astype(np.float32)).astype(A.dtype)
    require_matrix(A, "linalg.matrix_exp", square=True)
    if not A.size:
        return A
    return exponential(A.reshape(-1, *A.shape[-2:])).reshape(A.shape)


@op(
    "multi_dot_op",
    namespaces=(),
    method=False,
    grad_name="LinalgMultiDotBackward0",
    autocast={"cpu": "low", "cuda": "low"},
)
def multi_dot_op(tensors: Inputs):
    """Return the product of several matrices in the cheapest order."""
    count = len(tensors)
    if count < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {count}")
    for i, x in enumerate(tensors):
        if x.ndim != 2 and not (x.ndim == 1 and i in (0, count - 1)):
            raise RuntimeError(
                f"multi_dot(): tensor {i} must be {'1D or ' if i in (0, count - 1) else ''}2D but "
                f"got {x.ndim}D"
            )
    for i, (x, y) in enumerate(itertools.pairwise(tensors)):
        if x.shape[-1] != y.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(x.shape)} and "
                f"{list(y.shape)} cannot be multiplied"
            )
    return jnp.linalg.multi_dot(list(tensors))


@composite(namespaces=("linalg",), method=False)
def multi_dot(tensors: Any, *, out: Any = None) -> Tensor:
    """Return the product of two or more matrices (the first and last may be vectors), in the
    cheapest order.

    Example:
      >>> torch.linalg.multi_dot([torch.eye(2), torch.ones(2, 3), torch.ones(3)])
      tensor([3., 3.])
    """
    return multi_dot_op(list(tensors), out=out)


@composite("diagonal", namespaces=("linalg",), method=False)
def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return the diagonal of the last two dimensions, a view."""
    return diagonal(A, offset, dim1, dim2)


export(NAMESPACES[""]["matmul"], "matmul", ("linalg",))
