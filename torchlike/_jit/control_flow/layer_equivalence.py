"""Layer equivalence: compares layers in all but the values of their parameters and buffers.

What a layer's code could read is compared: plain values, containers, functions with their closures,
submodules, and names, shapes and flags of tensors. What cannot be compared counts as different.
"""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np

from torchlike._jit.guards.values import VALUES, describe, same
from torchlike.tensor import Tensor

_TENSORS = ("_parameters", "_buffers")
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_METHODS = (types.MethodType, types.BuiltinMethodType)


def is_module(x: Any) -> bool:
    """Return whether an object is a torchlike module (nn stands above this room)."""
    return "_parameters" in getattr(x, "__dict__", ())


def difference(a: Any, b: Any, path: str) -> str:
    """Describe what first tells ``b`` from ``a``, in words, places named from ``path``; "" for
    nothing."""
    return _Comparison().of(a, b, path)


class _Comparison:
    def __init__(self) -> None:
        #: Pairs under comparison or found alike: objects may refer to each other.
        self._seen: dict[tuple[int, int], tuple[Any, Any]] = {}

    def of(self, a: Any, b: Any, path: str) -> str:
        if a is b or same(a, b):
            return ""
        if type(a) is not type(b) or isinstance(a, VALUES):
            return f"{path} is {describe(a)} in one and {describe(b)} in the other"
        if (id(a), id(b)) in self._seen:
            return ""
        self._seen[(id(a), id(b))] = a, b
        if is_module(a):
            return self._modules(a, b, path)
        if isinstance(a, Tensor):
            return f"{path} is a tensor of its own in each layer: register it as a buffer"
        if isinstance(a, (list, tuple)):
            if len(a) != len(b):
                return f"{path} has {len(a)} elements in one and {len(b)} in the other"
            pairs = enumerate(zip(a, b, strict=True))
            return _first(self.of(x, y, f"{path}[{i}]") for i, (x, y) in pairs)
        if isinstance(a, dict):
            return self._spaces(a, b, lambda name: f"{path}[{name!r}]", path)
        if isinstance(a, types.FunctionType):
            return self._functions(a, b, path)
        if isinstance(a, _METHODS):
            if getattr(a, "__func__", a.__name__) != getattr(b, "__func__", b.__name__):
                return f"{path} is another method in each"
            return self.of(a.__self__, b.__self__, f"{path}.__self__")
        if isinstance(a, functools.partial):
            parts = ("func", "args", "keywords")
            return _first(self.of(getattr(a, p), getattr(b, p), f"{path}.{p}") for p in parts)
        if isinstance(a, np.ndarray):
            alike = a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
            return "" if alike else f"{path} is a NumPy array of other contents in each"
        if isinstance(a, (set, frozenset)) or type(a).__eq__ is not object.__eq__:
            return "" if bool(a == b) else f"{path} is {describe(a)} in one, {describe(b)} in other"
        if hasattr(a, "__dict__") and not hasattr(type(a), "__slots__"):
            return self._spaces(a.__dict__, b.__dict__, lambda name: f"{path}.{name}", path)
        return f"{path} is an object of its own in each, {describe(a)}, that cannot be compared"

    def _spaces(self, a: Any, b: Any, label: Any, path: str) -> str:
        if list(a) != list(b):
            odd = next(iter(set(a) ^ set(b)), None)
            what = "is in another order" if odd is None else f"has {odd!r} in only one of them"
            return f"{path} {what}"
        return _first(self.of(a[name], b[name], label(name)) for name in a)

    def _functions(self, a: Any, b: Any, path: str) -> str:
        if a.__code__ is not b.__code__ or a.__qualname__ != b.__qualname__:
            return f"{path} is another function in each"
        found = self.of(a.__defaults__, b.__defaults__, f"{path}.__defaults__")
        found = found or self.of(a.__kwdefaults__, b.__kwdefaults__, f"{path}.__kwdefaults__")
        cells = zip(a.__code__.co_freevars, a.__closure__ or (), b.__closure__ or (), strict=True)
        return found or _first(
            self.of(x.cell_contents, y.cell_contents, f"`{name}` in the closure of {path}")
            for name, x, y in cells
        )

    def _modules(self, a: Any, b: Any, path: str) -> str:
        for m in (a, b):
            if any(m.__dict__.get(name) for name in _HOOKS):
                return f"{path} has hooks"
        for table in _TENSORS:
            found = _tables(a.__dict__[table], b.__dict__[table], path)
            if found:
                return found
        skipped = (*_TENSORS, *_HOOKS)
        first, second = ({k: v for k, v in m.__dict__.items() if k not in skipped} for m in (a, b))
        modules = first.pop("_modules"), second.pop("_modules")
        # Attributes may have been set in another order.
        second = {k: second[k] for k in first if k in second} | second
        return self._spaces(first, second, lambda name: f"{path}.{name}", path) or self._spaces(
            *modules, lambda name: f"{path}.{name}", path
        )


def _tables(a: dict[str, Any], b: dict[str, Any], path: str) -> str:
    if list(a) != list(b):
        return f"the parameters or buffers of {path} are {list(a)} in one and {list(b)} in another"
    for name, x in a.items():
        y = b[name]
        if _kind(x) != _kind(y):
            return f"{path}.{name} is {_kind(x)} in one and {_kind(y)} in the other"
    return ""


def _kind(t: Any) -> str:
    """Describe what a program depends on of a parameter or buffer."""
    if t is None:
        return "None"
    flag = ", requires_grad" if t.requires_grad else ""
    return f"{type(t).__name__} {list(t.shape)} of {t.dtype}{flag}"


def _first(found: Any) -> str:
    return next((text for text in found if text), "")
