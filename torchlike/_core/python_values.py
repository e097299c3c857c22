"""The values of a tensor in Python: numbers, lists, NumPy arrays, DLPack; lengths and iteration.

Each of them waits for the value, and while a function is captured there is none to give: then it is
a JitCaptureError that names what was asked for, and what to write instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from torchlike._core import dtypes, errors, layouts, literals, modes, views
from torchlike._core.cells import KINDS
from torchlike._core.tensor_class import TensorFields
from torchlike._runtime import late_checks
from torchlike._runtime.first_calls.program import MOST_DIMENSIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jax.typing import DTypeLike

    from torchlike._core.cells import Array
    from torchlike.tensor import Tensor

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
    return np.asarray(value)


class PythonValues(TensorFields):
    """What `Tensor` has of them."""

    def _value(self, asked: str, instead: str = "torchlike.where or torchlike.cond") -> np.ndarray:
        """Return the value on the host, read-only. Raise JitCaptureError while capturing, as there
        is none, unless the code itself has just made the tensor of it (`literals`). Where a check
        of values has failed in a compiled program that has run, raise its error."""
        found = self._value_read(asked, instead)
        if late_checks.queue and modes.current.capture is None:
            late_checks.look(at_read=True)
        return found

    def _value_read(self, asked: str, instead: str) -> np.ndarray:
        capture = modes.current.capture
        if capture is not None:
            known = literals.values_of(self._storage) if self._view is None else None
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
        return _read_only(self._value_now())

    @property
    def _cdata(self) -> int:
        """A number that is this very tensor's while it lives: code compares it to learn whether
        two tensors are one. While capturing it would tell an argument from itself."""
        if modes.current.capture is not None:
            modes.current.capture.refuse_value("._cdata", "`is`")
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
        if modes.current.capture is not None:
            modes.current.capture.refuse_value("numpy.asarray()", "jax.pure_callback")
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

    def __dlpack__(self, **kwargs: Any) -> Any:
        """Return a capsule with this tensor's memory, where NumPy can hold it on the CPU; else with
        its value.

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
        stream = kwargs.get("stream")
        if stream is not None and type(stream) is not int:
            raise TypeError("stream must be ``int`` or ``none``")
        if stream == -1:  # PyTorch's word for "do not wait"
            kwargs["stream"] = None
        elif stream is not None and self.is_cpu:
            raise AssertionError("stream should be None on cpu.")
        if self.is_cpu and self.dtype.numpy not in _NOT_IN_NUMPY:
            return self.resolve_neg().numpy().__dlpack__(**kwargs)
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
