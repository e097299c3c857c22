"""A pass: what takes a module and gives it back changed."""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """The module, and whether the pass changed it."""

    graph_module: Any
    modified: bool


class PassBase(abc.ABC):
    """``pass_(module)`` checks what it requires, calls, and checks what it ensures."""

    def __call__(self, graph_module: Any) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: Any) -> PassResult | None:
        """Run the pass: subclasses implement it."""

    def requires(self, graph_module: Any) -> None:  # noqa: B027
        """Raise where the module is not what the pass needs."""

    def ensures(self, graph_module: Any) -> None:  # noqa: B027
        """Raise where the module is not what the pass should give."""
