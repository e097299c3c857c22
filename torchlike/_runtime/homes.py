"""Classes that say they come from ``torch`` where that name means torchlike, and where they stand.

Libraries look classes up by ``__module__``: autoray takes a tensor's library from it, Keras finds a
DataLoader by it. Code that asks whether a class is torchlike's own asks `home`. Functions go on
saying torchlike: graphs and `torch.overrides` print PyTorch's name anyway, and what is told by a
function's module of PyTorch's differs from function to function (`torch`, `torch._C._nn`,
`torch._C._linalg`). Files name them as PyTorch does (`place_of_function`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from torchlike._runtime.patches.registry import Patch

#: id of a class -> the module in which it stands. The classes live as long as the process.
_HOMES: dict[int, str] = {}


def home(cls: type) -> str:
    """Return the module in which a class stands, whatever it says."""
    return _HOMES.get(id(cls)) or str(cls.__module__)


def show(patch: Patch, cls: type, place: str) -> None:
    """Let a class of torchlike's say that it comes from a module of PyTorch's, until the patch is
    taken back."""
    _HOMES.setdefault(id(cls), str(cls.__module__))
    patch.replace(cls, "__module__", place)


def place_of_function(function: Callable[..., Any]) -> str | None:
    """Return the module of PyTorch's by which a file names a function of torchlike's beside classes
    that say torch; None where ``torch`` means something else, or has no such function."""
    ours = sys.modules.get("torchlike")
    package, _, rest = str(function.__module__).partition(".")
    if package != "torchlike" or ours is None or sys.modules.get("torch") is not ours:
        return None
    if rest.startswith(("_", "interop", "porting")):
        return None
    module = sys.modules.get(function.__module__)
    found = vars(module).get(function.__qualname__) if module is not None else None
    return f"torch.{rest}".rstrip(".") if found is function else None
