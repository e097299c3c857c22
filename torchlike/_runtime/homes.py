"""Classes that say they come from ``torch`` where that name means torchlike, and where they stand.

Libraries look classes up by ``__module__``: autoray takes a tensor's library from it, Keras finds a
DataLoader by it. Code that asks whether a class is torchlike's own asks `home`.
"""

from __future__ import annotations

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
