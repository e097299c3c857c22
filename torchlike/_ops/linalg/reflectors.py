"""Products with the Q of a QR factorization, without making it."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Bool, Input
from torchlike._ops.checks import scalar_type_of
from torchlike._ops.linalg.decompositions import adjoint, require_matrix
from torchlike._ops.memory_order import solution_in_columns
from torchlike.tensor import Tensor


def _check(a: Any, tau: Any, other: Any, left: bool) -> None:
    if a.ndim < 2:
        raise RuntimeError("torch.ormqr: input must have at least 2 dimensions.")
    if other.ndim < 2:
        raise RuntimeError("torch.ormqr: other must have at least 2 dimensions.")
    require_matrix(a, "torch.ormqr", "input")
    side = -2 if left else -1
    if other.shape[side] < tau.shape[-1]:
        raise RuntimeError(
            f"torch.ormqr: other.shape[{side}] must be greater than or equal to tau.shape[-1]"
        )
    if other.shape[side] != a.shape[-2]:
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]")
    if tau.shape[-1] != min(other.shape[side], a.shape[-1]):
        raise RuntimeError(
            f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])"
        )
    if a.ndim != tau.ndim + 1:
        raise RuntimeError(
            "torch.ormqr: Expected tau to have one dimension less than input, but got tau.ndim "
            f"equal to {tau.ndim} and input.ndim is equal to {a.ndim}"
        )
    if a.ndim != other.ndim:
        raise RuntimeError(
            "torch.ormqr: Expected other to have the same number of dimensions as input, but got "
            f"other.ndim equal to {other.ndim} and input.ndim is equal to {a.ndim}"
        )
    for name, x in (("tau", tau), ("other", other)):
        if a.shape[:-2] != x.shape[: a.ndim - 2]:
            raise RuntimeError(
                f"torch.ormqr: Expected batch dimensions of {name} to be equal to "
                f"input.shape[:-2], but got {list(x.shape)}"
            )
        if x.dtype != a.dtype:
            raise RuntimeError(
                f"torch.ormqr: Expected input and {name} to have the same dtype, but input has "
                f"dtype {scalar_type_of(a)} and {name} has dtype {scalar_type_of(x)}"
            )


@op(
    "ormqr_op",
    memory_order=solution_in_columns,
    namespaces=(),
    method=False,
    grad_name="OrmqrBackward0",
    autocast={"cpu": "float32"},
)
def ormqr_op(input: Input, tau: Input, other: Input, left: Bool, transpose: Bool):
    """Multiply Q or its adjoint by a matrix, one reflector after the other."""
    _check(input, tau, other, left)
    c = other
    count, rows = tau.shape[-1], input.shape[-2]
    # Q = H_0 H_1 …: from the left the last reflector acts first.
    order = range(count) if transpose == left else reversed(range(count))
    for i in order:
        head = jnp.zeros((*input.shape[:-2], min(i, rows)), input.dtype)
        one = jnp.ones((*input.shape[:-2], 1 if i < rows else 0), input.dtype)
        v = jnp.concatenate([head, one, input[..., i + 1 :, i]], -1)[..., None]
        factor = tau[..., i, None, None]
        factor = jnp.conj(factor) if transpose else factor
        if left:
            c = c - factor * v @ (adjoint(v) @ c)
        else:
            c = c - factor * (c @ v) @ adjoint(v)
    return c


@composite(other_names={"input2": "tau", "input3": "other"})
def ormqr(
    input: Tensor,
    tau: Tensor,
    other: Tensor,
    left: Any = True,
    transpose: Any = False,
    *,
    out: Any = None,
) -> Tensor:
    """Return Q @ other (other @ Q unless ``left``; the adjoint of Q if ``transpose``), Q given by
    the reflectors and factors of ``geqrf``. RuntimeError for shapes and dtypes that do not fit.
    """
    return ormqr_op(input, tau, other, bool(left), bool(transpose), out=out)
