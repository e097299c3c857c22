"""``torch._library.simple_registry``: by which libraries ask whether an operator has a fake."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike.library import registration

__all__ = ["FakeImplHolder", "SimpleLibraryRegistry", "SimpleOperatorEntry", "singleton"]


class FakeImplHolder:
    """An operator's fake, as it is at the moment."""

    def __init__(self, qualname: str) -> None:
        self.qualname = qualname

    @property
    def kernel(self) -> Callable[..., Any] | None:
        """What the operator does with fake tensors; None where nothing was registered."""
        try:
            operator = registration.lookup(self.qualname)
        except (AttributeError, RuntimeError, ValueError):
            return None
        return operator.kernels.get("meta")


class SimpleOperatorEntry:
    """What is registered for an operator beside its kernels."""

    def __init__(self, qualname: str) -> None:
        self.qualname = qualname
        self.fake_impl = FakeImplHolder(qualname)

    @property
    def abstract_impl(self) -> FakeImplHolder:
        """The older name of ``fake_impl``."""
        return self.fake_impl


class SimpleLibraryRegistry:
    """Finds an operator's entry by its name, ``"namespace::name"``."""

    def __init__(self) -> None:
        self._data: dict[str, SimpleOperatorEntry] = {}

    def find(self, qualname: str) -> SimpleOperatorEntry:
        """Return the operator's entry, of one that is not there yet, too."""
        return self._data.setdefault(qualname, SimpleOperatorEntry(qualname))


singleton = SimpleLibraryRegistry()
