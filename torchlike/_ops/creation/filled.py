"""Filled tensors: ``zeros``, ``ones``, ``empty``, ``full``, ``eye``, and those like another one."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core import casts, devices, dtypes, errors, layouts, modes, overrides, views
from torchlike._core.dispatch.registry import composite
from torchlike._core.errors import allocating, check_bytes, check_count
from torchlike._core.overrides import TENSOR_TYPES
from torchlike._core.storage import host_value
from torchlike._extensions import boxes
from torchlike._extensions.meta import MetaArray
from torchlike._extensions.sparse_array import KINDS as SPARSE_KINDS
from torchlike._extensions.sparse_array import CompressedArray
from torchlike._ops.creation import determinism
from torchlike._ops.creation.wrap_result import (
    checked_size,
    finish,
    finish_into,
    numpy_dtype,
    out_dtype,
    preserve_strides,
)
from torchlike._ops.outputs import write_out
from torchlike._ops.shape.views import shape_arguments
from torchlike._ops.value_checks import refuse_unfit_tensor
from torchlike._runtime import first_calls, mixed_operands
from torchlike._runtime.first_calls.program import MOST_DIMENSIONS
from torchlike._runtime.inlining import AT_ONCE
from torchlike.tensor import Tensor

_NOT_GIVEN: Any = object()
#: In place of a value: whatever new memory is filled with.
_UNWRITTEN: Any = object()
#: Sparse layout -> ``make(size, dtype, device, like)``, a tensor without elements, with as many
#: dense dimensions as ``like`` (a tensor or None). Filled by the room of sparse tensors.
WITHOUT_ELEMENTS: dict[Any, Callable[..., Tensor]] = {}


def _sparse_zeros(
    layout: Any,
    shape: tuple[int, ...],
    dtype: np.dtype,
    device: Any,
    requires_grad: Any,
    value: Any,
    like: Tensor | None = None,
) -> Tensor | None:
    """Return zeros in a sparse layout; None for another layout, or for values other than zero."""
    if layout not in WITHOUT_ELEMENTS or not (value is _UNWRITTEN or value == 0):
        return None
    made = WITHOUT_ELEMENTS[layout](shape, dtypes.from_numpy_dtype(dtype), device, like)
    return made.requires_grad_() if requires_grad else made


def _own_layout(t: Tensor) -> Any:
    """Return the layout for tensors made like this one: None for the strided layout."""
    return t.layout if type(t._storage.cell) in SPARSE_KINDS else None  # type: ignore[attr-defined]


@functools.cache
def _full_array(shape: tuple[int, ...], dtype: Any) -> Any:
    return first_calls.jit(
        lambda value: jnp.full(shape, casts.convert(jnp.asarray(value), dtype)),
        name="full",
        inline=AT_ONCE,
    )


def filled(shape: tuple[int, ...], value: Any, dtype: np.dtype, device: Any = None) -> Any:
    """Return an array filled with one value. NumPy makes small ones quicker than a dispatch does.

    RuntimeError for a size that overflows, OutOfMemoryError for memory that cannot be had.
    """
    if devices.resolve(device).type == "meta":
        check_bytes(shape, dtype.itemsize)
        return MetaArray(shape, dtype)
    count = math.prod(shape)
    if (
        modes.current.capture is None  # asked first: in one, sizes may be symbols
        and count <= 1 << 16
        and len(shape) <= MOST_DIMENSIONS
    ):
        if not count:
            check_count(shape)
        return host_value(np.full(shape, value, dtype))
    with allocating(shape, dtype):
        return _full_array(shape, dtype)(value)


def sized(size: tuple[Any, ...], named: dict[str, Any], name: str) -> tuple[int, ...]:
    """Return the shape given in ``f(2, 3)``, ``f((2, 3))`` or ``f(size=(2, 3))``. TypeError for
    other names."""
    if not size and "size" in named:
        size = (named.pop("size"),)
    if named:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(named))}'")
    _require_size(size, name)
    return checked_size(size, name)


def _require_size(size: tuple[Any, ...], name: str) -> None:
    """Refuse a call without a size; a 0-dim tensor is asked for by ``size=()``."""
    if not size:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')


def _filled_function(name: str, value: Any) -> Callable[..., Tensor]:
    def function(
        *size: Any,
        out: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: Any = False,
        pin_memory: Any = False,
        **kw: Any,
    ) -> Tensor:
        shape = sized(size, kw, name)
        kind = out_dtype(out, dtype)
        if layout is None and isinstance(out, Tensor):
            layout = _own_layout(out)
        if layout is not None:
            made = _sparse_zeros(layout, shape, kind, device, requires_grad, value)
            if made is not None:
                return made if out is None else write_out(out, made)
        fill = determinism.in_new_memory(kind) if value is _UNWRITTEN else value
        return finish_into(out, filled(shape, fill, kind, device), device, requires_grad, layout)

    function.__doc__ = f"""Return a tensor of the given size, filled with {value}.

    The size is numbers or one sequence of them. RuntimeError for a negative one.

    Example:
      >>> torch.{name}(2, 3).shape, torch.{name}((4,), dtype=torch.int64).dtype
      (torch.Size([2, 3]), torch.int64)
    """
    return function


zeros = composite("zeros", method=False)(_filled_function("zeros", 0))
ones = composite("ones", method=False)(_filled_function("ones", 1))
_in_row_major = _filled_function("empty", _UNWRITTEN)


@composite(method=False)
def empty(
    *size: Any,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: Any = False,
    pin_memory: Any = False,
    memory_format: Any = None,
    **kw: Any,
) -> Tensor:
    """Return a tensor of the given size, in memory in the order of ``memory_format``.

    RuntimeError for ``preserve_format``, and for channels last with another number of dimensions
    than images have.

    Differs from PyTorch: filled with zeros rather than whatever was in memory (under
    ``use_deterministic_algorithms`` with NaN and the like, as in PyTorch).

    Example:
      >>> torch.empty(2, 3).shape
      torch.Size([2, 3])
    """
    made = _in_row_major(
        *size, out=out, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad, **kw
    )
    if memory_format is None:
        return made
    if not isinstance(memory_format, layouts.memory_format):
        raise TypeError(
            "empty(): argument 'memory_format' must be torch.memory_format, not "
            f"{type(memory_format).__name__}"
        )
    if memory_format is layouts.preserve_format:
        raise RuntimeError("unsupported memory format Preserve")
    if out is not None and memory_format is not layouts.contiguous_format:
        raise NotImplementedError("empty(memory_format=…, out=…): leave one of them out")
    preserve_strides(made, made, memory_format)
    return made


def _fill_number(value: Any, dtype: np.dtype, shape: Sequence[int], name: str) -> Any:
    """Return the fill value of ``full`` and its like as an array's element. TypeError for a tensor
    of more than one number, and for one that requires grad, which would get none."""
    if isinstance(value, Tensor):
        if value.dim() or value.requires_grad:
            raise TypeError(
                f"{name}(): argument 'fill_value' (position 2) must be Number, not Tensor"
            )
        refuse_unfit_tensor(value, dtype)
        return casts.convert(value._read(), dtype)
    _check_number(value, name)
    if (symbolic := casts.of_program(value)) is not None:
        return casts.convert(symbolic, dtype)
    if isinstance(value, np.generic):
        value = value.item()
    return casts.number(value, dtype, math.prod(shape)) if type(value) in casts.NUMBERS else value


def _dtype_of_number(value: Any, name: str) -> dtypes.dtype:
    """Return the dtype inferred from a number, or from a tensor taken for one: its kind, not its
    width."""
    if not isinstance(value, Tensor):
        _check_number(value, name)
        return dtypes.scalar_dtype(value)
    return dtypes.scalar_dtype((False, 0, 0.0, 0j)[value.dtype.category])


def _check_number(value: Any, name: str) -> None:
    if not isinstance(value, (bool, int, float, complex, np.number, np.bool_, jax.Array)):
        raise TypeError(
            f"{name}(): argument 'fill_value' (position 2) must be Number, not "
            f"{type(value).__name__}"
        )


@composite(method=False)
def full(
    size: Any,
    fill_value: Any,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: Any = False,
    pin_memory: Any = False,
) -> Tensor:
    """Return a tensor of the given size filled with a number (whose type decides the dtype).

    RuntimeError for a negative size.

    Example:
      >>> torch.full((2, 2), 7)
      tensor([[7, 7],
              [7, 7]])
    """
    shape = checked_size((size,), "full")
    kind = out_dtype(out, dtype, _dtype_of_number(fill_value, "full"))
    array = filled(shape, _fill_number(fill_value, kind, shape, "full"), kind, device)
    return finish_into(out, array, device, requires_grad, layout)


def _like(name: str, default: Any) -> None:
    def function(
        input: Tensor,
        *args: Any,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: Any = False,
        pin_memory: Any = False,
        memory_format: Any = None,
        **kw: Any,
    ) -> Tensor:
        if not isinstance(input, Tensor):
            raise overrides.no_tensor(
                input,
                f"{name}(): argument 'input' (position 1) must be Tensor, not "
                f"{type(input).__name__}",
            )
        if type(input) not in TENSOR_TYPES:  # a lazy module's
            raise ValueError(errors.uninitialized(name))
        value = default
        if default is _NOT_GIVEN:
            value = args[0] if args else kw.pop("fill_value")
        if kw:
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(kw))}'")
        target = numpy_dtype(dtype, input.dtype)
        if layout is None:
            layout = _own_layout(input)
        of_own_kind = layout is not layouts.sparse_coo or default != 0
        if layout is not None and of_own_kind and type(input._storage.cell) is CompressedArray:
            compressed: Any = input
            made = compressed._filled(None if value is _UNWRITTEN else value, layout)
            made = made.to(dtype=dtypes.from_numpy_dtype(target), device=device)
            return made.requires_grad_() if requires_grad else made
        if layout is not None and default is not _NOT_GIVEN:
            size = tuple(input.shape)
            found = _sparse_zeros(layout, size, target, device, requires_grad, default, input)
            if found is not None:
                return found
        if default is _NOT_GIVEN:
            value = _fill_number(value, target, tuple(input.shape), name)
        elif default is _UNWRITTEN:
            value = determinism.in_new_memory(target)
        device = device or input.device
        array = filled(tuple(input.shape), value, target, device)
        made = finish(array, device, requires_grad, layout)
        if type(input._storage.cell) not in SPARSE_KINDS:
            preserve_strides(made, input, memory_format)
        return boxes.lifted_as(mixed_operands.alike.function(made, input), input)

    function.__doc__ = f"""Return ``{name.removesuffix("_like")}`` with the size and dtype of
    ``input``.

    Device, layout and memory order are those of ``input``, too, unless they are given.
    """
    composite(name, method=False, pointwise=True, differentiable=False)(function)


_like("zeros_like", 0)
_like("ones_like", 1)
_like("empty_like", _UNWRITTEN)
_like("full_like", _NOT_GIVEN)


def _new(name: str, value: Any) -> None:
    def method(
        self: Tensor,
        *size: Any,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: Any = False,
        pin_memory: Any = False,
        **kw: Any,
    ) -> Tensor:
        if not size and "size" in kw:
            size = (kw.pop("size"),)
        fill = value
        if value is _NOT_GIVEN:
            fill = kw.pop("fill_value") if "fill_value" in kw else size[1]
            size = size[:1]
        if kw:
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(kw))}'")
        _require_size(size, name)
        shape = checked_size(size, name)
        device = device or self.device
        target = numpy_dtype(dtype, self.dtype)
        if layout is None:
            layout = _own_layout(self)
        if layout is not None and value is not _NOT_GIVEN:
            found = _sparse_zeros(layout, shape, target, device, requires_grad, value)
            if found is not None:
                return found
        if value is _NOT_GIVEN:
            fill = _fill_number(fill, target, shape, name)
        elif value is _UNWRITTEN:
            fill = determinism.in_new_memory(target)
        array = filled(shape, fill, target, device)
        made = finish(array, device, requires_grad, layout)
        return boxes.lifted_as(mixed_operands.alike.function(made, self), self)

    method.__doc__ = f"Return ``{name.removeprefix('new_')}`` with this tensor's dtype and device."
    composite(name, namespaces=())(method)


_new("new_zeros", 0)
_new("new_ones", 1)
_new("new_empty", _UNWRITTEN)
_new("new_full", _NOT_GIVEN)


@composite(method=False, differentiable=False)
def empty_strided(
    size: Any,
    stride: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: Any = False,
    pin_memory: Any = False,
) -> Tensor:
    """Return a tensor with the given strides, filled as ``empty`` fills it."""
    shape, strides = shape_arguments((size,)), shape_arguments((stride,))
    if len(shape) != len(strides):
        raise RuntimeError(
            f"dimensionality of sizes ({len(shape)}) must match dimensionality of "
            f"strides ({len(strides)})"
        )
    if any(n < 0 for n in shape):
        raise RuntimeError(
            f"Trying to create tensor with negative dimension "
            f"{next(n for n in shape if n < 0)}: {list(shape)}"
        )
    if any(s < 0 for s in strides):
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(shape)} and "
            f"strides={list(strides)}"
        )
    order = views.dense_order(shape, strides)
    made = empty(shape, dtype=dtype, device=device, requires_grad=requires_grad)
    if views.dense_strides(shape, order) == strides:
        made._storage.strides = None if strides == views.contiguous_strides(shape) else strides
        return made
    steps = sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    reach = 0 if 0 in shape else 1 + steps
    return empty(reach, dtype=dtype, device=device).as_strided(shape, strides)


@composite(method=False)
def eye(
    n: int,
    m: int | None = None,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: Any = False,
) -> Tensor:
    """Return the identity matrix of n rows (and m columns).

    RuntimeError for a negative number.

    Example:
      >>> torch.eye(2, 3)
      tensor([[1., 0., 0.],
              [0., 1., 0.]])
    """
    for name, count in (("n", n), ("m", m)):
        if count is not None and count < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {count}")
    kind = out_dtype(out, dtype)
    shape = (n, n if m is None else m)
    if devices.resolve(device).type == "meta":
        check_bytes(shape, kind.itemsize)
        values: Any = MetaArray(shape, kind)
    else:
        with allocating(shape, kind):
            values = host_value(np.eye(*shape, dtype=kind))
    return finish_into(out, values, device, requires_grad, layout)
