"""``torch.fx._compatibility``: marks of what PyTorch promises to keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: What was marked as kept, and all that was marked. The keys count.
_BACK_COMPAT_OBJECTS: dict[Any, None] = {}
_MARKED_WITH_COMPATIBILITY: dict[Any, None] = {}


def compatibility(is_backward_compatible: bool) -> Callable[[Any], Any]:
    """Return a decorator that records whether a function or class is kept as it is."""

    def mark(marked: Any) -> Any:
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS.setdefault(marked)
        _MARKED_WITH_COMPATIBILITY.setdefault(marked)
        return marked

    return mark
