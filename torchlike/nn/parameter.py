"""Parameters and buffers: the tensors that a module registers when they become its attributes."""

from __future__ import annotations

from typing import Any, Self

import jax
import numpy as np

from torchlike._core import errors, modes
from torchlike._core.dispatch.copying import array_to_device
from torchlike._core.dtypes import get_default_dtype
from torchlike._core.overrides import TENSOR_TYPES, has_function, no_function
from torchlike._ops.creation.conversion import clone
from torchlike._ops.creation.wrap_result import finish
from torchlike.tensor import FIELDS, Tensor, wrap


def _empty() -> Tensor:
    return finish(jax.device_put(np.empty(0, get_default_dtype().numpy)))


def _of_subclass(data: Tensor, requires_grad: Any) -> Any:
    """Return a parameter of another class of tensors, made by its ``detach()``. Raises RuntimeError
    where that gives another class."""
    made: Any = data.detach()  # type: ignore[attr-defined]
    if type(made) is not type(data):
        raise RuntimeError(
            "Creating a Parameter from an instance of type "
            f"{type(data).__name__} requires that detach() returns an instance of the same type, "
            f"but return type {type(made).__name__} was found instead. To use the type as a "
            "Parameter, please correct the detach() semantics defined by its __torch_dispatch__() "
            "implementation."
        )
    vars(made)["_is_param"] = True
    return made.requires_grad_(bool(requires_grad))


class _ParameterMeta(type(Tensor)):
    """``isinstance(t, Parameter)`` also for a tensor subclass that was made a parameter."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return (
            cls is Parameter
            and isinstance(instance, Tensor)
            and ("_is_param" in instance._whole_dict)
        )


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that a module counts among its parameters.

    Shares the memory of ``data``. Of a tensor subclass, ``Parameter(data)`` keeps the class.

    Args:
      data: a tensor of any shape.
      requires_grad: whether gradients reach it.

    Raises:
      RuntimeError: a dtype without gradients, unless ``requires_grad=False``.

    Example:
      >>> torch.nn.Parameter(torch.zeros(2))
      Parameter containing:
      tensor([0., 0.], requires_grad=True)
    """

    __module__ = "torchlike.nn.parameter"
    _is_param: bool = True
    __torch_function__: Any = no_function

    def __new__(cls, data: Any = None, requires_grad: Any = True, **fields: Any) -> Self:
        # Code that makes a Parameter of another's class and ``__dict__`` hands over what is empty
        # in PyTorch, and here holds a tensor's fields.
        if not fields.keys() <= FIELDS:
            name = next(name for name in fields if name not in FIELDS)
            raise TypeError(f"Parameter.__new__() got an unexpected keyword argument '{name}'")
        if data is None:
            data = _empty()
        elif not isinstance(data, Tensor):
            raise TypeError(
                f"Parameter() expects a torch.Tensor, not {type(data).__name__}; make one with "
                "torch.tensor(data)"
            )
        if data.is_sparse:
            raise NotImplementedError(
                "Parameter() of a sparse tensor: make one of its values() and the tensor in forward"
            )
        if requires_grad and data.dtype.category < 2:
            raise RuntimeError(errors.FLOAT_ONLY_GRAD)
        if requires_grad and data._inference and not modes.current.inference:
            raise RuntimeError(errors.INFERENCE_GRAD)
        if data._handles or has_function(type(data)):  # its class says what a tensor of it is
            return _of_subclass(data, requires_grad)
        own = cls if type(data) in (Tensor, Parameter) else type(data)
        self = own._on(data._storage, data._view)
        self._requires_grad = bool(requires_grad)
        if data._inference:
            self._inference = True
        modes.running_capture().adopt_view(self)
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        if id(self) not in memo:
            # Parameters are copied one by one (what shared memory does not share it any more), and
            # without their gradients.
            copied = clone(self.data)
            if self._storage.is_placed:
                copied._storage = self._storage.alike(copied._read())
            elif not self.is_cpu:
                # Two cells may hold one array; but of parameters that do, a first step's program is
                # another than later ones'.
                copied = wrap(array_to_device(copied._read(), self.device))
            memo[id(self)] = type(self)(copied, self.requires_grad)
        return memo[id(self)]


class _BufferMeta(type(Tensor)):
    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return (
            cls is Buffer
            and isinstance(instance, Tensor)
            and ("_is_buffer" in instance._whole_dict)
        )


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that a module counts among its buffers when it becomes an attribute.

    ``Buffer(data, persistent=True)`` gives a plain tensor on ``data``'s memory with a mark that
    ``Module.__setattr__`` looks for.
    """

    __module__ = "torchlike.nn.parameter"

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Tensor:
        source = _empty() if data is None else data
        if source._handles:  # what is inside comes along with detach() alone
            marked: Any = source.detach()
        else:  # a parameter's buffer is a plain tensor
            kind = Tensor if isinstance(type(source), _ParameterMeta) else type(source)
            marked = kind._on(source._storage, source._view)
        marked._requires_grad = source.requires_grad
        marked.persistent = persistent
        marked._is_buffer = True
        modes.running_capture().adopt_view(marked)
        return marked


class UninitializedTensorMixin(Tensor):
    """What parameters and buffers have in common that wait for their shape.

    Until then only their dtype and device are known. RuntimeError for whatever needs a shape,
    ValueError for operations.
    """

    #: What one becomes.
    cls_to_become: type[Tensor]

    @classmethod
    def _waiting(cls, requires_grad: Any, device: Any, dtype: Any) -> Self:
        kind = get_default_dtype() if dtype is None else dtype
        held: Any = finish(jax.device_put(np.empty(0, kind.numpy)), device)
        self = cls._on(held._storage)
        self._requires_grad = bool(requires_grad)
        return self

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become an ordinary parameter or buffer of this shape (or length), holding zeros.

        Refused in a function that is being compiled, which would do it at each call.
        """
        modes.running_capture().refuse(
            "materialize()", "one call of the module before it is compiled"
        )
        kind = self.dtype if dtype is None else dtype
        values = jax.device_put(np.zeros(shape, kind.numpy))
        self.data = finish(values, device or self.device)
        self.__class__ = self.cls_to_become  # type: ignore[assignment]

    @property
    def shape(self) -> Any:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually "
            "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
            "initialized one. Call `forward` to initialize the parameters before accessing their "
            "attributes."
        )

    def share_memory_(self) -> Self:
        """Raise RuntimeError: there is nothing to share yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to "
            "initialize the parameters before calling `module.share_memory()`."
        )

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape a lazy module finds out at its first input."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad: Any = True, device: Any = None, dtype: Any = None) -> Self:
        return cls._waiting(requires_grad, device, dtype)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return UninitializedParameter, (self.requires_grad, str(self.device), self.dtype)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape a lazy module finds out at its first input."""

    __module__ = "torchlike.nn.parameter"
    cls_to_become = Tensor
    persistent: bool
    _is_buffer: bool

    def __new__(
        cls,
        requires_grad: Any = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> Any:
        self = cls._waiting(requires_grad, device, dtype)
        self.persistent, self._is_buffer = persistent, True
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        if id(self) not in memo:
            memo[id(self)] = type(self)(
                self.requires_grad, self.device, self.dtype, self.persistent
            )
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return UninitializedBuffer, (self.requires_grad, str(self.device), self.dtype)


TENSOR_TYPES.difference_update(  # no op takes one
    (UninitializedTensorMixin, UninitializedParameter, UninitializedBuffer)
)


def is_lazy(t: Any) -> bool:
    """Return whether a parameter or a buffer is still without a shape."""
    return isinstance(t, UninitializedTensorMixin)
