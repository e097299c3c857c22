"""Reading at index tensors: gather, index_select, take, take_along_dim."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core import dtypes, errors
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Bool, Input, Int, require_tensor
from torchlike._ops.checks import scalar_type_of
from torchlike._ops.promotion import in_float32
from torchlike._ops.value_checks import refuse_outside
from torchlike.tensor import Tensor


def require_index(index: Any, message: str, error: Any = RuntimeError) -> None:
    """Raise the error unless ``index`` is int32 or int64."""
    if index.dtype not in (np.int32, np.int64):
        raise error(message)


def extent(x: Any, dim: int) -> tuple[int, int]:
    """Return a dimension, counted from 0, and its size; of a 0-dim array as of one element.
    IndexError for a dimension out of range."""
    d = errors.wrap_dim(dim, x.ndim)
    return d, x.shape[d] if x.ndim else 1


def check_along(index: Any, input: Any, dim: int) -> None:
    """Refuse, with RuntimeError, an index of gather or scatter that leaves ``[0, size)``: no
    wrapping there."""
    d, size = extent(input, dim)
    refuse_outside(index, 0, size, RuntimeError, out_of_bounds(d, size))


def out_of_bounds(dim: int, size: int) -> str:
    """Return the error text for the index ``{0}``."""
    return f"index {{0}} is out of bounds for dimension {dim} with size {size}"


def missing_value(x: Any) -> float | None:
    """Return the value of an out-of-range read under jit, where nothing can be raised: NaN for
    floats."""
    return jnp.nan if dtypes.kind_of(x.dtype) in "fc" else None


def _check_gather(input: Any, dim: int, index: Any, sparse_grad: Any) -> None:
    check_along(index, input, dim)


def _read_along(x: Any, index: Any, d: int) -> jax.Array:
    """Gather values along a dimension; their gradients, which are sums, are summed in float32."""
    return in_float32(
        lambda x: jnp.take_along_axis(x, index, d, mode="fill", fill_value=missing_value(x))
    )(x)


@op(needs={"input": ["index"]}, check=_check_gather, reorders=True)
def gather(input: Input, dim: Int, index: Input, *, sparse_grad: Bool = False):
    """Gather values along a dimension: ``out[i][j] = input[index[i][j]][j]`` for ``dim`` 0.

    ``index`` has as many dimensions as ``input`` and is nowhere larger except along ``dim``.
    RuntimeError for an index out of range (negative ones do not wrap).

    Example:
      >>> torch.tensor([[1, 2], [3, 4]]).gather(1, torch.tensor([[0], [1]]))
      tensor([[1],
              [4]])
    """
    d = errors.wrap_dim(dim, input.ndim)
    if index.size == 0:
        return jnp.zeros(index.shape, input.dtype)
    require_index(index, "gather(): Expected dtype int32/int64 for index")
    # A vector of one index reads a 0-dim tensor and the other way round, as in PyTorch.
    shape = index.shape
    input, index = jnp.atleast_1d(input), jnp.atleast_1d(index)
    if input.ndim != index.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for k in range(input.ndim):
        if k != d and index.shape[k] > input.shape[k]:
            raise RuntimeError(
                f"Size does not match at dimension {k} expected index {list(index.shape)} to be no "
                f"larger than self {list(input.shape)} apart from dimension {d}"
            )
    part = input[tuple(slice(None if k == d else n) for k, n in enumerate(index.shape))]
    return _read_along(part, index, d).reshape(shape)


def _check_select(input: Any, dim: int, index: Any) -> None:
    d, size = extent(input, dim)
    if d:  # PyTorch has a kernel for each of the two
        words = f"INDICES element is out of DATA bounds, id={{0}} axis_dim={size}"
        refuse_outside(index, 0, size, RuntimeError, words)
    else:
        refuse_outside(index, 0, size, IndexError, "index out of range in self")


@op(
    needs={"input": ["index"]},
    check=_check_select,
    reorders=True,
    out_refusal="{name}(): self and result must have the same scalar type",
)
def index_select(input: Input, dim: Int, index: Input):
    """Return the slices of a dimension at the positions in a vector. Out of range: IndexError for
    the first dimension, RuntimeError for others."""
    d = errors.wrap_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    require_index(index, "index_select(): Expected dtype int32 or int64 for index")
    if not input.ndim:
        if index.size != 1:
            raise RuntimeError(
                f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)"
            )
        return input
    read = jnp.atleast_1d(index)
    return in_float32(lambda x: jnp.take(x, read, d, mode="fill", fill_value=missing_value(x)))(
        input
    )


def check_flat(input: Any, index: Any, *rest: Any) -> None:
    """Refuse, with IndexError, an index of take or put that leaves the flattened tensor (negative
    ones wrap)."""
    n = input.size
    words = f"out of range: tried to access index {{0}} on a tensor of {n} elements."
    refuse_outside(index, -n, n, IndexError, words)


@op(
    needs={"input": ["index"]},
    check=check_flat,
    reorders=True,
    out_refusal="take(): self and out expected to have the same dtype, but got self.dtype = "
    "{wanted} and out.dtype = {found}",
)
def take(input: Input, index: Input):
    """Return elements of the flattened tensor. IndexError when out of range."""
    if index.dtype != np.int64:
        raise RuntimeError(
            f"take(): Expected a long tensor for index, but got {scalar_type_of(index)}"
        )
    flat = input.reshape(-1)
    return flat.at[index].get(mode="fill", fill_value=missing_value(input))


def _check_take_along(input: Any, indices: Any, dim: int) -> None:
    d, size = extent(input, dim)
    refuse_outside(indices, -size, size, RuntimeError, out_of_bounds(d, size))


@op(
    "take_along_dim_op",
    namespaces=(),
    method=False,
    needs={"input": ["indices"]},
    check=_check_take_along,
    grad_name="GatherBackward0",
)
def take_along_dim_op(input: Input, indices: Input, dim: Int):
    """Return values along a dimension at broadcast indices."""
    if input.ndim != indices.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    if indices.dtype != np.int64:
        raise RuntimeError(
            "torch.take_along_dim(): dtype of indices should be Long but got "
            f"{scalar_type_of(indices)}"
        )
    d = errors.wrap_dim(dim, input.ndim)
    return _read_along(input, indices, d)


@composite()
def take_along_dim(
    input: Tensor, indices: Tensor, dim: int | None = None, *, out: Any = None
) -> Tensor:
    """Return values along ``dim`` at ``indices`` (broadcast), such as argsort or argmax return; of
    the flattened tensor without ``dim``."""
    require_tensor(input, "take_along_dim")
    require_tensor(indices, "take_along_dim", "indices", 2)
    if dim is None:
        return take_along_dim_op(input.reshape(-1), indices.reshape(-1), 0, out=out)
    return take_along_dim_op(input, indices, dim, out=out)
