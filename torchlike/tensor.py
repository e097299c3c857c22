"""Tensor: a light facade over a Storage. Its operator methods arrive from the registry.

A tensor is a storage, an optional view of it, and autograd fields. Class attributes hold the
defaults, so that making an op's result sets only what differs (two attributes).
"""

from __future__ import annotations

import copyreg
import functools
import math
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, SupportsIndex

import jax
import numpy as np

from torchlike._core import devices, dtypes, errors, layouts, modes, overrides, views
from torchlike._core.cells import KINDS
from torchlike._core.overrides import CLASS_OF, TensorMeta
from torchlike._core.size import Size, size_of
from torchlike._core.storage import Storage, device_array
from torchlike._core.tensor_values import PythonValues, StoredValues, whole_dict
from torchlike._core.views import Geometry, View
from torchlike._runtime.function_objects import copy_of
from torchlike._runtime.shown_attributes import shown_attributes

if TYPE_CHECKING:
    from torchlike._core.tape import AccumulateGrad

#: The attributes that are the tensor itself; anything else in __dict__ is the user's.
_FIELDS_TEXT = """
_storage _view _base _requires_grad _node _output_nr _grad _history _made_by _accumulator _hooks
_inference _retained
"""
FIELDS = frozenset(_FIELDS_TEXT.split())


class Tensor(StoredValues, PythonValues, metaclass=TensorMeta):
    """A multi-dimensional array with PyTorch's interface, on an immutable ``jax.Array`` in a cell.

    Made by the creation functions (``torchlike.tensor``, ``zeros``, ``randn``, …), by
    ``torchlike.from_jax`` and by ops; ``t.jax()`` gives the array.

    Example:
      >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
      >>> row = x[0]
      >>> row += 10
      >>> x, x.shape
      (tensor([[11., 12.],
              [ 3.,  4.]]), torch.Size([2, 2]))
    """

    __module__ = "torchlike"

    #: NumPy's scalars and arrays leave an operator to the tensor on its right.
    __array_priority__ = 1000

    #: What users have set on a tensor. `whole_dict` has the fields, too.
    __dict__ = shown_attributes(whole_dict, FIELDS)  # type: ignore[assignment]

    _storage: Storage
    #: The chain of steps from the storage's array to this tensor; None for the whole.
    _view: View | None = None
    #: For a differentiable view: the tensor whose history it shares. Never itself such a view.
    _base: Tensor | None = None
    _requires_grad: bool = False
    #: The tape node this tensor is an output of, and which output.
    _node: Any = None
    _output_nr: int = 0
    #: Whether it retained its gradient when detach_() took its node.
    _retained: bool = False
    _grad: Tensor | None = None
    #: On a base: how often an in-place op changed its history; on a view: the count it knows.
    _history: int = 0
    #: How a view was made: "" (ordinary), "no_grad", "inference", or the name of a multi-view op.
    _made_by: str = ""
    #: Weak reference to the AccumulateGrad node of a leaf.
    _accumulator: Callable[[], AccumulateGrad | None] | None = None
    _hooks: Any = None
    _inference: bool = False
    #: Whether ``.data`` gave it.
    _is_data: bool = False
    #: Given by rooms above (see `add_method`): how a stale view finds its history, and what
    #: ``Tensor(2, 3)`` and ``Tensor([…])`` are.
    _rejoin_history: Callable[[], None]
    _legacy_new: Callable[..., Tensor]

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is Tensor:
            return Tensor._legacy_new(*args, **kwargs)
        overrides.enable()
        self = object.__new__(cls)
        if args and isinstance(args[0], Tensor):  # what follows is for the subclass's __init__
            args, kwargs = args[:1], {}
        whole_dict(self).update(whole_dict(Tensor._legacy_new(*args, **kwargs)))
        return self

    @classmethod
    def _on(cls, storage: Storage, view: View | None = None) -> Any:
        """Return a tensor of this class on a storage (or a view of it), without history.

        All tensors are made by it, by ``wrap``, or in the hot path of dispatch and of jit, which
        say the same in place; none runs the constructor of its class.
        """
        t = object.__new__(cls)
        t._storage = storage
        if view is not None:
            t._view = view
        return t

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> overrides.Result:
        """Run the function as on plain tensors, and make its results instances of the class, for a
        subclass that has no method of its own. NotImplemented where a type is no base of it.
        """
        if not all(issubclass(cls, kind) for kind in types):
            return NotImplemented
        with overrides.DisableTorchFunctionSubclass():
            result = func(*args, **(kwargs or {}))
        return result if func in not_converted() else _converted(result, cls)

    #: Whether the class has a ``__torch_dispatch__`` of its own.
    _handles: bool = False
    #: What a class does with operators below autograd; Tensor's own has no part in it.
    __torch_dispatch__: Any = overrides.no_dispatch

    # -- geometry ----------------------------------------------------------------------------------

    @property
    def _geometry(self) -> Geometry:
        view = self._view
        return self._whole_geometry if view is None else view.geometry

    @property
    def _whole_geometry(self) -> Geometry:
        """That of the storage's array, which views start from."""
        storage = self._storage
        shape = (storage.cell if storage.host is None else storage.host).shape
        if storage.strides is None:  # an array in row-major order, the usual case
            return views.contiguous(shape)
        return Geometry(shape, storage.strides, storage.offset)

    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        view = self._view
        return size_of(self._storage.shape if view is None else view.geometry.size)

    def size(self, dim: int | None = None) -> Any:
        """Return ``shape``, or the size of one dimension. IndexError when ``dim`` is out of
        range.

        Example:
          >>> torch.zeros(2, 3).size(), torch.zeros(2, 3).size(-1)
          (torch.Size([2, 3]), 3)
        """
        shape = self.shape
        if dim is None:
            return shape
        return tuple.__getitem__(shape, _checked_dim(dim, len(shape)))

    def stride(self, dim: int | None = None) -> Any:
        """Return the stride: the jump in memory, in elements, along each dimension (or along
        one)."""
        stride = self._geometry.stride
        return stride if dim is None else stride[_checked_dim(dim, len(stride))]

    def storage_offset(self) -> int:
        """Return the offset, in elements, at which the tensor begins in its storage."""
        offset = self._storage.offset if self._view is None else self._view.geometry.offset
        if offset != offset:  # views.UNKNOWN
            modes.the_capture().refuse_value(
                "the storage_offset() of a view at an index that is a tensor", "an int as index"
            )
        return offset

    def dim(self) -> int:
        """Return the number of dimensions.

        Example:
          >>> torch.zeros(2, 3).dim(), torch.tensor(1.0).dim()
          (2, 0)
        """
        view = self._view
        return len(self._storage.shape if view is None else view.geometry.size)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        view = self._view
        return len(self._storage.shape if view is None else view.geometry.size)

    def numel(self) -> int:
        """Return the number of elements.

        Example:
          >>> torch.zeros(2, 3).numel()
          6
        """
        return math.prod(self.shape)

    @property
    def dtype(self) -> dtypes.dtype:
        """The element type."""
        if self._view is not None:
            for s in reversed(self._view.steps):
                if isinstance(
                    s,
                    (views.Bitcast, views.Real, views.Imag, views.ViewAsReal, views.ViewAsComplex),
                ):
                    return self._view_dtype()
        return dtypes.from_numpy_dtype(self._storage.dtype)

    def _view_dtype(self) -> dtypes.dtype:
        assert self._view is not None
        current = dtypes.from_numpy_dtype(self._storage.dtype)
        for s in self._view.steps:
            if isinstance(s, views.Bitcast):
                current = dtypes.from_numpy_dtype(s.params[0])
            elif isinstance(s, (views.Real, views.Imag, views.ViewAsReal)):
                current = current.to_real()
            elif isinstance(s, views.ViewAsComplex):
                current = current.to_complex()
        return current

    @property
    def device(self) -> devices.device:
        """Where the tensor lives."""
        return self._storage.device

    @property
    def layout(self) -> layouts.layout:
        return self._storage.layout

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    element_size = lambda self: self.dtype.itemsize  # noqa: E731

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.numel() * self.itemsize

    def is_contiguous(self, memory_format: layouts.memory_format | None = None) -> bool:
        """Return whether memory order is row-major (or that of ``memory_format``)."""
        size, stride, _ = self._geometry
        if memory_format is not None and memory_format.is_of_images():
            order = memory_format.order(len(size))
            if order is None:
                return False
            return views.is_contiguous(
                tuple(size[d] for d in order), tuple(stride[d] for d in order)
            )
        return views.is_contiguous(size, stride)

    def data_ptr(self) -> int:
        """Return an address: equal for tensors that begin at the same element of the same storage.

        On the CPU the elements can be read there until the tensor is written. Differs from PyTorch:
        a write may move them, and they must not be written there (unless the memory is shared with
        NumPy); on accelerators the number is no address.
        """
        start = self._storage.data_ptr()
        return start and start + self.storage_offset() * self.itemsize

    def is_floating_point(self) -> bool:
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        return self.dtype.is_complex

    def is_signed(self) -> bool:
        return self.dtype.is_signed

    is_cuda = property(lambda self: self.device.type == "cuda")
    is_cpu = property(lambda self: self.device.type == "cpu")
    is_xla = property(lambda self: self.device.type == "xla")
    is_meta = property(lambda self: self.device.type == "meta")
    # A property each: ``__torch_function__`` is told which was asked.
    is_mps = property(lambda self: False)
    is_xpu = property(lambda self: False)
    is_sparse = property(lambda self: False)
    is_quantized = property(lambda self: False)
    is_nested = property(lambda self: False)
    is_mkldnn = property(lambda self: False)
    is_sparse_csr = property(lambda self: False)
    is_mtia = property(lambda self: False)
    is_vulkan = property(lambda self: False)
    is_maia = property(lambda self: False)
    is_ipu = property(lambda self: False)
    names = property(lambda self: (None,) * self.dim())

    def get_device(self) -> int:
        """Return the device index, -1 on the CPU."""
        return -1 if self.is_cpu else self.device.index or 0

    # -- autograd fields ---------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow into this tensor."""
        base = self._base
        return self._requires_grad or (
            base is not None and (base._requires_grad or self._node is not None)
        )

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad must be a bool")

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Start (or stop) recording ops on this leaf, in place.

        RuntimeError for a non-leaf being switched off, and for dtypes that have no gradients.

        Example:
          >>> torch.ones(2).requires_grad_()
          tensor([1., 1.], requires_grad=True)
        """
        # A view whose history is refused (view_history.rejoin) is asked for its flag only.
        if self._node is not None if self._made_by else not self.is_leaf:
            if not requires_grad:
                raise RuntimeError(errors.NOT_A_LEAF_FLAG + errors.DETACH_HINT)
            return self
        if requires_grad and self.dtype.category < 2:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if requires_grad and self._inference and not modes.current.inference:
            raise RuntimeError(errors.INFERENCE_GRAD)
        flag = bool(requires_grad)
        if flag is not self._requires_grad:
            modes.running_capture().field_write(self, "requires_grad_()")
            self._requires_grad = flag
            modes.epoch.advance()  # compiled programs ask again which leaves want gradients
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether the tensor was made by the user rather than by a recorded op."""
        return self._present_node() is None

    @property
    def grad_fn(self) -> Any:
        """The tape node that made this tensor, or None."""
        node = self._present_node()
        if node is None:
            return None
        return node.shown()

    def _present_node(self) -> Any:
        base = self._base
        if base is not None and self._history != base._history:
            self._rejoin_history()
        return self._node

    @property
    def output_nr(self) -> int:
        return self._output_nr

    @property
    def grad(self) -> Tensor | None:
        """The accumulated gradient, or None."""
        grad = self._held_grad()
        capture = modes.current.capture
        if capture is not None:
            capture.check_gradient(grad)
        node = self._node
        unset = grad is None and self._requires_grad
        if unset and node is not None and not node.retains_grad(self._output_nr):
            warnings.warn(errors.NON_LEAF_GRAD, UserWarning, stacklevel=2)
        return grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(
                    f"assigned grad expected to be a Tensor or None but got grad of "
                    f"type {type(value).__name__}"
                )
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            if value.shape != self.shape:
                raise RuntimeError(
                    f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of "
                    f"size '{list(self.shape)}'. Please ensure that the gradient and the tensor "
                    "are the same size"
                )
            if value.dtype is not self.dtype:
                raise RuntimeError(
                    f"attempting to assign a gradient with dtype '{dtypes.c_name(value.dtype)}' to "
                    f"a tensor with dtype '{dtypes.scalar_type(self.dtype)}'. The gradient must "
                    "match the tensor's dtype"
                )
        self._set_grad(value)

    @grad.deleter
    def grad(self) -> None:
        self._set_grad(None)

    def _held_grad(self) -> Tensor | None:
        """Return the gradient for callers to whom zeros are as good as None, where a captured
        program decides which of them it is."""
        capture = modes.current.capture
        if capture is not None:
            if self._grad is not None and self._grad.is_sparse:
                capture.refuse("a sparse gradient", "sparse=False, so that it is a dense one")
            capture.slot_read(self, "_grad")
        return self._grad

    def _set_grad(self, value: Tensor | None) -> None:
        capture = modes.current.capture
        if capture is not None:
            capture.slot_write(self, "_grad")
        self._grad = value

    @property
    def retains_grad(self) -> bool:
        modes.running_capture().retains_grad_seen(self)
        if self._node is None:
            return self._retained
        return self._node.retains_grad(self._output_nr)

    @property
    def _version(self) -> int:
        if self._inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        capture = modes.current.capture
        if capture is not None and not capture.is_created(self._storage):
            capture.refuse_value("_version of a tensor from outside", "a tensor that counts")
        return self._storage.version

    def _is_view(self) -> bool:
        seen = self._base is not None or self._storage.is_of_another
        return seen and not self._inference

    def is_inference(self) -> bool:
        """Return whether the tensor was made under ``inference_mode``."""
        return self._inference

    def _alias(self) -> Tensor:
        """Return another tensor on the same storage and view, with no autograd history."""
        t = Tensor._on(self._storage, self._view)
        capture = modes.current.capture
        if capture is not None:
            capture.adopt_view(t)
        return t

    @property
    def data(self) -> Tensor:
        """The same memory without history: writes through it are not recorded. RuntimeError for
        what ``vmap`` maps."""
        if modes.current.levels:
            cell = self._storage.cell
            if type(cell) not in KINDS or not self.requires_grad:
                if type(cell) in KINDS:
                    cell.check_data()
                return self.detach()
        found = self._alias()
        found._inference = self._inference
        found._is_data = True
        return found

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if value.dtype is not self.dtype and self.requires_grad and value.dtype.category < 2:
            raise RuntimeError(
                "data set to a tensor that requires gradients must be floating point or complex "
                "dtype"
            )
        if modes.current.levels and type(self._storage.cell) in KINDS:
            self._storage.cell.check_data(written=True)
        modes.running_capture().data_write(self, value)
        old, storage, view = self._storage, value._storage, value._view
        if old.is_placed and not storage.is_placed and old.shape == value.shape:
            storage, view = old.alike(value._read()), None  # what has a place on a mesh keeps it
        old.abandoned = True
        modes.epoch.advance()
        self._storage, self._view = storage, view
        if self._inference is not value._inference:
            self._inference = value._inference

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    __hash__ = object.__hash__

    # -- pickles -----------------------------------------------------------------------------------

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[object, ...]:
        modes.running_capture().refuse_value("pickle", "saving outside the jitted function")
        # The whole storage goes along, once however many tensors share it, and a result comes back
        # as a leaf, as in PyTorch: a pruned module, which holds one, can be pickled.
        state = self.__getstate__()
        return _rebuild, (type(self), self._storage, self._view, self.requires_grad, state)

    def __getstate__(self) -> Any:
        """Return what was set on the tensor: its attributes, or None. Where its class has slots,
        these and the slots that are filled."""
        own = {k: v for k, v in whole_dict(self).items() if k not in FIELDS} or None
        names = copyreg._slotnames(type(self))  # type: ignore[attr-defined]
        slots = {name: getattr(self, name) for name in names if hasattr(self, name)}
        return (own, slots) if slots else own


# `__torch_function__` and errors call an accessor by the name of its function.
for _name, _value in vars(Tensor).items():
    _function: Any = _value.fget if isinstance(_value, property) else _value
    if getattr(_function, "__name__", "") == "<lambda>":
        _function.__name__, _function.__qualname__ = _name, f"Tensor.{_name}"


def add_method(name: str, function: Any, of: type = Tensor) -> None:
    """Put a method on Tensor, or on another class of a room below. TypeError when the name is
    taken.

    Tensor gets an object of its own: ``__torch_function__`` tells ``torch.add`` from
    ``torch.Tensor.add``.
    """
    if name in of.__dict__:
        raise TypeError(f"{of.__name__}.{name} is defined twice")
    if of is Tensor and isinstance(function, FunctionType):
        function = copy_of(function, name)
        function.__module__, function.__qualname__ = "torchlike", f"Tensor.{name}"
    elif of is Tensor and isinstance(function, property):
        parts: tuple[Any, ...] = (function.fget, function.fset, function.fdel)
        function = property(
            *(copy_of(f, name) if isinstance(f, FunctionType) else f for f in parts),
            doc=function.__doc__,
        )
    setattr(of, name, function)


def all_attributes() -> dict[str, Any]:
    """Return what Tensor and its bases define, by name."""
    bases = reversed(Tensor.__mro__[:-1])
    return {name: value for base in bases for name, value in vars(base).items()}


@functools.cache
def not_converted() -> frozenset[Any]:
    """Return the accessors whose results stay what they are, and are not made a subclass."""
    return frozenset(vars(Tensor)[n].__get__ for n in ("grad",))


def _converted(result: Any, cls: type[Tensor]) -> overrides.Result:
    """Make tensors in a result, also in tuples and lists, instances of a class."""
    if cls is Tensor:
        return result
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else result.as_subclass(cls)  # type: ignore[attr-defined]
    if isinstance(result, (tuple, list)) and not isinstance(result, Size):
        parts = [_converted(r, cls) for r in result]
        return type(result)._make(parts) if hasattr(result, "_make") else type(result)(parts)  # type: ignore[attr-defined]
    return result


def wrap(array: Any) -> Tensor:
    """Return a new tensor on a new storage holding ``array``."""
    if type(array) in CLASS_OF:
        return CLASS_OF[type(array)]._on(array.storage() or Storage(array))
    t = object.__new__(Tensor)  # as `_on` does, without a call
    t._storage = Storage(array)
    return t


def from_jax(array: Any) -> Tensor:
    """Make a tensor with the value of a JAX array (which stays as it is: writes make new arrays),
    or of a NumPy array or number, which is copied.

    Args:
      array: the array, of any shape and of a dtype that PyTorch has.

    Returns:
      a tensor of its shape and dtype, on its device, without history.

    Raises:
      TypeError: no array and no number, or a dtype that PyTorch does not have.

    Example:
      >>> import jax.numpy as jnp
      >>> array = jnp.ones(2, jnp.float32)
      >>> t = torchlike.from_jax(array)
      >>> t.add_(1), array.tolist()
      (tensor([2., 2.]), [1.0, 1.0])
    """
    if not isinstance(array, (jax.Array, np.ndarray, np.generic)):
        raise TypeError(f"from_jax expects a jax.Array or NumPy array, not {type(array).__name__}")
    dtypes.from_numpy_dtype(array.dtype)
    return wrap(array if isinstance(array, jax.Array) else device_array(np.array(array)))


def _checked_dim(dim: SupportsIndex, ndim: int) -> int:
    return errors.wrap_dim(dim.__index__(), ndim)


def _rebuild(
    cls: type[Tensor], storage: Storage, view: View | None, requires_grad: bool, state: object
) -> Tensor:
    """Unpickle a tensor."""
    t = cls._on(storage, view)
    t._requires_grad = requires_grad
    return set_state(t, state)


def set_state(t: Any, state: Any) -> Any:
    """Give ``t`` what ``__getstate__`` told of another tensor, which its class may take in a way of
    its own; return it."""
    if hasattr(t, "__setstate__"):
        t.__setstate__(state)
        return t
    for part in parts_of_state(state):
        for name, value in part.items():
            setattr(t, name, value)
    return t


def parts_of_state(state: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return attributes and slots. RuntimeError for a tuple of another length."""
    if isinstance(state, tuple) and len(state) != 2:
        raise RuntimeError(f"Invalid serialized state: {state}")
    own, slots = state if isinstance(state, tuple) else (state, None)
    return own or {}, slots or {}
