"""Choosing by a condition: where, masked_fill, masked_select, masked_scatter, nonzero."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core import casts, dtypes, errors
from torchlike._core.dispatch.call import NUMBERS
from torchlike._core.dispatch.out import check_overlap
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Element, Input, require_tensor
from torchlike._ops.checks import check_mask
from torchlike._ops.creation.wrap_result import finish
from torchlike._ops.elementwise.pointwise import where_op
from torchlike._ops.indexing.indexing import index_op
from torchlike._ops.outputs import write_out
from torchlike._ops.promotion import check_broadcast
from torchlike._ops.shape.joining import broadcast_tensors, to_1d
from torchlike._ops.value_checks import refuse_unfit, refuse_where, values_of
from torchlike.tensor import Tensor, wrap


@composite(method=False)
def where(
    condition: Tensor, input: Any = None, other: Any = None, *, out: Any = None, **names: Any
) -> Any:
    """Return ``input`` where ``condition`` holds, else ``other``: tensors or numbers, broadcast,
    promoted.

    With ``condition`` alone: where it is nonzero, a tuple of index tensors.

    RuntimeError for a condition that is neither bool nor uint8, and for shapes that do not
    broadcast.

    Example:
      >>> x = torch.tensor([-1.0, 2.0])
      >>> torch.where(x > 0, x, 0.0), torch.where(x > 0)
      (tensor([0., 2.]), (tensor([1]),))
    """
    input = names.pop("self", input) if input is None else input
    if names:
        raise TypeError(f"where() got an unexpected keyword argument '{next(iter(names))}'")
    require_tensor(condition, "where")
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    if input is None or other is None:
        raise TypeError(
            "where() received an invalid combination of arguments - got (Tensor, "
            f"{type(other if input is None else input).__name__}), but expected (Tensor condition) "
            "or (Tensor condition, Tensor input, Tensor other)"
        )
    if condition.dtype is dtypes.uint8:
        errors.warn_user_once(
            "where received a uint8 condition tensor. This behavior is deprecated and will be "
            "removed in a future version of PyTorch. Use a boolean condition instead."
        )
    for choice, beside in ((input, other), (other, input)):
        if type(choice) in NUMBERS:
            tensor = isinstance(beside, Tensor)
            dtype = beside.dtype if tensor else dtypes.scalar_dtype(choice)
            casts.check_choice(choice, dtype.numpy)
    return where_op(condition, input, other, out=out)


def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """Return this tensor where ``condition`` holds, else ``other``."""
    return where(condition, self, other)


composite("where", namespaces=())(_where_method)


def fill_value(value: Any, x: Any, name: str) -> jax.Array:
    """Return a fill value in the dtype of ``x``; RuntimeError for one with dimensions."""
    if jnp.ndim(value):
        raise RuntimeError(
            f"{name} only supports a 0-dimensional value tensor, but got tensor with "
            f"{jnp.ndim(value)} dimension(s)."
        )
    return casts.convert(jnp.asarray(value), x.dtype)


def _check_value(input: Any, mask: Any, value: Any) -> None:
    refuse_unfit(value, input.dtype)


def _masked_fill_in_parts(aten: Any, input: Any, mask: Any, value: Any) -> Any:
    filled = aten.scalar_tensor.default(value, dtype=input.dtype, device=input.device)
    return aten.where.self(mask, filled, input)


@op(
    inplace=True,
    check=_check_value,
    needs={"input": ["mask"], "value": ["mask"]},
    pointwise=True,
    decomposition={"Scalar": _masked_fill_in_parts},
)
def masked_fill(input: Input, mask: Input, value: Element):
    """Return ``input`` with ``value`` (a number or 0-dim tensor) where ``mask`` is True.

    The mask is of bool and broadcasts with ``input``. RuntimeError for another dtype or shape.

    Example:
      >>> torch.zeros(3).masked_fill(torch.tensor([True, False, True]), 1.0)
      tensor([1., 0., 1.])
    """
    check_mask(mask, "masked_fill_")
    check_broadcast(mask, input)
    return jnp.where(mask, fill_value(value, input, "masked_fill_"), input)


def _check_enough(input: Any, mask: Any, source: Any) -> None:
    if mask.dtype == np.bool_ and jnp.ndim(source):
        shape = np.broadcast_shapes(mask.shape, input.shape)
        copies = math.prod(shape) // max(mask.size, 1)
        wanted = values_of(mask).sum() * copies
        words = "Number of elements of source < number of ones in mask"
        refuse_where(wanted > source.size, RuntimeError, words)


@op(inplace=True, check=_check_enough, needs={"input": ["mask"], "source": ["mask"]})
def masked_scatter(input: Input, mask: Input, source: Input):
    """Return ``input`` with the elements of ``source``, in order, where ``mask`` is True."""
    if mask.dtype != np.bool_:
        name = dtypes.scalar_type(mask.dtype)
        if mask.dtype == np.uint8:
            errors.warn_user_once(
                "masked_scatter_ received a mask with dtype torch.uint8, this behavior is now "
                "deprecated,please use a mask with dtype torch.bool instead."
            )
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {name}"
        )
    if input.dtype != source.dtype:
        found = [dtypes.scalar_type(x.dtype) for x in (input, source)]
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but got "
            f"{found[0]} and {found[1]}"
        )
    check_broadcast(input, mask)
    input, mask = jnp.broadcast_arrays(input, mask)
    if not source.size:
        return input
    position = jnp.cumsum(mask.reshape(-1)) - 1
    taken = source.reshape(-1).at[position].get(mode="clip")
    return jnp.where(mask, taken.reshape(input.shape), input)


def _positions(input: Tensor, name: str) -> tuple[np.ndarray, ...]:
    """Return the positions where a tensor is nonzero, on the host: the size of the result depends
    on the values, and an executable for each size would be compiled on the device."""
    values = input._value(f"{name}() (its size depends on values)", "torchlike.where(mask, x, y)")
    return np.nonzero(values)


def _indices(part: np.ndarray, like: Tensor) -> Tensor:
    return finish(jnp.asarray(part), like.device)


@composite(
    out_refusal="nonzero: Expected out tensor to have scalar type {wanted} but got scalar type"
    "{found}",
    differentiable=False,
    tags="dynamic_output_shape.default|out",
)
def nonzero(input: Tensor, *, out: Any = None, as_tuple: Any = False) -> Any:
    """Return the indices of the nonzero elements: rows of an (n, ndim) int64 tensor, or a tuple of
    columns.

    The number of rows depends on the values: compiled functions refuse it.

    Example:
      >>> torch.tensor([[0, 7], [8, 0]]).nonzero()
      tensor([[0, 1],
              [1, 0]])
    """
    require_tensor(input, "nonzero")
    if out is not None and not isinstance(out, Tensor):
        raise TypeError(f"nonzero(): argument 'out' must be Tensor, not {type(out).__name__}")
    if as_tuple:
        if out is not None:
            raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
        return tuple(_indices(p, input) for p in _positions(to_1d(input), "nonzero"))
    if input.dim():
        rows = np.stack(_positions(input, "nonzero"), axis=1)
    else:
        rows = np.zeros((len(_positions(input.reshape(1), "nonzero")[0]), 0), np.int64)
    found = _indices(rows, input)
    # PyTorch fills the result column by column.
    if found.dim() == 2 and rows.size and rows.shape[1] > 1:
        found._storage.strides = (1, rows.shape[0])
    return write_out(out, found, name="nonzero")


@composite(tags="dynamic_output_shape")
def argwhere(input: Tensor) -> Tensor:
    """Return the indices of the nonzero elements, as ``nonzero(input)``."""
    return nonzero(input)


@composite(
    out_refusal="{name}(): self and result must have the same scalar type",
    tags="dynamic_output_shape.default|out",
)
def masked_select(input: Tensor, mask: Tensor, *, out: Any = None) -> Tensor:
    """Return the elements where ``mask`` (bool, broadcast) is True, as a vector."""
    require_tensor(input, "masked_select")
    require_tensor(mask, "masked_select")
    if mask.dtype is not dtypes.bool:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    values, chosen = broadcast_tensors(to_1d(input), to_1d(mask))
    found = [wrap(jnp.asarray(p)) for p in _positions(chosen, "masked_select")]
    selected = index_op(values, found, (True,) * values.dim())
    if out is not None:
        check_overlap(out, (input, mask), "masked_select", reorders=True)
    return write_out(out, selected, name="masked_select")
