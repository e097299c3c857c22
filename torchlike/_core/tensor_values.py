"""The values of a tensor: in its storage, and in Python.

`StoredValues` reads the array that a tensor shows of its storage, and replaces it. `PythonValues`
is what Python sees: numbers, lists, NumPy arrays, DLPack; lengths and iteration. Each waits
for the value, and while a function is captured there is none to give: then it is a JitCaptureError
that names what was asked for, and what to write instead.
"""

from __future__ import annotations

import math
import weakref
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import core

from torchlike._core import cells, dtypes, errors, layouts, modes, views
from torchlike._core.cells import KINDS
from torchlike._core.storage import Storage, array_of_host_value, device_array, host_value
from torchlike._core.tensor_methods import TensorMethods
from torchlike._core.views import View
from torchlike._runtime import first_calls, late_checks
from torchlike._runtime.first_calls.program import MOST_DIMENSIONS
from torchlike._runtime.provided import Provided

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jax.typing import DTypeLike

    from torchlike._core import devices
    from torchlike._core.cells import Array
    from torchlike._core.size import Size
    from torchlike.tensor import Tensor


class TensorFields(TensorMethods):
    """What the parts of Tensor ask of the whole. It is there for type checkers alone."""

    if TYPE_CHECKING:
        _storage: Storage
        _view: View | None
        _base: Tensor | None
        _grad: Tensor | None
        _requires_grad: bool
        _is_data: bool
        _handles: bool
        _whole_dict: dict[str, Any]

        @property
        def dtype(self) -> dtypes.dtype: ...
        @property
        def device(self) -> devices.device: ...
        @property
        def shape(self) -> Size: ...
        @property
        def layout(self) -> layouts.layout: ...
        @property
        def requires_grad(self) -> bool: ...
        @property
        def is_leaf(self) -> bool: ...
        @property
        def is_cpu(self) -> bool: ...
        @property
        def is_meta(self) -> bool: ...

        def _read(self) -> Any: ...
        def _value_now(self) -> Any: ...
        def _host_view(self) -> np.ndarray | None: ...
        def dim(self) -> int: ...
        def numel(self) -> int: ...
        @classmethod
        def _on(cls, storage: Storage, view: View | None = None) -> Any: ...


#: The whole ``__dict__`` of a tensor, whatever its class shows as such.
whole_dict = vars(TensorFields)["__dict__"].__get__
#: The same as an attribute, which is three times as fast: for what each compiled call asks.
TensorFields._whole_dict = vars(TensorFields)["__dict__"]


# -- in its storage --------------------------------------------------------------------------------

#: Elements of the largest view that NumPy shows of a host value: expanded, it may be of any size.
_MOST_SHOWN = 1 << 16


about_to_write_data = Provided("is called before a tensor is written to through ``.data``")


class StoredValues(TensorFields):
    """Read and write the array that ``Tensor`` shows of its storage."""

    def _read(self) -> Any:
        """Return the value as a jax array of this tensor's shape (a tracer while capturing)."""
        storage, view = self._storage, self._view
        if view is None:
            if storage.host is None and modes.current.capture is None:
                cell = storage.cell
                return cell if type(cell) is not np.ndarray else storage.concrete()
            return storage.read()
        if modes.current.capture is not None:
            cell = storage.read()
            if type(cell) in KINDS:
                return cells.apply(views.reader(view.steps), cell, *view.dynamic)
            return views.reader(view.steps)(cell, *view.dynamic)
        if storage.host is not None:
            part = self._host_view()
            if part is not None:
                return device_array(np.array(part))
            return views.reader_alone(view.steps)(storage.concrete(), *view.dynamic)
        if view.cached_version != storage.version:
            read = views.reader_alone(view.steps)
            if type(storage.cell) in KINDS:
                return cells.apply(read, storage.cell, *view.dynamic)
            if modes.current.watcher is not None and modes.current.watcher.defers_reads:
                out = first_calls.call(read, storage.concrete(), *view.dynamic)
                return device_array(out) if type(out) is np.ndarray else out
            try:
                view.cached = read(storage.concrete(), *view.dynamic)
            except jax.errors.JaxRuntimeError as error:
                raise errors.out_of_memory(error, doing=f"{self.shape} of a view") from None
            view.cached_version = storage.version
        if type(view.cached) is np.ndarray:
            view.cached = device_array(view.cached)
        return view.cached

    def _value_now(self) -> Any:
        """Return the value as compiled forms take it: a jax array (a tracer) or a host value."""
        storage, view = self._storage, self._view
        if view is None:
            return storage.value()
        if type(storage.cell) is not np.ndarray or modes.current.capture is not None:
            is_here = storage.host is not None and modes.current.capture is None
            part = self._host_view() if is_here else None
            return self._read() if part is None else host_value(np.array(part, order="C"))
        if view.cached_version != storage.version:
            part = self._part_of(storage.cell, storage.strides)
            if part is None:
                return self._read()
            view.cached = part if part.flags.c_contiguous else part.copy()
            view.cached_version = storage.version
        return view.cached

    def _part_of(
        self, cell: np.ndarray, strides: tuple[int, ...] | None = None
    ) -> np.ndarray | None:
        """Return this view's part of a host value of its storage, which has these strides; None
        where NumPy cannot show it."""
        view = self._view
        assert view is not None
        steps = view.steps
        size, stride, offset = view.geometry
        if len(steps) == 1 and type(steps[0]) is views.Reshape and strides is None:
            return cell.reshape(size)
        for s in steps:
            if not s.rearranges:
                return None
        count = math.prod(size)
        if count > _MOST_SHOWN:
            return None
        if not count:  # NumPy refuses an offset behind the end of an empty buffer
            return np.empty(size, cell.dtype)
        if strides is not None:
            cell = _in_memory_order(cell, strides)
        if view.is_row_major:
            return cell.reshape(-1)[offset : offset + count].reshape(size)
        width = cell.itemsize
        return np.ndarray(size, cell.dtype, cell, offset * width, [n * width for n in stride])

    def _host_view(self) -> np.ndarray | None:
        """Return this tensor as a NumPy view on its host buffer; None where NumPy has no such
        view."""
        storage, view = self._storage, self._view
        host = storage.host
        assert host is not None
        if view is None:
            return host
        if (
            storage.strides is not None
            and host.flags.c_contiguous
            and not views.is_contiguous(host.shape, storage.strides)
        ):
            return None  # the geometry speaks of another memory order than the buffer's
        if not view.shows_memory:
            return None
        return views.host_view(host, view.geometry, self.dtype.numpy)

    def _write(self, array: Any) -> None:
        """Replace this tensor's value (already of its shape and dtype) in its storage.

        The one writer: alone decides whether the whole cell takes the array, a kind of cell writes
        it, NumPy writes a part of host memory, or a compiled form writes through the view, in the
        old array's memory where the cell alone holds that. `inplace.assign` decides the history.
        """
        storage, view = self._storage, self._view
        if type(array) in KINDS:
            array.check_write(storage)
        if view is None:
            if self._is_data:
                about_to_write_data(self)
            storage.write(array)
            return
        if self._is_data or ((base := self._base) is not None and base._is_data):
            about_to_write_data(self)
        for held in (storage.cell, array):
            if type(held) in KINDS and (storage.host is None or not held.is_array):
                # A number's worth of JAX array where the new value is no tensor of a level.
                held.write_view(storage, view, array, views.writer(view.steps, False))
                return
        eager = modes.current.capture is None
        if storage.host is not None and eager:
            part = self._host_view()
            if part is not None:  # and no more: other processes may be writing the rest
                storage.write_part(part, array)
                return
        on_host = type(storage.cell) is np.ndarray and storage.strides is None
        if on_host and eager:
            whole = storage.cell.copy()
            part = self._part_of(whole)
            if part is not None and getattr(array, "dtype", None) == part.dtype:
                part[...] = array
                storage.write(whole)
                return
        donate = eager and storage.is_sole_owner()
        write = views.writer(view.steps, donate)
        storage.write(write(storage.read(), array, *view.dynamic))

    def jax(self) -> Any:
        """Return the value as a ``jax.Array``: a snapshot, since jax arrays are immutable. It has
        no history: gradients end there.

        Returns:
          an array of the tensor's shape, dtype and device; inside ``torchlike.jit`` a tracer.

        Example:
          >>> torch.ones(2).jax() + 1
          Array([2., 2.], dtype=float32)
        """
        capture = modes.current.capture
        if capture is None and type(self._storage.cell) is np.ndarray:
            # The cell stays: code that asks whether a tensor holds a tracer computes on with it.
            value = self._value_now()
            return array_of_host_value(value) if type(value) is np.ndarray else value
        array = self._read()
        if type(array) in KINDS:
            return array.as_jax()
        return array if capture is None else capture.traced(self._storage, array)


def _in_memory_order(values: np.ndarray, strides: tuple[int, ...]) -> np.ndarray:
    """Return an array whose memory, row by row, is that of a storage with these strides."""
    return np.array(values.transpose(views.dense_order(values.shape, strides)), order="C")


# -- in Python ------------------------------------------------------------------------------------

#: Storages that a captured function makes of literals, so ``int(torch.tensor(3))`` needs nothing of
#: the compiled program: the capture, the array that the cell got, and the same on the host.
_Literal = tuple[Any, Any, np.ndarray]
_literals: weakref.WeakKeyDictionary[Storage, _Literal] = weakref.WeakKeyDictionary()


def note_literal(storage: Storage, values: np.ndarray) -> None:
    """Remember the plain values that a storage was made of, where a capture runs."""
    capture = modes.current.capture
    if capture is not None:
        _literals[storage] = weakref.ref(capture), storage.cell, values


def _literal_of(storage: Storage) -> np.ndarray | None:
    """Return the values of which the running capture's code made a storage; None where something
    else made it, another capture did, or the storage was written since."""
    found = _literals.get(storage)
    if found is None:
        return None
    capture, array, values = found
    unwritten = storage.version == 0 and storage.cell is array and storage.strides is None
    return values if unwritten and capture() is modes.current.capture else None


#: Dtypes that are ml_dtypes', not NumPy's own.
_NOT_IN_NUMPY = frozenset(d.numpy for d in dtypes.ALL if d.name.startswith(("bfloat16", "float8")))
_LOST_GRADIENT = (
    "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
    "Consider using tensor.detach() first."
)
#: DLPack's number of the CPU's kind of device, and of the device.
DLPACK_CPU = (1, 0)


def _read_only(value: Array) -> np.ndarray:
    """Return a value on the host that nobody may write: a view of it where it is a NumPy array."""
    if type(value) is np.ndarray:
        value = value.view()
        value.flags.writeable = False
        return value
    if isinstance(value, jax.Array) and not isinstance(value, core.Tracer):
        try:
            # Where its program failed, XLA's CPU backend would end the process in np.asarray.
            value.block_until_ready()
        except jax.errors.JaxRuntimeError as error:
            raise errors.out_of_memory(error, [value]) from None
    return np.asarray(value)


def keep_read(storage: Storage, value: np.ndarray) -> None:
    """Keep a value that was read as the host value of its cell, where that may hold one."""
    cell = storage.cell
    if isinstance(cell, jax.Array) and not cell.committed and first_calls.takes(value):
        storage.cell = value


class PythonValues(TensorFields):
    """What `Tensor` has of them."""

    def _value(self, asked: str, instead: str = "torchlike.where or torchlike.cond") -> np.ndarray:
        """Return the value on the host, read-only. Raise JitCaptureError while capturing, as there
        is none, unless the code itself has just made the tensor of it (`literals`). Where a check
        of values has failed in a compiled program that has run, raise its error."""
        found = self._value_read(asked, instead)
        if late_checks.queue and not modes.is_capturing():
            late_checks.look(at_read=True)
        return found

    def _value_read(self, asked: str, instead: str) -> np.ndarray:
        capture = modes.current.capture
        if capture is not None:
            known = _literal_of(self._storage) if self._view is None else None
            if known is not None:
                return known
            capture.refuse_value(asked, instead)
        if type(self._storage.cell) in KINDS:
            return self._storage.cell.host_values(self, asked, instead)
        if self._storage.host is not None:
            part = self._host_view()
            if part is not None:
                return part
        view, storage = self._view, self._storage
        if (
            view is not None
            and storage.host is None
            and storage.strides is None
            and view.shows_memory
            and len(storage.shape) <= MOST_DIMENSIONS
        ):
            # On the CPU NumPy maps the array without a copy: a row of a data set costs ~3 µs
            # instead of a dispatch and a wait.
            return views.host_view(_read_only(storage.cell), view.geometry, self.dtype.numpy)
        found = _read_only(self._value_now())
        # What is computed next of one number that was read (a loss), NumPy computes without XLA.
        if found.size == 1 and view is None and storage.version == 0 and storage.host is None:
            keep_read(storage, found)
        return found

    @property
    def _cdata(self) -> int:
        """A number that is this very tensor's while it lives: code compares it to learn whether
        two tensors are one. While capturing it would tell an argument from itself."""
        modes.running_capture().refuse_value("._cdata", "`is`")
        return id(self)

    def item(self) -> Any:
        """Return the single element as a Python number; raise RuntimeError unless there is exactly
        one.

        Inside ``torchlike.jit`` it is a JitCaptureError.

        Example:
          >>> torch.tensor([[1.5]]).item()
          1.5
        """
        if self.numel() != 1:
            raise RuntimeError(errors.NO_SCALAR.format(self.numel()))
        try:
            return self._value(".item()").item()
        except ValueError:
            if self.dim() <= MOST_DIMENSIONS:
                raise
            return self.reshape(1).item()

    def tolist(self) -> Any:
        """Return the elements as (nested) Python lists; a number for a 0-dim tensor. RuntimeError
        for a class with ``__torch_dispatch__``.

        Example:
          >>> torch.tensor([[1, 2]]).tolist()
          [[1, 2]]
        """
        if self._handles:
            raise RuntimeError(
                f".tolist() is not supported for tensor subclasses, got {type(self).__name__}"
            )
        values = self._value(".tolist()")
        if values.dtype.kind == "V":  # ml_dtypes (bfloat16): as Python floats
            values = values.astype(np.float32)
        return values.tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """Return a NumPy array that shares this tensor's memory: each side sees the other's writes.

        RuntimeError when the tensor requires grad (unless ``force``, which also copies from an
        accelerator); TypeError for bfloat16, which NumPy does not have.

        Example:
          >>> x = torch.zeros(2)
          >>> x.numpy()[0] = 5
          >>> x
          tensor([5., 0.])
        """
        self._check_numpy(force)
        if type(self._storage.cell) in KINDS:
            inside = self._storage.cell.shared_with_numpy(self)
            if inside is not None:
                return inside
        if not self.is_cpu or (self._view is not None and not self._view.shows_memory):
            return np.array(self._value(".numpy()"))
        storage = self._storage
        if storage.host is None and storage.strides is not None:
            # Lay the buffer out in the tensor's memory order, so that strides agree.
            order = views.dense_order(storage.shape, storage.strides)
            host = storage.share_with_host().transpose(order)
            storage.host = np.ascontiguousarray(host).transpose(np.argsort(order))
        host = storage.share_with_host()
        if self._view is None:
            return host[...]
        return views.host_view(host, self._view.geometry, self.dtype.numpy)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        """Return the array that NumPy's functions take: ``numpy()``, or a copy where one is asked
        for or needed.

        Differs from PyTorch: ``np.array(x, copy=False)`` shares memory, rather than being refused.
        """
        modes.running_capture().refuse_value("numpy.asarray()", "jax.pure_callback")
        self._check_numpy()
        if dtype is None or np.dtype(dtype) == self.dtype.numpy:
            if not copy:
                return self.numpy()
            dtype = self.dtype.numpy
        elif copy is False:
            raise ValueError(
                f"Unable to avoid copy while creating an array as requested: {self.dtype} is "
                f"another dtype than {np.dtype(dtype)}."
            )
        # A copy needs no host buffer, which would be read afresh at each use.
        storage = self._storage
        values = self._value("numpy.asarray()", "jax.pure_callback")
        if self._view is None and storage.host is None and storage.strides is not None:
            memory = views.dense_order(storage.shape, storage.strides)
            values = np.ascontiguousarray(values.transpose(memory)).transpose(np.argsort(memory))
        return values.astype(dtype)

    def _check_numpy(self, force: bool = False) -> None:
        """Raise the errors of ``numpy()``: for memory that NumPy cannot hold, and without ``force``
        for what would be lost on the way."""
        if self._handles:
            raise RuntimeError(".numpy() is not supported for tensor subclasses.")
        if self.requires_grad and modes.current.grad_enabled and not force:
            raise RuntimeError(errors.NUMPY_REQUIRES_GRAD)
        if self.dtype.numpy in _NOT_IN_NUMPY:
            raise TypeError(f"Got unsupported ScalarType {dtypes.scalar_type(self.dtype)}")
        if force:
            return
        if not self.is_cpu:
            raise TypeError(
                f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to "
                "copy the tensor to host memory first."
            )
        if self._view is not None and not self._view.shows_memory:
            conjugated = self._view.is_conjugated
            raise RuntimeError(errors.NUMPY_CONJUGATED if conjugated else errors.NUMPY_NEGATED)

    def __dlpack__(self, *, read_only: bool = False, **kwargs: Any) -> Any:
        """Return a capsule with this tensor's memory, where NumPy can hold it on the CPU; else with
        its value.

        ``read_only``: the receiver may not write; BufferError without ``max_version``.

        Differs from PyTorch: what receives bfloat16, float8 or an accelerator's array does not see
        later writes, nor the tensor the receiver's.
        """
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        if self._view is not None and self._view.is_conjugated:
            raise BufferError("Can't export tensors with the conjugate bit set")
        if self.is_meta:
            raise ValueError("Unknown device type meta for Dlpack")
        if self.layout is not layouts.strided:
            raise BufferError("Can't export tensors with layout other than torch.strided")
        if read_only and not kwargs.get("max_version"):
            raise BufferError(
                "read_only export requires the versioned DLPack protocol; pass max_version=(1, 0) "
                "or higher"
            )
        stream = kwargs.get("stream")
        if stream is not None and type(stream) is not int:
            raise TypeError("stream must be ``int`` or ``none``")
        if stream == -1:  # PyTorch's word for "do not wait"
            kwargs["stream"] = None
        elif stream is not None and self.is_cpu:
            raise AssertionError("stream should be None on cpu.")
        if self.is_cpu and self.dtype.numpy not in _NOT_IN_NUMPY:
            shared = self.resolve_neg().numpy()
            if read_only:
                shared = shared.view()
                shared.flags.writeable = False
            return shared.__dlpack__(**kwargs)
        return self._read().__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[object, ...]:
        if self.is_meta:
            raise ValueError("Unknown device type meta for Dlpack")
        if self.is_cpu:
            return DLPACK_CPU
        return self._read().__dlpack_device__()

    def _one_element(self, asked: str) -> Any:
        if self.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self._value(asked).item()

    def _real_element(self, asked: str, c_name: str) -> float:
        """Return the single element without an imaginary part of zero; raise RuntimeError if it has
        another."""
        value = self._one_element(asked)
        if type(value) is not complex:
            return value
        if value.imag:
            raise RuntimeError(f"value cannot be converted to type {c_name} without overflow")
        return value.real

    def __bool__(self) -> bool:
        n = self.numel()
        if n != 1:
            what = "no values" if n == 0 else "more than one value"
            raise RuntimeError(errors.AMBIGUOUS_BOOL.format(what=what))
        return bool(self._value("bool(tensor)").item())

    def __int__(self) -> int:
        return int(self._real_element("int(tensor)", "int64_t"))

    def __float__(self) -> float:
        self._warn_of_lost_gradient()
        return float(self._real_element("float(tensor)", "double"))

    def __complex__(self) -> complex:
        self._warn_of_lost_gradient()
        return complex(self._one_element("complex(tensor)"))

    def _warn_of_lost_gradient(self) -> None:
        if self.requires_grad and modes.current.grad_enabled:
            errors.warn_once(_LOST_GRADIENT, UserWarning, stacklevel=3)

    def __index__(self) -> int:
        if self.numel() != 1 or self.dtype.category > 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self._value("a tensor used as a Python index").item())

    def __len__(self) -> int:
        shape = self.shape
        if not shape:
            raise TypeError("len() of a 0-d tensor")
        return tuple.__getitem__(shape, 0)

    def __delitem__(self, item: object) -> None:
        raise TypeError("Tensor does not support deleting items")

    def __iter__(self) -> Iterator[Tensor]:
        if not self.dim():
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __reversed__(self) -> Any:
        return self.flip(0) if self.dim() else self

    def __contains__(self, element: object) -> bool:
        if isinstance(element, (PythonValues, int, float, complex, np.generic)):
            found: Any = self == element
            return bool(found.any())
        raise RuntimeError(
            f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(element)}."
        )
