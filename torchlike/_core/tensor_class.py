"""The metaclass of Tensor, which registers its subclasses as they are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torchlike._core import protocol
from torchlike._core.methods import TensorMethods
from torchlike._core.storage import Storage
from torchlike._core.subclasses import class_made
from torchlike._core.views import View

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from torchlike._core import devices, dtypes
    from torchlike._core.layouts import layout
    from torchlike._core.size import Size
    from torchlike.tensor import Tensor

#: Exact classes that dispatch treats as tensors; subclasses add themselves. A set look-up is
#: twice as fast as isinstance on the per-op path.
TENSOR_TYPES: set[type] = set()
#: The classes of tensors whose storages hold something other than an array.
CLASS_OF: dict[type, type[Tensor]] = {}


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
        _about_to_write_data: Callable[[], None]

        @property
        def dtype(self) -> dtypes.dtype: ...
        @property
        def device(self) -> devices.device: ...
        @property
        def shape(self) -> Size: ...
        @property
        def layout(self) -> layout: ...
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


class _BaseOfViews:
    """``Tensor._base``, as libraries compare it with the function they are asked about. (On a
    tensor it is a plain attribute.)"""

    def __get__(self, tensor: Tensor | None, owner: type | None = None) -> object:
        return self if tensor is None else tensor._base


_base_of_views = _BaseOfViews()


class TensorMeta(type):
    """Note what each subclass of Tensor overrides, for dispatch and for ``isinstance``."""

    #: Tensor itself, the first class made.
    root: Any = None

    _base = property(lambda cls: _base_of_views)

    def __new__(
        mcs,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        cell: type | None = None,
        **kwargs: Any,
    ) -> Any:
        """Make a subclass of Tensor and note what it overrides. ``cell``: what the storages of this
        class hold, where that is no array."""
        cls: Any = super().__new__(mcs, name, bases, namespace, **kwargs)
        mcs.root = mcs.root or cls
        TENSOR_TYPES.add(cls)
        asked = cls.__torch_function__ is not protocol.no_protocol
        handles = getattr(cls, "__torch_dispatch__", protocol.no_dispatch)
        asked = asked or handles is not protocol.no_dispatch
        ours = namespace.get("__module__", "").partition(".")[0] == "torchlike"
        said = {n for base in cls.__mro__ if base.__name__ != "Tensor" for n in vars(base)}
        if not asked or (ours and not {"__torch_function__", "__torch_dispatch__"} & said):
            protocol.PLAIN.add(cls)
        else:
            cls._on = classmethod(_on_with_overrides)
            if handles is not protocol.no_dispatch:
                cls._handles = True
                # A class that says what operators do has no part in functions unless it says so.
                said_function = getattr(cls.__torch_function__, "__func__", None)
                if said_function is vars(mcs.root)["__torch_function__"].__func__:
                    cls.__torch_function__ = protocol.no_protocol
        if cell is not None:
            CLASS_OF[cell] = cls
        class_made(cls)
        return cls

    def __init__(
        cls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        cell: type | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name, bases, namespace)


def _on_with_overrides(cls: Any, storage: Storage, view: View | None = None) -> Any:
    """Make a tensor as ``Tensor._on`` does, of a class that may be asked before a public function
    runs, and have public functions ask from now on."""
    protocol.wake()
    if cls._handles:
        protocol.start_dispatch()
    return TensorMeta.root._on.__func__(cls, storage, view)
