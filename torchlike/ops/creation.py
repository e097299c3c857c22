"""Creation: tensors from data, and filled tensors."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike import boxes, casts, devices, dtypes, errors, layouts, modes, views
from torchlike import tensor as tensors
from torchlike.dispatch.memory_order import strides_like
from torchlike.dispatch.registry import composite
from torchlike.meta import MetaArray
from torchlike.ops.outputs import given
from torchlike.ops.views import shape_arguments
from torchlike.size import Size
from torchlike.storage import Storage, device_array
from torchlike.tensor import Tensor

_NOT_GIVEN: Any = object()
_ARRAYS = (np.ndarray, jax.Array)


def finish(
    array: Any, device: Any = None, requires_grad: Any = False, layout: Any = None,
    pin_memory: Any = False,
) -> Tensor:  # fmt: skip
    """Wrap a fresh array, place it, set requires_grad: the common end of creation functions."""
    if layout is not None and layout is not layouts.strided:
        if not isinstance(layout, layouts.layout):
            raise TypeError(f"layout must be torch.layout, not {type(layout).__name__}")
        raise NotImplementedError(
            f"layout={layout!r}: torchlike's dense tensors are strided; sparse ones are made by "
            "torchlike.sparse_coo_tensor and Tensor.to_sparse()"
        )
    target = devices.resolve(device)
    if target.type == "meta":
        array = MetaArray(array.shape, array.dtype)
    elif target.type != "cpu" or jax.default_backend() != "cpu":
        array = jax.device_put(array, devices.to_jax(target))
    t = tensors.wrap(array)
    if modes.current.inference:
        t._inference = True
    if requires_grad:
        if t.dtype.category < 2:
            raise RuntimeError(errors.FLOAT_ONLY_GRAD)
        t._requires_grad = True
    return t


def numpy_dtype(dtype: Any, default: dtypes.dtype | None = None) -> np.dtype:
    """The numpy dtype of a user's dtype argument (None: ``default`` or the default dtype)."""
    if dtype is None:
        return (default or dtypes.get_default_dtype()).numpy
    if isinstance(dtype, dtypes.dtype):
        return dtype.numpy
    builtin = {float: dtypes.get_default_dtype(), int: dtypes.int64, bool: dtypes.bool}
    if dtype in builtin:
        return builtin[dtype].numpy
    raise TypeError(f"dtype must be a torch.dtype, not {type(dtype).__name__}")


def checked_size(size: Any, name: str) -> tuple[int, ...]:
    """A size with no negative entries; RuntimeError in PyTorch's words otherwise."""
    shape = shape_arguments(size)
    if any(n < 0 for n in shape):
        raise RuntimeError(f"{name}: Dimension size must be non-negative.")
    return shape


# -- from data -------------------------------------------------------------------------------------


def _infer(data: Any, cast: np.dtype | None = None) -> Any:
    """Nested Python data as a NumPy array with PyTorch's inferred dtype; in full precision when a
    ``cast`` follows, for float64 must not be rounded to the default dtype first."""
    # Only int64 bounds the integers, and what holds fewer.
    unbounded = cast is not None and (cast.kind not in "iu" or cast == np.uint64)
    if isinstance(data, np.ndarray):
        return data
    if isinstance(data, np.generic):
        return np.asarray(data)
    if isinstance(data, (bool, int, float, complex)):
        whole = cast is not None and isinstance(data, (float, complex))
        if unbounded and isinstance(data, int) and not -(2**63) <= data < 2**63:
            return np.asarray(data, np.uint64) if cast == np.uint64 else np.asarray(float(data))
        try:
            with np.errstate(over="ignore"):
                return np.asarray(data, None if whole else dtypes.scalar_dtype(data).numpy)
        except OverflowError:
            raise ValueError("Overflow when unpacking long long") from None
    if isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    if not isinstance(data, Sequence):
        if hasattr(data, "__array__"):
            return np.asarray(data)
        if hasattr(data, "__len__") and hasattr(data, "__getitem__"):
            data = [data[i] for i in range(len(data))]
        else:
            raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    _check_rectangular(data, 0)
    array = np.array(_plain(data))
    if array.dtype == object or array.dtype.kind in "US":
        for bad in _wrong_elements(data):
            if not isinstance(bad, (str, bytes)):
                raise RuntimeError(f"Could not infer dtype of {type(bad).__name__}")
            raise TypeError(f"new(): invalid data type '{type(bad).__name__}'")
        array = _with_large_integers(data, cast, unbounded)
    elif _may_be_large_integers(array) and not _has_array(data):
        array = _with_large_integers(data, cast, unbounded)
    if cast is not None and array.size:
        return array
    if array.dtype.kind in "fc" and not _has_array(data):
        default = dtypes.get_default_dtype()
        with np.errstate(over="ignore"):
            return array.astype(
                (default if array.dtype.kind == "f" else default.to_complex()).numpy
            )
    if array.size == 0 and array.dtype == np.float64:
        return array.astype(dtypes.get_default_dtype().numpy)
    return array


def _may_be_large_integers(array: np.ndarray) -> Any:
    """NumPy makes integers beyond int64 uint64, and floats if a smaller one is beside them."""
    kind = array.dtype
    return kind == np.uint64 or (kind == np.float64 and (abs(array) >= 2**63).any())


def _with_large_integers(data: Any, cast: np.dtype | None, unbounded: bool) -> np.ndarray:
    """Nested numbers of which an integer may be beyond int64. ValueError where that is wanted."""
    elements = list(_elements(data))
    if any(isinstance(x, int) and not -(2**63) <= x < 2**63 for x in elements):
        has_floats = any(isinstance(x, (float, complex)) for x in elements)
        if not unbounded and (cast is not None or not has_floats):
            raise ValueError("Overflow when unpacking long long")
        if cast == np.uint64:
            if has_floats:
                raise TypeError("an integer is required")
            return np.array(data, np.uint64)
    return np.array(data, complex if any(isinstance(x, complex) for x in elements) else float)


def _elements(data: Any) -> Any:
    for d in data:
        if isinstance(d, (list, tuple)):
            yield from _elements(d)
        else:
            yield d


def _of_numbers(data: list[Any] | tuple[Any, ...]) -> bool:
    """Whether a list holds Python's numbers only: 20 us for 2048, element by element 900."""
    return casts.NUMBERS.issuperset(map(type, data))


def _plain(data: Any) -> Any:
    """Tensors inside lists as numbers or arrays."""
    if isinstance(data, Tensor):
        return data.detach()._value("torch.tensor([tensor, …])", "torchlike.stack")
    if isinstance(data, (list, tuple)):
        if _of_numbers(data):
            return data
        return [_plain(d) for d in data]
    return data


def _has_array(data: Any) -> Any:
    if isinstance(data, (list, tuple)):
        return not _of_numbers(data) and any(_has_array(d) for d in data)
    return isinstance(data, (np.ndarray, np.generic, Tensor)) and not isinstance(data, float)


def _wrong_elements(data: Any) -> Any:
    kinds = (bool, int, float, complex, np.generic, Tensor)
    return (d for d in _elements(data) if not isinstance(d, kinds))


def _check_rectangular(data: Any, dim: int) -> None:
    if not isinstance(data, (list, tuple)) or _of_numbers(data):
        return
    lengths = {len(d) if isinstance(d, (list, tuple)) else -1 for d in data}
    if len(lengths) > 1:
        first = next(d for d in data if isinstance(d, (list, tuple)))
        other = next(d for d in data if not isinstance(d, (list, tuple)) or len(d) != len(first))
        if not isinstance(other, (list, tuple)):
            raise TypeError(f"not a sequence: {type(other).__name__}"
                            if data[0] is first else
                            f"new(): invalid data type '{type(first).__name__}'")  # fmt: skip
        raise ValueError(
            f"expected sequence of length {len(data[0])} at dim {dim + 1} (got {len(other)})"
        )
    for d in data:
        _check_rectangular(d, dim + 1)


@composite(method=False)
def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: Any = False,
    pin_memory: Any = False,
) -> Tensor:  # fmt: skip
    """A new tensor holding a copy of ``data`` (numbers, nested sequences, arrays, tensors).

    ValueError for ragged sequences, TypeError for data that are no numbers.
    """
    if isinstance(data, Tensor):
        copy = data.detach()._read()
        if dtype is not None:
            copy = casts.convert(copy, numpy_dtype(dtype))
        return finish(copy, device or data.device, requires_grad)
    if isinstance(data, jax.Array):
        array: Any = data
    else:
        array = _infer(data, None if dtype is None else numpy_dtype(dtype))
    if dtype is not None:
        cast = casts.convert if isinstance(data, _ARRAYS) else casts.from_numbers
        array = cast(array, numpy_dtype(dtype))
    else:
        dtypes.from_numpy_dtype(array.dtype)
    copy = jnp.array(array) if isinstance(array, jax.Array) else device_array(np.array(array))
    return finish(copy, device, requires_grad)


@composite(method=False)
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """``data`` as a tensor, sharing memory with a NumPy array or tensor where nothing changes."""
    if isinstance(data, Tensor):
        return data.to(device=device, dtype=dtype)
    if isinstance(data, np.ndarray):
        shared = from_numpy(data)
        return shared.to(device=device, dtype=dtype)
    return tensor(data, dtype=dtype, device=device)


asarray = composite("asarray", method=False)(
    lambda obj, *, dtype=None, device=None, copy=None, requires_grad=False: (
        tensor(obj, dtype=dtype, device=device, requires_grad=requires_grad)
        if copy
        else as_tensor(obj, dtype, device).requires_grad_(requires_grad)
    )
)


@composite(method=False)
def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor sharing memory with a NumPy array: each side sees the other's writes.

    TypeError for anything but an array of a dtype PyTorch has; ValueError for negative strides.
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    dtypes.from_numpy_dtype(ndarray.dtype)
    if any(s < 0 for s in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not currently supported. (You can probably work around this by making a "
            "copy of your array  with array.copy().) "
        )
    storage = Storage(None, ndarray)
    strides = tuple(s // ndarray.itemsize for s in ndarray.strides)
    if strides != views.contiguous_strides(ndarray.shape):
        storage.strides = strides
    t = object.__new__(Tensor)
    t._storage = storage
    return t


@composite(method=False)
def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: Any = False
) -> Tensor:
    """A 1-D tensor on the memory of a Python buffer."""
    array = np.frombuffer(buffer, numpy_dtype(dtype), count, offset)
    return from_numpy(array).requires_grad_(requires_grad)


@composite(method=False)
def from_dlpack(ext_tensor: Any) -> Tensor:
    """A tensor from any object with ``__dlpack__``.

    Differs from PyTorch: values are shared until the first write, memory is not.
    """
    if isinstance(ext_tensor, np.ndarray):
        return from_numpy(ext_tensor)
    return tensors.wrap(jnp.from_dlpack(ext_tensor))


def out_dtype(out: Tensor | None, dtype: Any, default: Any = None) -> np.dtype:
    """The dtype of a creation function with ``out=``: that of ``out``, which ``dtype`` must agree
    with. RuntimeError when it does not."""
    if out is None:
        return numpy_dtype(dtype, default)
    if dtype is not None and numpy_dtype(dtype) != out.dtype.numpy:
        given_, own = (
            dtypes.scalar_type(d) for d in (dtypes.from_numpy_dtype(numpy_dtype(dtype)), out.dtype)
        )
        raise RuntimeError(f"dtype {given_} does not match dtype of out parameter ({own})")
    return out.dtype.numpy


# -- filled ----------------------------------------------------------------------------------------


@functools.cache
def _full_array(shape: tuple[int, ...], dtype: Any) -> Any:
    return jax.jit(lambda value: jnp.full(shape, casts.convert(jnp.asarray(value), dtype)),
                   inline=True)  # fmt: skip


def filled(shape: tuple[int, ...], value: Any, dtype: np.dtype, device: Any = None) -> Any:
    """An array of one value. NumPy makes small ones quicker than a dispatch does."""
    if devices.resolve(device).type == "meta":
        return MetaArray(shape, dtype)
    if modes.current.capture is None and math.prod(shape) <= 1 << 16:
        return device_array(np.full(shape, value, dtype))
    return _full_array(shape, dtype)(value)


def sized(size: tuple[Any, ...], named: dict[str, Any], name: str) -> tuple[int, ...]:
    """The shape in ``f(2, 3)``, ``f((2, 3))`` or ``f(size=(2, 3))``. TypeError for other names."""
    if not size and "size" in named:
        size = (named.pop("size"),)
    if named:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(named))}'")
    return checked_size(size, name)


def _filled_function(name: str, value: Any) -> Callable[..., Tensor]:
    def function(
        *size: Any, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: Any = False, pin_memory: Any = False, memory_format: Any = None, **kw: Any,
    ) -> Tensor:  # fmt: skip
        shape = sized(size, kw, name)
        kind = out_dtype(out, dtype)
        return given(out, finish(filled(shape, value, kind, device), device, requires_grad, layout))

    function.__doc__ = f"A tensor of the given size, filled with {value}."
    return composite(name, method=False)(function)


zeros = _filled_function("zeros", 0)
ones = _filled_function("ones", 1)
empty = _filled_function("empty", 0)
empty.__doc__ = """A tensor of the given size.

Differs from PyTorch: filled with zeros rather than whatever was in memory.
"""


def _fill_number(value: Any, dtype: np.dtype, shape: Sequence[int], name: str) -> Any:
    """What ``full`` and its like are given, as an array's element."""
    if isinstance(value, Tensor):
        if value.dim():
            raise TypeError(
                f"{name}(): argument 'fill_value' (position 2) must be Number, not Tensor"
            )
        casts.check_element(value._read(), dtype)
        return casts.convert(value._read(), dtype)
    if isinstance(value, np.generic):
        value = value.item()
    return casts.number(value, dtype, math.prod(shape)) if type(value) in casts.NUMBERS else value


@composite(method=False)
def full(
    size: Any, fill_value: Any, *, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: Any = False, pin_memory: Any = False,
) -> Tensor:  # fmt: skip
    """A tensor of the given size filled with a number (whose type decides the dtype)."""
    shape = checked_size((size,), "full")
    own = None if isinstance(fill_value, Tensor) else dtypes.scalar_dtype(fill_value)
    kind = out_dtype(out, dtype, own or fill_value.dtype)
    array = filled(shape, _fill_number(fill_value, kind, shape, "full"), kind, device)
    return given(out, finish(array, device, requires_grad, layout))


def _like(name: str, default: Any) -> None:
    def function(
        input: Tensor, *args: Any, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: Any = False, pin_memory: Any = False, memory_format: Any = None, **kw: Any,
    ) -> Tensor:  # fmt: skip
        if not isinstance(input, Tensor):
            raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not "
                            f"{type(input).__name__}")  # fmt: skip
        value = default
        if default is _NOT_GIVEN:
            value = args[0] if args else kw["fill_value"]
        target = numpy_dtype(dtype, input.dtype)
        if default is _NOT_GIVEN:
            value = _fill_number(value, target, input._geometry.size, name)
        device = device or input.device
        array = filled(input._geometry.size, value, target, device)
        made = finish(array, device, requires_grad, layout)
        preserve_strides(made, input, memory_format)
        return boxes.lifted_as(made, input)

    function.__doc__ = f"``{name.removesuffix('_like')}`` with the size and dtype of ``input``."
    composite(name, method=False)(function)


def preserve_strides(made: Tensor, model: Tensor, memory_format: Any = None) -> None:
    """Give a fresh tensor the memory order of its model, without gaps."""
    stride = strides_like(model._geometry, memory_format)
    if stride != views.contiguous_strides(model._geometry.size):
        made._storage.strides = stride


_like("zeros_like", 0)
_like("ones_like", 1)
_like("empty_like", 0)
_like("full_like", _NOT_GIVEN)


def _new(name: str, value: Any) -> None:
    def method(
        self: Tensor, *size: Any, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: Any = False, pin_memory: Any = False, **kw: Any,
    ) -> Tensor:  # fmt: skip
        if not size and "size" in kw:
            size = (kw.pop("size"),)
        fill = value
        if value is _NOT_GIVEN:
            fill = kw["fill_value"] if "fill_value" in kw else size[1]
            size = size[:1]
        shape = checked_size(size, name)
        device = device or self.device
        target = numpy_dtype(dtype, self.dtype)
        if value is _NOT_GIVEN:
            fill = _fill_number(fill, target, shape, name)
        array = filled(shape, fill, target, device)
        return boxes.lifted_as(finish(array, device, requires_grad, layout), self)

    method.__doc__ = f"``{name.removeprefix('new_')}`` with this tensor's dtype and device."
    composite(name, namespaces=())(method)


_new("new_zeros", 0)
_new("new_ones", 1)
_new("new_empty", 0)
_new("new_full", _NOT_GIVEN)


@composite(namespaces=())
def new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: Any = False,
    layout: Any = None, pin_memory: Any = False,
) -> Tensor:  # fmt: skip
    """``torch.tensor(data)`` with this tensor's dtype and device."""
    return tensor(data, dtype=dtype or self.dtype, device=device or self.device,
                  requires_grad=requires_grad)  # fmt: skip


@composite(method=False)
def empty_strided(
    size: Any, stride: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: Any = False, pin_memory: Any = False,
) -> Tensor:  # fmt: skip
    """A tensor with given strides (zeros)."""
    shape, strides = shape_arguments((size,)), shape_arguments((stride,))
    order = views.dense_order(shape, strides)
    made = empty(shape, dtype=dtype, device=device, requires_grad=requires_grad)
    if views.dense_strides(shape, order) == strides:
        made._storage.strides = None if strides == views.contiguous_strides(shape) else strides
        return made
    reach = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    return empty(reach, dtype=dtype, device=device).as_strided(shape, strides)


@composite(method=False)
def eye(
    n: int, m: int | None = None, *, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: Any = False,
) -> Tensor:  # fmt: skip
    """The identity matrix of n rows (and m columns)."""
    for name, count in (("n", n), ("m", m)):
        if count is not None and count < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {count}")
    kind = out_dtype(out, dtype)
    if devices.resolve(device).type == "meta":
        values: Any = MetaArray((n, n if m is None else m), kind)
    else:
        values = device_array(np.eye(n, m, dtype=kind))
    made = finish(values, device, requires_grad, layout)
    return given(out, made)


def _legacy(*args: Any, **kwargs: Any) -> Tensor:
    """``torch.Tensor(2, 3)`` (a size) and ``torch.Tensor([1, 2])`` (data), in the default dtype."""
    if not args:
        return empty(0)
    if len(args) == 1 and isinstance(args[0], Tensor):
        return args[0]._alias()
    if len(args) == 1 and not hasattr(args[0], "__index__"):
        if isinstance(args[0], Size):
            return empty(args[0])
        return tensor(args[0], dtype=dtypes.get_default_dtype())
    return empty(*args)


tensors.install(legacy_constructor=_legacy)
