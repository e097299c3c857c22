"""Copies and conversions: clone, contiguous, to and its short forms, fill_, copy_."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from torchlike._core import casts, devices, dtypes, errors, layouts, modes
from torchlike._core.dispatch.copying import copy_, tensor_to_device
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Fill, Input, Static, require_tensor
from torchlike._extensions.meta import MetaArray
from torchlike._ops.creation.wrap_result import finish, numpy_dtype, preserve_strides
from torchlike._ops.memory_order import suggested_order
from torchlike._ops.value_checks import refuse_unfit_tensor
from torchlike.tensor import Tensor, add_method, wrap


@op(
    "clone_op",
    namespaces=(),
    method=False,
    needs="nothing",
    copies=True,
    grad_name="CloneBackward0",
)
def clone_op(input: Input):
    """Return the same value, for a storage cell of its own: immutable arrays need no copy until a
    write."""
    return input


@op(
    "cast_op",
    namespaces=(),
    method=False,
    needs="nothing",
    takes_uninitialized=True,
    grad_name="ToCopyBackward0",
)
def cast_op(input: Input, dtype: Static):
    """Convert to a dtype."""
    return casts.convert(input, dtype)


@composite(only_self=True)
def clone(input: Tensor, *, memory_format: Any = layouts.preserve_format) -> Tensor:
    """Return a copy with the same values and (by default) the same memory order.

    Example:
      >>> x = torch.zeros(2)
      >>> x.clone().add_(1), x
      (tensor([1., 1.]), tensor([0., 0.]))
    """
    if not isinstance(input, Tensor):
        raise TypeError(
            f"clone(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )
    if input.is_sparse:
        return input.clone()  # its own: there is no memory order to keep
    copy = _clone_value(input)
    if memory_format is not None:
        preserve_strides(copy, input, memory_format)
    return copy


def _clone_value(t: Tensor) -> Tensor:
    if t.requires_grad and modes.current.grad_enabled:
        return clone_op(t)
    # Sharing the immutable array is a copy: a write through either cell makes a new one.
    made = wrap(t._value_now())
    made._inference = bool(modes.current.inference)
    return made


@composite(namespaces=(), only_self=True)
def contiguous(input: Tensor, memory_format: Any = layouts.contiguous_format) -> Tensor:
    """Return the tensor itself if it is contiguous, else a row-major (or channels-last) copy.

    Example:
      >>> x = torch.zeros(2, 3).T
      >>> x.is_contiguous(), x.contiguous().stride()
      (False, (2, 1))
    """
    if input.is_contiguous(memory_format):
        return input
    return clone(input, memory_format=memory_format)


def cast(t: Tensor, dtype: dtypes.dtype) -> Tensor:
    """Return ``t`` in another dtype, or ``t`` itself when it already has that dtype."""
    if t.dtype is dtype:
        return t
    if t.dtype.is_complex and not dtype.is_complex and dtype is not dtypes.bool:
        errors.warn_user_once("Casting complex values to real discards the imaginary part")
    made = cast_op(t, dtype.numpy)
    if t._view is not None or t._storage.strides is not None:
        preserve_strides(made, t)
    return made


def _move(t: Tensor, device: devices.device) -> Tensor:
    if device.type == "meta":
        return t if t.is_meta else _without_values(t)
    if t.is_meta:
        raise NotImplementedError(errors.NO_DATA)
    devices.to_jax(device)  # for its errors
    own = t.device
    if own == device or (device.index is None and own.type == device.type and not own.index):
        return t
    made = tensor_to_device(t, device)
    if t._view is not None or t._storage.strides is not None:
        preserve_strides(made, t)
    return made


def _without_values(t: Tensor) -> Tensor:
    """Return a leaf of the same geometry on the meta device."""
    made = wrap(MetaArray(t._geometry.size, t.dtype.numpy))
    preserve_strides(made, t)
    made._requires_grad = t.requires_grad and modes.current.grad_enabled
    return made


_TO = frozenset(("tensor", "device", "dtype", "non_blocking", "copy", "memory_format"))


def wanted_by_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Return the dtype, device, copy flag and memory format that the arguments of ``to`` name.

    TypeError for arguments that do not fit.
    """
    rest, found = list(args), {}
    if rest and isinstance(rest[0], Tensor):
        found["tensor"] = rest.pop(0)
    elif rest and dtypes.is_argument(rest[0]):
        found["dtype"] = rest.pop(0)
    elif rest and (rest[0] is None or isinstance(rest[0], (str, int, devices.device))):
        found["device"] = rest.pop(0)
        if rest and (rest[0] is None or dtypes.is_argument(rest[0])):
            found["dtype"] = rest.pop(0)
    if rest:  # every transfer is asynchronous; reading a value waits
        for name in ("non_blocking", "copy"):
            if rest and isinstance(rest[0], bool):
                found[name] = rest.pop(0)
    wrong: Any = rest
    if kwargs:
        wrong = rest or found.keys() & kwargs.keys() or kwargs.keys() - _TO
        found.update(kwargs)
    model = found.get("tensor")
    dtype, device = found.get("dtype"), found.get("device")
    if model is not None and (dtype is not None or device is not None):
        wrong = True
    if wrong:
        kinds = [type(a).__name__ for a in args]
        kinds += [f"{name}={type(a).__name__}" for name, a in kwargs.items()]
        raise TypeError(
            f"to() received an invalid combination of arguments - got ({', '.join(kinds)})"
        )
    if model is not None:
        dtype, device = model.dtype, model.device
    return (
        None if dtype is None else dtypes.from_argument(dtype),
        None if device is None else devices.resolve(device),
        found.get("copy", False),
        found.get("memory_format"),
    )


@composite(namespaces=())
def to(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Return the tensor in another dtype or on another device: ``to(dtype)``, ``to(device)``,
    ``to(device, dtype)``, ``to(other)``, and the same by keyword.

    The tensor itself when nothing changes (unless ``copy``).

    RuntimeError for a device that there is not.

    Example:
      >>> torch.tensor([1.9, -1.9]).to(torch.int64)
      tensor([ 1, -1])
    """
    dtype, device, copy, memory_format = wanted_by_to(args, kwargs)
    result = input
    if device is not None:
        result = _move(result, device)
    if dtype is not None:
        result = cast(result, dtype)
    if memory_format is not None and memory_format is not layouts.preserve_format:
        order = suggested_order(result._geometry) or tuple(range(result.dim()))
        if order != memory_format.order_of_new(result.dim()):
            result = clone(result, memory_format=memory_format)
    return clone(result) if copy and result is input else result


@composite(namespaces=("aten",), method=False)
def _to_copy(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    non_blocking: Any = False,
    memory_format: Any = None,
) -> Tensor:
    """Return a copy in another dtype, on another device or in another memory order."""
    return to(input, device, dtype, copy=True, memory_format=memory_format)


@composite(namespaces=("aten",), method=False)
def alias(input: Tensor) -> Tensor:
    """Return a view of all of a tensor."""
    return input.view_as(input)


@composite(namespaces=("aten",), method=False)
def _pin_memory(input: Tensor, device: Any = None) -> Tensor:
    """Call ``Tensor.pin_memory``."""
    return input.pin_memory(device)


@composite(namespaces=())
def cpu(input: Tensor, memory_format: Any = None) -> Tensor:
    """Return the tensor on the CPU, as ``to("cpu")`` does."""
    return to(input, devices.CPU)


@composite(namespaces=())
def cuda(input: Tensor, device: Any = None, non_blocking: Any = False) -> Tensor:
    """Return the tensor on the GPU, as ``to("cuda")`` does. RuntimeError naming JAX's backends when
    there is no GPU."""
    return to(input, devices.device("cuda") if device is None else devices.resolve(device))


@composite("type", namespaces=())
def type_op(input: Tensor, dtype: Any = None, non_blocking: Any = False) -> Any:
    """Return the type's name (``torch.FloatTensor``), or the tensor converted to a dtype."""
    if dtype is None:
        place = "" if input.device.type == "cpu" else f"{input.device.type}."
        return f"torch.{place}{dtypes.scalar_type(input.dtype)}Tensor"
    if isinstance(dtype, str):
        name = dtype.removeprefix("torch.").removesuffix("Tensor")
        found = next((d for d in dtypes.ALL if dtypes.scalar_type(d) == name), None)
        if found is None:
            raise ValueError(f"invalid type: '{dtype}'")
        return cast(input, found)
    if not isinstance(dtype, dtypes.dtype):  # a legacy class, as torch.LongTensor
        dtype = getattr(dtype, "dtype", dtype)
    if not isinstance(dtype, dtypes.dtype):  # not even Python's float: a type here is a class
        raise ValueError(f"invalid type: '{getattr(dtype, '__name__', type(dtype).__name__)}'")
    return cast(input, dtype)


def _short_form(name: str, dtype: dtypes.dtype) -> None:
    def method(self: Tensor, memory_format: Any = None) -> Tensor:
        return cast(self, dtype)

    method.__name__ = name
    method.__doc__ = f"Convert as ``to({dtype!r})``."
    add_method(name, method)


for _name, _dtype in dtypes.BY_METHOD.items():
    _short_form(_name, _dtype)


@composite(namespaces=())
def type_as(input: Tensor, other: Tensor) -> Tensor:
    """Return the tensor in the dtype and on the device of ``other``."""
    return to(input, other)


# -- in-place writes -------------------------------------------------------------------------------


@op("fill", inplace=True, needs="nothing", writes_one_number=True, pointwise=True)
def fill(input: Input, value: Fill):
    """Return ``input`` with every element replaced by a number or 0-dim tensor."""
    if jnp.ndim(value):
        raise RuntimeError(
            "fill_ only supports 0-dimension value tensor but got tensor with "
            f"{jnp.ndim(value)} dimensions."
        )
    return jnp.full(input.shape, casts.convert(jnp.asarray(value), input.dtype))


@op(
    "zero_op",
    namespaces=(),
    method=False,
    inplace=True,
    needs="nothing",
    grad_name="ZeroBackward0",
    writes_one_number=True,
)
def zero_op(input: Input):
    """Return zeros in the shape and dtype of ``input``."""
    return jnp.zeros(input.shape, input.dtype)


@composite()
def zero_(input: Tensor) -> Tensor:
    """Set every element to zero.

    Returns the tensor. RuntimeError for a leaf that requires grad, unless in ``no_grad``.

    Example:
      >>> torch.ones(2).zero_()
      tensor([0., 0.])
    """
    return zero_op.spec.in_place(input)


add_method("copy_", copy_)


@composite(namespaces=())
def fill_diagonal_(input: Tensor, fill_value: Any, wrap: Any = False) -> Tensor:
    """Set the main diagonal of a matrix to ``fill_value``."""
    if input.dim() < 2:
        raise RuntimeError("dimensions must larger than 1")
    if input.dim() > 2 and len(set(input.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    if isinstance(fill_value, Tensor):
        if fill_value.dim():
            raise TypeError(
                "fill_diagonal_(): argument 'fill_value' (position 1) must be Number, not Tensor"
            )
        refuse_unfit_tensor(fill_value, input.dtype.numpy)
        fill_value = fill_value.to(input.dtype)
    if type(fill_value) in casts.NUMBERS:
        casts.check_fill(fill_value, input.dtype.numpy, min(input.shape))
    index = np.arange(min(input.shape))
    rows = (index,) * input.dim()
    if wrap and input.dim() == 2 and input.shape[0] > input.shape[1] + 1:
        # A tall matrix: a new diagonal begins one row below the end of the last.
        flat = np.arange(0, input.numel(), input.shape[1] + 1)
        rows = np.unravel_index(flat, tuple(input.shape))
    input[tuple(rows)] = fill_value
    return input


@composite(namespaces=())
def pin_memory(input: Tensor, device: Any = None) -> Tensor:
    """Return the tensor itself: JAX manages transfers. RuntimeError for one that is not on the
    CPU."""
    if input.device.type not in ("cpu", "meta"):
        raise RuntimeError(f"cannot pin '{input.type()}' only dense CPU tensors can be pinned")
    return input


@composite()
def resolve_conj(input: Tensor) -> Tensor:
    """Return the tensor with a lazy conjugation carried out."""
    require_tensor(input, "resolve_conj")
    return clone(input) if input._view is not None and input._view.is_conjugated else input


@composite()
def resolve_neg(input: Tensor) -> Tensor:
    """Return the tensor with a lazy negation carried out."""
    require_tensor(input, "resolve_neg")
    return clone(input) if input._view is not None and input._view.is_negated else input


@composite(method=False, differentiable=False)
def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None, requires_grad: Any = False):
    """Return a 0-dim tensor of a number, in the default float dtype."""
    kind = numpy_dtype(dtype)
    if type(s) in casts.NUMBERS:
        s = casts.number(s, kind)
    return finish(jnp.asarray(s, kind), device, requires_grad)
