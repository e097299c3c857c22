"""``torch.utils.hooks``: the handle that registering a hook gives, and hooks that are not saved."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from torchlike._core.tape import RemovableHandle

F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f: F) -> F:
    """Mark a hook as one that is lost in files, so that saving its tensor does not warn."""
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f


def warn_if_has_hooks(tensor: Any) -> None:
    """Warn of each of a tensor's hooks that a file will not have."""
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, "
                "you can decorate the function with @torch.utils.hooks.unserializable_hook to "
                "suppress this warning",
                stacklevel=2,
            )
