"""``torch.overrides``: which functions would ask an argument's class to act in their place.

Differs from PyTorch: ``__torch_function__`` is not called by torchlike's functions. The protocol is
here for libraries that use it themselves: ``has_torch_function`` and ``handle_torch_function``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from torchlike._compat.unsupported import Gap as _Gap
from torchlike._compat.unsupported import raising as _raising
from torchlike._core.tensor import Tensor
from torchlike._core.tensor import no_protocol as _no_protocol
from torchlike._dispatch.registry import NAMESPACES as _NAMESPACES

__all__ = [
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]


def _overrides(value: Any) -> bool:
    """Whether its class has the protocol, and is not Tensor itself or without one of its own."""
    return getattr(type(value), "__torch_function__", None) not in (None, _no_protocol)


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether an argument's class has ``__torch_function__``."""
    return any(_overrides(value) for value in relevant_args)


def has_torch_function_unary(value: Any) -> bool:
    """The same of one argument."""
    return _overrides(value)


def has_torch_function_variadic(*values: Any) -> bool:
    """The same of several."""
    return has_torch_function(values)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """What the first class that does not decline makes of the call: subclasses are asked before
    their bases, else from left to right. TypeError when all decline."""
    asked: list[Any] = []
    for value in relevant_args:
        if not _overrides(value) or type(value) in map(type, asked):
            continue
        # Before the first of its bases, so that a subclass can override what they do.
        at = next((i for i, other in enumerate(asked) if issubclass(type(value), type(other))),
                  len(asked))  # fmt: skip
        asked.insert(at, value)
    types = tuple(type(value) for value in asked)
    for value in asked:
        result = value.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = f"{public_api.__module__}.{public_api.__name__}"
    raise TypeError(
        f"no implementation found for '{name}' on types that implement __torch_function__: "
        f"{list(types)}"
    )


def wrap_torch_function(dispatcher: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator: the function asks the classes of what ``dispatcher(*args)`` names first."""

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
    """Whether it is a Tensor, or its class has ``__torch_function__``."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether it is an attribute of Tensor."""
    name = getattr(func, "__name__", None)
    if isinstance(func, property):
        return any(value is func for value in Tensor.__dict__.values())
    return name is not None and Tensor.__dict__.get(name) is func


def resolve_name(f: Any) -> str | None:
    """Where a function is public, ``torch.Tensor.add``; its own text for what torchlike lacks."""
    for space, table in _NAMESPACES.items():
        if table.get(getattr(f, "__name__", "")) is f:
            return ".".join(part for part in ("torch", space, f.__name__) if part)
    if is_tensor_method_or_property(f) and hasattr(f, "__name__"):
        return f"torch.Tensor.{f.__name__}"
    return None if f is None else str(f)


@functools.cache
def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The public functions by namespace: none of them asks, but all have tensors as arguments."""
    found: dict[Any, list[Callable[..., Any]]] = {
        f"torch.{space}" if space else "torch": list(table.values())
        for space, table in _NAMESPACES.items()
    }
    found[Tensor] = [v for n, v in vars(Tensor).items() if callable(v) and not n.startswith("_")]
    return found


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Those that PyTorch never gives away: they make tensors from none, or ask about settings."""
    names = ("arange", "as_tensor", "empty", "eye", "from_numpy", "full", "is_storage", "is_tensor",
             "linspace", "logspace", "ones", "promote_types", "rand", "randint", "randn",
             "randperm", "range", "scalar_tensor", "tensor", "tril_indices", "triu_indices",
             "zeros")  # fmt: skip
    return {_NAMESPACES[""][name] for name in names if name in _NAMESPACES[""]}


def get_default_nowrap_functions() -> set[Any]:
    """Accessors whose results are not made a subclass."""
    return {vars(Tensor)[n] for n in ("grad", "_base", "_grad") if n in vars(Tensor)}


_MODE = _Gap(
    "torchlike's functions call no __torch_function__",
    "a function of your own around them, torch.library.custom_op, or torchlike.jit.explain to see "
    "what runs",
)
globals().update({name: _raising(f"overrides.{name}", _MODE) for name in (
    "TorchFunctionMode", "BaseTorchFunctionMode", "get_testing_overrides",
    "enable_reentrant_dispatch", "redispatch_function")})  # fmt: skip
