"""``torch._C._nn``: how the arguments of ``Module.to`` are read; functions such as ``gelu``, which
models that PyTorch saved whole name by this place."""

from __future__ import annotations

from typing import Any

from torchlike._core.dispatch.registry import NAMESPACES as _NAMESPACES
from torchlike._ops.creation.conversion import wanted_by_to as _wanted_by_to

__all__ = ["_parse_to"]


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """Return (device, dtype, non_blocking, memory_format) that the arguments of ``to`` name, None
    for what they do not. TypeError for anything else, RuntimeError for ``copy``."""
    dtype, device, copy, memory_format = _wanted_by_to(args, kwargs)
    if copy:
        raise RuntimeError(".to() does not accept copy argument")
    waits = bool(kwargs.get("non_blocking", next((a for a in args if isinstance(a, bool)), False)))
    return device, dtype, waits, memory_format


def __getattr__(name: str) -> Any:
    name = {"log_sigmoid": "logsigmoid"}.get(name, name)
    found = _NAMESPACES["nn.functional"].get(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return found
