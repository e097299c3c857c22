"""Repetition and rearrangement: repeat, tile, flip, roll, rot90, repeat_interleave, diff."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from torchlike._core import dtypes, errors, layouts
from torchlike._core.dispatch.copying import array_to_device_of
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Dims, Input, Int, Shape, index_of, require_tensor
from torchlike._core.storage import device_array
from torchlike._ops.checks import scalar_type_of
from torchlike._ops.indexing.gathering import index_select
from torchlike._ops.memory_order import of_first
from torchlike._ops.outputs import write_out
from torchlike._ops.promotion import in_float32
from torchlike._ops.shape.joining import cat
from torchlike._ops.shape.views import shape_arguments, tensor_split
from torchlike._ops.shape.views.view_factory import one_argument
from torchlike._ops.value_checks import refuse_where, values_of
from torchlike.tensor import Tensor, wrap


@op(namespaces=(), needs="nothing")
def repeat(input: Input, repeats: Shape):
    """Return the tensor copied ``repeats[d]`` times along each dimension; extra ones are
    prepended.

    RuntimeError for fewer numbers than dimensions.

    Example:
      >>> torch.tensor([1, 2]).repeat(2, 2)
      tensor([[1, 2, 1, 2],
              [1, 2, 1, 2]])
    """
    if len(repeats) < input.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor"
        )
    shape = (1,) * (len(repeats) - input.ndim) + input.shape
    size = [n * r for n, r in zip(shape, repeats, strict=True)]
    if any(r < 0 for r in repeats):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {size}")
    return in_float32(lambda x: jnp.tile(x, repeats))(input)  # for the gradient, a sum


@composite()
def tile(input: Tensor, *dims: Any, **kwargs: Any) -> Tensor:
    """Repeat as ``repeat``, with missing leading repeats taken as 1."""
    times = shape_arguments(
        dims if dims and not kwargs else one_argument(dims, kwargs, "tile", "dims")
    )
    return repeat(input, (1,) * (input.dim() - len(times)) + times)


@op(
    "repeat_interleave_op",
    namespaces=(),
    method=False,
    needs="nothing",
    grad_name="RepeatInterleaveBackward0",
)
def repeat_interleave_op(input: Input, repeats: Int, dim: Int):
    """Repeat each element ``repeats`` times in a row."""
    d = errors.wrap_dim(dim, input.ndim)
    return in_float32(lambda x: jnp.repeat(x, repeats, d))(input)  # for the gradient, a sum


def _check_total(input: Any, repeats: Any, dim: int, output_size: int) -> None:
    counts = values_of(repeats)
    refuse_where(counts < 0, RuntimeError, "repeats can not be negative")
    total = counts.sum()
    refuse_where(total != output_size, RuntimeError, "allocated size does not match required size")


@op(
    "repeat_interleave_sized",
    namespaces=(),
    method=False,
    needs={"input": ["repeats"]},
    check=_check_total,
    grad_name="IndexSelectBackward0",
)
def repeat_interleave_sized(input: Input, repeats: Input, dim: Int, output_size: Int):
    """Repeat each element its own number of times; the total is known, so that it can be
    compiled."""
    repeated = in_float32(
        lambda x: jnp.repeat(x, repeats, dim, total_repeat_length=output_size)
    )  # for the gradient, a sum
    return repeated(input)


def _counts(repeats: Tensor) -> np.ndarray:
    counts = repeats._value(
        "repeat_interleave() (its size depends on values)", "repeat_interleave(..., output_size=n)"
    )
    if (counts < 0).any():
        raise RuntimeError("repeats can not be negative")
    return counts


def _check_repeats(repeats: Tensor) -> None:
    if repeats.dim() > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if repeats.dtype not in (dtypes.int64, dtypes.int32):
        raise NotImplementedError(
            '"repeat_interleave_cpu" not implemented for '
            f"'{scalar_type_of(repeats._value_now())}'"
        )


@composite(tags="dynamic_output_shape.Tensor")
def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Repeat each element (of the flattened tensor, or slice along ``dim``) in a row.

    ``repeats`` is a number or a vector of counts; with a single argument, that is the counts and
    the result the positions. ``output_size`` (the total) is needed under jit. RuntimeError for
    another total than the counts have.

    Example:
      >>> torch.tensor([1, 2]).repeat_interleave(torch.tensor([2, 1]))
      tensor([1, 1, 2])
    """
    require_tensor(input, "repeat_interleave")
    if repeats is None:
        _check_repeats(input)
        if input.dim() != 1:
            raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
        counts = _counts(input)
        positions = np.repeat(np.arange(len(counts)), counts)
        if output_size is not None and output_size != len(positions):
            raise RuntimeError("allocated size does not match required size")
        return wrap(array_to_device_of(device_array(positions.astype(input.dtype.numpy)), input))
    x, d = (input.reshape(-1), 0) if dim is None else (input, errors.wrap_dim(dim, input.dim()))
    n = x.shape[d] if x.dim() else 1
    if isinstance(repeats, (list, tuple)):
        repeats = wrap(jnp.asarray(repeats, np.int64))
    if isinstance(repeats, Tensor) and repeats.numel() == 1 and output_size is None:
        _check_repeats(repeats)
        repeats = int(_counts(repeats).reshape(-1)[0])
    if not isinstance(repeats, Tensor):
        repeats = index_of(repeats)
        if repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
        if output_size is not None and output_size != n * repeats:
            raise RuntimeError(
                f"repeat_interleave: Invalid output_size, expected {n * repeats} but got "
                f"{output_size}"
            )
        return repeat_interleave_op(x, repeats, d)
    _check_repeats(repeats)
    if repeats.dim() and repeats.numel() not in (1, n):
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{repeats.numel()} and input.size({d}) = {n}"
        )
    if output_size is not None:
        if output_size < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {output_size}: [{output_size}]"
            )
        return repeat_interleave_sized(x, repeats.expand(n), d, output_size)
    positions = np.repeat(np.arange(n), _counts(repeats))
    return index_select(x, d, wrap(jnp.asarray(positions)))


@op(
    "flip_op",
    namespaces=(),
    method=False,
    needs="nothing",
    elementwise=True,
    grad_name="FlipBackward0",
)
def flip_op(input: Input, dims: Shape):
    """Reverse the order along dimensions."""
    wrapped = [errors.wrap_dim(d, input.ndim) for d in dims]
    for d in wrapped:
        if wrapped.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return jnp.flip(input, wrapped) if input.ndim else input


@composite()
def flip(input: Tensor, *dims: Any, **kwargs: Any) -> Tensor:
    """Return a copy with the order reversed along ``dims``.

    IndexError for a dimension out of range, RuntimeError for one that is named twice.

    Example:
      >>> torch.arange(3).flip(0)
      tensor([2, 1, 0])
    """
    return flip_op(
        input,
        shape_arguments(
            dims if dims and not kwargs else one_argument(dims, kwargs, "flip", "dims")
        ),
    )


@composite()
def fliplr(input: Tensor) -> Tensor:
    """Return a copy with columns in reversed order."""
    require_tensor(input, "fliplr")
    if input.dim() < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip_op(input, (1,))


@composite()
def flipud(input: Tensor) -> Tensor:
    """Return a copy with rows in reversed order."""
    require_tensor(input, "flipud")
    if input.dim() < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip_op(input, (0,))


@op(needs="nothing", memory_order=of_first)
def roll(input: Input, shifts: Shape, dims: Dims = ()):
    """Move elements along dimensions (of the flattened tensor without ``dims``), round the end."""
    dims = (dims,) if isinstance(dims, int) else tuple(dims or ())
    if not shifts:
        raise RuntimeError("`shifts` required")
    if not dims and len(shifts) == 1:
        return jnp.roll(input.reshape(-1), shifts[0]).reshape(input.shape)
    if len(shifts) != len(dims):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}"
        )
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    axes = tuple(errors.wrap_dim(d, input.ndim) for d in dims)
    return jnp.roll(input, shifts, axes)


@composite()
def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """Rotate by 90 degrees ``k`` times, from the first of two dimensions toward the second."""
    require_tensor(input, "rot90")
    plane = shape_arguments((dims,))
    if len(plane) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(plane)}")
    if input.dim() < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.dim()}")
    a, b = plane
    if errors.wrap_dim(a, input.dim()) == errors.wrap_dim(b, input.dim()):
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {a} and dim1 = {b}"
        )
    turns = k % 4
    if turns == 0:
        return input.clone(memory_format=layouts.contiguous_format)
    if turns == 2:
        return flip_op(input, plane)
    return flip_op(input, (b if turns == 1 else a,)).transpose_(a, b)


def _split_along(name: str, at_least: int, dim_of: Any) -> None:
    def function(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
        if input.dim() < at_least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {at_least} dimension"
                f"{'s' if at_least > 1 else ''}, but got a tensor with {input.dim()} dimensions!"
            )
        d = dim_of(input)
        n = input.shape[d]
        if isinstance(indices_or_sections, int) and (
            indices_or_sections == 0 or n % indices_or_sections
        ):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {d}, but the size of the "
                f"dimension {n} is not divisible by the split_size {indices_or_sections}!"
            )
        return tensor_split(input, indices_or_sections, d)

    function.__doc__ = "Split as ``tensor_split`` along a fixed dimension, into equal sections."
    other_names: dict[str, str] = dict.fromkeys(("indices", "sections"), "indices_or_sections")
    composite(name, other_names=other_names)(function)


_split_along("hsplit", 1, lambda t: 0 if t.dim() == 1 else 1)
_split_along("vsplit", 2, lambda t: 0)
_split_along("dsplit", 3, lambda t: 2)


@op("diff_op", namespaces=(), method=False, needs="nothing", grad_name="DiffBackward0")
def diff_op(input: Input, n: Int, dim: Int):
    """Return the differences of neighbours, n times; XOR for bools."""
    d = errors.wrap_dim(dim, input.ndim)
    x = input
    for _ in range(min(n, x.shape[d])):
        size = x.shape[d]
        head = tuple(slice(1, None) if k == d else slice(None) for k in range(x.ndim))
        tail = tuple(slice(0, size - 1) if k == d else slice(None) for k in range(x.ndim))
        x = x[head] ^ x[tail] if x.dtype == np.bool_ else x[head] - x[tail]
    return x


@composite()
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: Any = None,
) -> Tensor:
    """Return the ``n``-th differences of neighbours along ``dim``, with ``prepend`` and ``append``
    joined on first."""
    require_tensor(input, "diff")
    if not input.dim():
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if n == 0:
        return write_out(out, input.clone())
    for t in (prepend, append):
        if t is not None and t.dim() != input.dim():
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    parts = [t for t in (prepend, input, append) if t is not None]
    joined = cat(parts, dim) if len(parts) > 1 else input
    return write_out(out, diff_op(joined, n, dim), cast=True)


@composite(namespaces=())
def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """Sum so that broadcasting the result gives ``input``'s shape back."""
    wanted = shape_arguments(size)
    have = tuple(input.shape)
    lead = len(have) - len(wanted)
    fits = lead >= 0 and all(b in (1, a) for a, b in zip(have[lead:], wanted, strict=True))
    if not fits:
        raise RuntimeError(f"size {{{list(wanted)}}} is not expandable to size {{{list(have)}}}.")
    over = list(range(lead))
    over += [lead + d for d, n in enumerate(wanted) if n == 1 and have[lead + d] != 1]
    # With nothing to sum over PyTorch still calls sum(), which turns bools into counts.
    return (input.sum(over, True) if over or not have else input).reshape(wanted)


@composite(method=False, python_signature="indices | shape")
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Convert flat indices to a tuple of coordinates in a shape.

    TypeError for a shape or indices that are not integers, ValueError for a negative size.
    """
    require_tensor(indices, "unravel_index", "indices")
    parts = (shape,) if isinstance(shape, int) else shape
    if not isinstance(parts, (tuple, list)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    for n in parts:
        if not hasattr(n, "__index__"):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(n)}")
    sizes = shape_arguments((shape,))
    if indices.dtype.category != 1:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if any(n < 0 for n in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    strides = [math.prod(sizes[d + 1 :]) for d in range(len(sizes))]
    return tuple(
        indices.div(s, rounding_mode="floor") % n for s, n in zip(strides, sizes, strict=True)
    )
