"""``torch.overrides``: classes and modes that act in the place of public functions.

Public functions ask once something exists that could be asked: an instance of a Tensor subclass, a
mode, a proxy of ``torch.fx``, or this module, which code with classes of its own imports.
"""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

from torchlike._compat.places import FUNCTIONAL as _FUNCTIONAL
from torchlike._core import modes as _modes
from torchlike._core import overrides as _overrides
from torchlike._core.dispatch.registry import NAMESPACES as _NAMESPACES
from torchlike._core.overrides import Result as _Result
from torchlike._core.overrides import no_function as _no_function
from torchlike._extensions.overrides import code_exchange as _code_exchange
from torchlike._extensions.overrides import protocol as _protocol
from torchlike._runtime.homes import home
from torchlike.tensor import Tensor, not_converted

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "redispatch_function",
    "resolve_name",
    "wrap_torch_function",
]

_overrides.enable()


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Return whether a mode is on, or an argument's class has ``__torch_function__`` and is asked.
    TypeError for what cannot be iterated over."""
    if _overrides.state.off:
        return False
    if not isinstance(relevant_args, Iterable):
        raise TypeError("expected a sequence")
    return bool(_overrides.state.modes or _protocol.overloaded(relevant_args))


def has_torch_function_unary(value: Any) -> bool:
    """Return whether ``has_torch_function`` holds of one argument."""
    return has_torch_function((value,))


def has_torch_function_variadic(*values: Any) -> bool:
    """Return whether ``has_torch_function`` holds of several arguments."""
    return has_torch_function(values)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> _Result:
    """Return the result of the innermost mode, or of the first class that does not decline, for the
    call: subclasses are asked before their bases, else from left to right. TypeError when all
    decline."""
    return _protocol.ask(public_api, _protocol.overloaded(relevant_args), args, kwargs)


def wrap_torch_function(dispatcher: Callable[..., Any]) -> Callable[..., Any]:
    """Return a decorator, whose function first asks the classes of what ``dispatcher(*args)``
    names."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Return whether a value is a Tensor, or its class has ``__torch_function__``."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


# -- modes -----------------------------------------------------------------------------------------


class TorchFunctionMode:
    """``with mode:`` every public function called inside becomes
    ``mode.__torch_function__(func, types, args, kwargs)``, the makers of tensors too.

    Modes nest: the innermost is asked first, and while it runs those around it are. What it calls
    inside goes to them.
    """

    inner: Any = None

    def __init__(self) -> None:
        pass

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> _Result:
        raise NotImplementedError

    def __enter__(self) -> TorchFunctionMode:
        _protocol.push(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _protocol.pop()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TorchFunctionMode:
        """Return an instance, with a warning that ``with Mode():`` is enough."""
        warnings.warn(
            "`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`",
            stacklevel=2,
        )
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that calls the function and nothing else."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> _Result:
        return func(*args, **(kwargs or {}))


def _get_current_function_mode() -> TorchFunctionMode | None:
    modes = _overrides.state.modes
    return modes[-1] if modes else None


def _get_current_function_mode_stack() -> list[TorchFunctionMode]:
    return list(_overrides.state.modes)


def _push_mode(mode: TorchFunctionMode) -> None:
    _protocol.push(mode)


def _pop_mode() -> object:
    return _protocol.pop()


_pop_mode_temporarily = _protocol.popped


class _enable_torch_function(_protocol.EnableTorchFunction):
    """``with _enable_torch_function():`` classes and modes are asked again."""


class enable_reentrant_dispatch(_protocol.EnableTorchFunction):
    """``with enable_reentrant_dispatch():`` inside an implementation, classes are asked again, and
    inside a handler of operators, autograd records as it did outside."""

    def __enter__(self) -> None:
        super().__enter__()
        self._recorded = _modes.current.grad_enabled
        if _overrides.state.outside:
            _modes.current.grad_enabled = _overrides.state.outside[-1]

    def __exit__(self, *exc: object) -> None:
        _modes.current.grad_enabled = self._recorded
        super().__exit__(*exc)


def redispatch_function(
    func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
) -> _Result:
    """Run the call without asking the classes of its arguments."""
    with _overrides.DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


# -- what there is ---------------------------------------------------------------------------------

#: Public functions that ask where a mode is on, but that PyTorch keeps no test for.
_UNTESTED_TEXT = """
    arange as_tensor asarray bartlett_window blackman_window empty empty_permuted empty_quantized
    empty_strided eye fill from_file frombuffer full hamming_window hann_window kaiser_window
    linspace logspace normal ones rand rand_like randint randint_like randn randn_like randperm
    range result_type scalar_tensor sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor
    sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor tensor tril_indices triu_indices vander
    zeros as_strided eig lstsq solve symeig"""
_UNTESTED = frozenset(_UNTESTED_TEXT.split())
#: Attributes of Tensor that PyTorch keeps no test for.
_UNTESTED_ATTRIBUTES_TEXT = """
    new new_empty new_empty_strided new_full new_ones new_tensor new_zeros stride unflatten
    fill to_padded_tensor to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr
    """
_UNTESTED_ATTRIBUTES = frozenset(_UNTESTED_ATTRIBUTES_TEXT.split())


#: The functions that PyTorch has in ``torch.functional``, too.
_IN_FUNCTIONAL = frozenset(_FUNCTIONAL.names)


def _module(space: str) -> ModuleType:
    return sys.modules[f"torchlike.{space}" if space else "torchlike"]


def _public() -> Iterator[tuple[Any, str, str, Any]]:
    """Yield owner (a module, Tensor, or a property), path, name and function of each public
    function that asks."""
    for space, name, function in _code_exchange.functions(_NAMESPACES):
        if not name.startswith("_"):
            yield _module(space), ".".join(filter(None, ("torch", space))), name, function
            if not space and name in _IN_FUNCTIONAL:
                yield import_module("torchlike.functional"), "torch.functional", name, function
    for function in _code_exchange.of_rooms_above():
        room = home(function).partition(".")[2]
        if room in ("nn.init", "_compat.symbolic"):
            path = "nn.init" if room == "nn.init" else ""
            owner = _module(path)
            yield owner, ".".join(filter(None, ("torch", path))), function.__name__, function
    for name, value in _code_exchange.attributes():
        if isinstance(value, property):
            yield value, f"torch.Tensor.{name}", "__get__", value.__get__
            if value.fset is not None:
                yield None, f"torch.Tensor.{name}", "__set__", value.__set__
        else:
            yield Tensor, "torch.Tensor", name, getattr(Tensor, name)


def _silent() -> Iterator[tuple[str, str, Any]]:
    """Yield path, name and function (or class) of each public one that does not ask."""
    asking = {id(f) for _, _, f in _code_exchange.functions(_NAMESPACES)}
    asking.update(map(id, _code_exchange.of_rooms_above()))
    for space in ("", "functional", "nn.functional", "nn.init", "linalg", "fft", "special"):
        there = {**_NAMESPACES.get(space, {}), **vars(_module(space))}
        for name, value in there.items():
            told = name[0].islower() and not name.endswith("_") and callable(value)
            if told and id(value) not in asking:
                yield f"torch.{space}".rstrip("."), name, value


def _is_listed(owner: Any, path: str, name: str) -> bool:
    """Return whether PyTorch counts a function that asks among those it has a test for. In-place
    functions of modules, though they ask, are not among them."""
    if owner is None:
        return False
    if owner is Tensor:
        return name not in _UNTESTED_ATTRIBUTES
    if isinstance(owner, ModuleType):
        return not name.endswith("_") and not (path == "torch" and name in _UNTESTED)
    return True


@functools.cache
def _names() -> dict[Any, str]:
    found: dict[Any, str] = {}
    for _, path, name, function in _public():
        # torch.conv2d is nn.functional.conv2d, and of methods the one with its own name.
        if function not in found or path in ("torch.functional", "torch.nn.functional"):
            found[function] = f"{path}.{name}"
    for path, name, function in _silent():
        found.setdefault(function, f"{path}.{name}")
    for name in _SILENT_ATTRIBUTES:
        found[getattr(Tensor, name)] = f"torch.Tensor.{name}"
    return found


def resolve_name(f: Any) -> str | None:
    """Return the path at which a function is public, as ``torch.Tensor.add``; None for what is
    not."""
    if isinstance(f, str):
        return f
    return _names().get(f)


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """Return the public functions that ask, by module, and Tensor's by class or property."""
    return _overridable()


@functools.cache
def _overridable() -> dict[Any, list[Callable[..., Any]]]:
    found: dict[Any, list[Callable[..., Any]]] = {}
    for owner, path, name, function in _public():
        if _is_listed(owner, path, name):
            found.setdefault(owner, []).append(function)
    return found


#: Attributes of Tensor that do not ask.
_SILENT_ATTRIBUTES_TEXT = """
__hash__ __init__ __new__ __iter__ __delitem__ __init_subclass__ __dir__ __torch_function__
__torch_dispatch__ as_subclass _make_subclass _make_wrapper_subclass _typed_storage
"""
_SILENT_ATTRIBUTES = tuple(_SILENT_ATTRIBUTES_TEXT.split())


@functools.cache
def get_ignored_functions() -> set[Callable[..., Any]]:
    """Return the functions that are never asked for, or that make tensors from none."""
    found = {
        f
        for owner, path, name, f in _public()
        if owner is not None and not name.endswith("_") and not _is_listed(owner, path, name)
    }
    found.update(f for _, _, f in _silent())
    found.update(getattr(Tensor, name) for name in _SILENT_ATTRIBUTES)
    return found


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Return the accessors whose results are not made a subclass."""
    return set(not_converted())


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Return whether a function is a method of Tensor or the accessor of a property of it."""
    return func in _code_exchange.accessors() or getattr(func, "__name__", "") in (
        "__get__",
        "__set__",
    )


@functools.cache
def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return, for each function that asks, one with the same parameters that returns -1."""
    found: dict[Callable[..., Any], Callable[..., Any]] = {}
    for functions in get_overridable_functions().values():
        for function in functions:
            found[function] = _answering(function)
    for function in _code_exchange.of_rooms_above():  # those of nn.init that write
        found.setdefault(function, _answering(function))
    return found


def _answering(function: Any) -> Callable[..., Any]:
    def answer(*args: Any, **kwargs: Any) -> int:
        signature.bind(*args, **kwargs)
        return -1

    try:
        signature = inspect.signature(getattr(function, "__wrapped__", function))
    except (TypeError, ValueError):
        signature = inspect.signature(lambda self, *args: -1)
    answer.__signature__ = signature  # type: ignore[attr-defined]
    assert isinstance(answer, FunctionType)
    return answer


_disabled_torch_function_impl = _no_function
