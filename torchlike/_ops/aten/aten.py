"""``torch.ops.aten``: the registered functions by the names PyTorch's dispatcher has for them.

``aten.add``, ``aten.add.Tensor``, ``aten.linalg_inv.default``: whatever the overload, it is the one
function, which takes all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike._core.tensor import Tensor
from torchlike._dispatch.registry import NAMESPACES

#: Prefixes that aten has instead of namespaces.
_PREFIXES = {"linalg_": "linalg", "special_": "special", "fft_": "fft"}


class Packet:
    """A function with its overloads as attributes: ``packet.default``, ``packet.Tensor``, …"""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self._name = name
        self._function = function
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if "self" in kwargs:  # the dispatcher's name of the first argument
            args = (kwargs.pop("self"), *args)
        return self._function(*args, **kwargs)

    def __getattr__(self, overload: str) -> Packet:
        if overload.startswith("__"):
            raise AttributeError(overload)
        return self

    def __repr__(self) -> str:
        return f"<aten.{self._name}>"


def _found(name: str) -> Callable[..., Any] | None:
    for prefix, space in _PREFIXES.items():
        if name.startswith(prefix):
            return NAMESPACES[space].get(name.removeprefix(prefix))
    for space in ("aten", "", "nn.functional"):
        if name in NAMESPACES[space]:
            return NAMESPACES[space][name]
    return _functional_form(name) or getattr(Tensor, name, None)


def _functional_form(name: str) -> Callable[..., Any] | None:
    """``aten.exponential(x)`` from ``x.exponential_()``: of a copy."""
    method = getattr(Tensor, f"{name}_", None)
    if method is None or hasattr(Tensor, name):
        return None

    def form(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return method(input.clone(), *args, **kwargs)

    form.__doc__ = f"``{name}_`` on a copy."
    return form


_PACKETS: dict[str, Packet] = {}


def __getattr__(name: str) -> Packet:
    if name.startswith("__"):
        raise AttributeError(name)
    if name not in _PACKETS:
        function = _found(name)
        if function is None:
            raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{name}'")
        _PACKETS[name] = Packet(name, function)
    return _PACKETS[name]
