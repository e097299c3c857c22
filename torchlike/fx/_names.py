"""What targets are called in graphs: PyTorch's qualified names of public functions."""

from __future__ import annotations

import builtins
import functools
import inspect
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._extensions.overrides import python_signatures
from torchlike._ops.aten.custom import HigherOrderOperator, OpOverload, OpOverloadPacket
from torchlike._runtime.homes import home
from torchlike.tensor import all_attributes

#: Functions of torch.nn.functional that are PyTorch's compiled core's own.
_OF_THE_CORE = {
    **{
        name: f"torch._C._nn.{name}"
        for name in (
            "avg_pool2d",
            "avg_pool3d",
            "elu_",
            "gelu",
            "hardtanh_",
            "leaky_relu_",
            "linear",
            "one_hot",
            "scaled_dot_product_attention",
            "softplus",
            "softshrink",
        )
    },
    "logsigmoid": "torch._C._nn.log_sigmoid",
    "threshold": "torch.nn.functional._threshold",
}
#: Functions of torch that stand in torch.functional: those written in Python, but for two in
#: torch._lowrank; and one that takes no tensors.
_IN_FUNCTIONAL = python_signatures.names("") - {"pca_lowrank", "svd_lowrank"} | {"broadcast_shapes"}
_PREFIXES = {
    "linalg": "torch._C._linalg.linalg_",
    "fft": "torch._C._fft.fft_",
    "special": "torch._C._special.special_",
}


@functools.cache
def _public_names() -> dict[Any, str]:
    found: dict[Any, str] = {}
    for space in ("", "linalg", "fft", "special", "nn.functional"):
        for name, function in NAMESPACES[space].items():
            if space in _PREFIXES:
                path = _PREFIXES[space] + name
            elif space:
                path = _OF_THE_CORE.get(name, f"torch.{space}.{name}")
            else:
                path = f"torch.functional.{name}" if name in _IN_FUNCTIONAL else f"torch.{name}"
            found.setdefault(function, path)
    return found


@functools.cache
def _methods() -> dict[Any, str]:
    return {f: name for name, f in all_attributes().items() if inspect.isfunction(f)}


def qualified_name(function: Callable[..., Any]) -> str:
    """Return the path of a function: "torch.add", "operator.getitem", "getattr" of a builtin."""
    if isinstance(function, (OpOverload, OpOverloadPacket)):
        return f"torch.ops.{function}"
    if isinstance(function, HigherOrderOperator):
        return f"torch.ops.higher_order.{function}"
    name = getattr(function, "__name__", None)
    if name is None:
        raise RuntimeError(f"the target {function!r} has no name")
    if getattr(builtins, name, None) is function:
        return name
    try:
        public = _public_names().get(function)
        if public is None and function in _methods():
            public = f"torch.Tensor.{_methods()[function]}"
    except TypeError:
        public = None
    if public is not None:
        return public
    if name == "<lambda>":
        try:
            name = inspect.getsource(function).split("=")[0].strip()
        except (OSError, TypeError) as error:
            raise RuntimeError("Unable to represent lambda") from error
    module = getattr(function, "__module__", None) or ""
    module = re.sub(r"^torchlike\b", "torch", module)
    return f"{module}.{name}"


def short_name(target: Any) -> str:
    """Return the last part of a target's name, as nodes take theirs from it."""
    try:
        public = _public_names().get(target)
    except TypeError:
        public = None
    return public.rsplit(".", 1)[-1] if public else target.__name__


def is_ours(value: Any) -> bool:
    """Return whether generated code reaches a value by its path from ``torch``."""
    if isinstance(value, (OpOverload, OpOverloadPacket, HigherOrderOperator)):
        return True
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0] == "torchlike"
    try:
        if value in _public_names() or value in _methods():
            return True
    except TypeError:
        return False
    module = getattr(value, "__module__", None)
    if module == type(value).__module__:  # what asks its class
        value = type(value)
    return home(value).partition(".")[0] == "torchlike"


def snake_case(name: str) -> str:
    """Convert ``maxPool`` to ``max_pool``."""
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()
