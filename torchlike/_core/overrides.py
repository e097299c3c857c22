"""Overrides: whether classes and modes may act in a public function's place; the metaclass of
Tensor, which notes what a class overrides as it is made.

Nothing of it is on an op's path until something exists that could be asked. Then `enable` has the
code of every public function exchanged for one that asks first. Who is asked, and how, is known in
``torchlike/_extensions/overrides/``; here stands what the classes of tensors and the op path need
of it. State is kept for each thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from types import EllipsisType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from torchlike._core import modes
from torchlike._runtime.provided import Provided, Signal, class_made

if TYPE_CHECKING:
    from torchlike._core.storage import Storage
    from torchlike._core.views import View
    from torchlike.tensor import Tensor

#: What a call of a public function gives: a tensor, a tuple of them, a number, a size.
Result = Any
#: The code of such a function.
Function = Callable[..., Result]


class _State(threading.local):
    def __init__(self) -> None:
        #: The modes that are on, innermost last.
        self.modes: list[Any] = []
        #: Whether nobody is asked, and whether the classes of arguments are not.
        self.off = False
        self.subclasses_off = False
        #: The modes with ``__torch_dispatch__`` that are on, innermost last.
        self.dispatch_modes: list[Any] = []
        #: Whether classes with ``__torch_dispatch__`` are not asked.
        self.dispatch_off = False
        #: What was recorded outside of each handler of operators that runs, innermost last.
        self.outside: list[bool] = []
        #: Whether kernels for the key Autograd are passed over: they are what is running.
        self.below_autograd = False
        #: Whether a mode of either kind is on.
        self.busy = False


state = _State()

#: Exact classes of arguments that have nothing to say: a set look-up. Tensor's own classes join.
PLAIN: set[type] = {
    int,
    float,
    bool,
    complex,
    str,
    bytes,
    type(None),
    slice,
    EllipsisType,
    type,
    FunctionType,
    MethodType,
    ModuleType,
    type(len),
}

# -- whether anybody is asked ----------------------------------------------------------------------

enabled = Signal("public functions ask from now on whether a class or mode overrides them")
_are_enabled = False


def enable() -> None:
    """Let public functions ask from now on. Called before anything that could be asked exists."""
    global _are_enabled
    if not _are_enabled:
        _are_enabled = True
        enabled()


def disable() -> None:
    """Have ``enable`` act again, for `code_exchange.undo`."""
    global _are_enabled
    _are_enabled = False


def are_enabled() -> bool:
    """Return whether public functions ask the classes of their arguments."""
    return _are_enabled


#: ``dispatch(public, plain, args, kwargs)``: a public function's call below ``__torch_function__``,
#: where classes or modes have ``__torch_dispatch__``. Set by the room that knows aten's operators.
dispatch: Function | None = None
dispatcher = Provided("gives `dispatch` once a class or mode has __torch_dispatch__")


def start_dispatch() -> None:
    """Let ``__torch_dispatch__`` be asked from now on."""
    global dispatch
    if dispatch is None and dispatcher.is_provided:
        dispatch = dispatcher()


def modes_changed() -> None:
    """Note that a mode was switched on or off."""
    state.busy = modes.current.seen_by_mode = bool(state.modes or state.dispatch_modes)


# -- arguments that are no tensors -----------------------------------------------------------------

#: What the error of an argument notes whose class will be asked: an op is called again.
_UNASKED = (
    "It has __torch_function__, which is asked from the next call on; import torch.overrides to "
    "have it asked from the start"
)
#: Functions of ops that are not public themselves: filled as overrides are enabled.
not_public: set[object] = set()


def is_unasked(error: TypeError) -> bool:
    """Return whether the error is of an argument that is no tensor and whose class is to be asked,
    met before anything had enabled overrides."""
    return _UNASKED in getattr(error, "__notes__", ())


def no_tensor(value: object, message: str) -> TypeError:
    """Return the error for an argument that should be a tensor, with PyTorch's ``message``."""
    error = TypeError(message)
    if meets_first(value):
        error.add_note(_UNASKED)
    return error


def meets_first(value: object) -> bool:
    """Return whether a value's class is to be asked, and nothing has enabled overrides before;
    enable them then. Who got the value calls its public function again."""
    if _are_enabled or not has_function(type(value)):
        return False
    enable()
    return True


is_asked_now = Provided("says whether a call that failed is to be made again, asking")
is_outermost = Provided("says whether no public function stands between a frame and the user's")


# -- classes ---------------------------------------------------------------------------------------


def has_function(kind: type) -> bool:
    """Return whether a class has a ``__torch_function__`` that is asked."""
    if kind in PLAIN:
        return False
    return getattr(kind, "__torch_function__", None) not in (None, no_function)


class _NoFunction:
    """No function, since those would take the instance they are looked up on as an argument."""

    __name__ = "_disabled_torch_function_impl"

    def __call__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[object, ...] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> Result:
        with DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))


#: What a class says for ``__torch_function__`` that wants no part in it: functions run as they do
#: on plain tensors, and give plain tensors.
no_function = _NoFunction()


class _NoDispatch:
    __name__ = "_disabled_torch_dispatch_impl"

    def __call__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[object, ...] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> Result:
        with DisableTorchDispatch(), DisableTorchFunctionSubclass(), modes.unrecorded():
            return func(*args, **(kwargs or {}))


#: What a class says for ``__torch_dispatch__`` that has no part in it. Called, as by
#: ``super().__torch_dispatch__``, it runs the operator on the tensors' own memory.
no_dispatch = _NoDispatch()

# -- regions in which fewer are asked --------------------------------------------------------------


class Disabling:
    """Set a field of ``state`` to True within a ``with`` block."""

    _field = ""

    def __enter__(self) -> None:
        self._previous = getattr(state, self._field)
        setattr(state, self._field, True)

    def __exit__(self, *exc: object) -> None:
        setattr(state, self._field, self._previous)


class DisableTorchFunctionSubclass(Disabling):
    """``with DisableTorchFunctionSubclass():`` classes of arguments are not asked; modes are."""

    _field = "subclasses_off"


class without_dispatch_modes:
    """``with without_dispatch_modes():`` no mode is asked with ``__torch_dispatch__``."""

    def __enter__(self) -> None:
        self._previous = state.dispatch_modes
        if self._previous:
            state.dispatch_modes = []
            modes_changed()

    def __exit__(self, *exc: object) -> None:
        if self._previous:
            state.dispatch_modes = self._previous
            modes_changed()


class DisableTorchDispatch:
    """``with DisableTorchDispatch():`` neither classes of arguments nor modes are asked with
    ``__torch_dispatch__``."""

    def __enter__(self) -> None:
        self._previous = state.dispatch_off, state.dispatch_modes
        state.dispatch_off, state.dispatch_modes = True, []
        modes_changed()

    def __exit__(self, *exc: object) -> None:
        state.dispatch_off, state.dispatch_modes = self._previous
        modes_changed()


# -- the classes of tensors ------------------------------------------------------------------------

#: Exact classes that dispatch treats as tensors; subclasses add themselves. A set look-up is
#: twice as fast as isinstance on the per-op path.
TENSOR_TYPES: set[type] = set()
#: The classes of tensors whose storages hold something other than an array.
CLASS_OF: dict[type, type[Tensor]] = {}


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
        **kwargs: object,
    ) -> Any:
        """Make a subclass of Tensor and note what it  ``cell``: what the storages of this
        class hold, where that is no array."""
        if mcs.root is not None:  # ahead of what a base that is no tensor has
            namespace = {"__dict__": vars(mcs.root)["__dict__"], **namespace}
        cls: Any = super().__new__(mcs, name, bases, namespace, **kwargs)
        mcs.root = mcs.root or cls
        TENSOR_TYPES.add(cls)
        asked = cls.__torch_function__ is not no_function
        handles = getattr(cls, "__torch_dispatch__", no_dispatch)
        asked = asked or handles is not no_dispatch
        ours = namespace.get("__module__", "").partition(".")[0] == "torchlike"
        said = {n for base in cls.__mro__ if base.__name__ != "Tensor" for n in vars(base)}
        if not asked or (ours and not {"__torch_function__", "__torch_dispatch__"} & said):
            PLAIN.add(cls)
        else:
            cls._on = classmethod(_on_with_overrides)
            if handles is not no_dispatch:
                cls._handles = True
                # A class that says what operators do has no part in functions unless it says so.
                said_function = getattr(cls.__torch_function__, "__func__", None)
                if said_function is vars(mcs.root)["__torch_function__"].__func__:
                    cls.__torch_function__ = no_function
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
        **kwargs: object,
    ) -> None:
        super().__init__(name, bases, namespace)


def _on_with_overrides(cls: Any, storage: Storage, view: View | None = None) -> Any:
    """Make a tensor as ``Tensor._on`` does, of a class that may be asked before a public function
    runs, and have public functions ask from now on."""
    enable()
    if cls._handles:
        start_dispatch()
    return TensorMeta.root._on.__func__(cls, storage, view)
