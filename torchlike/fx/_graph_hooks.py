"""Functions that a GraphModule calls as nodes of its graph are made, replaced and erased."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any


class GraphHooks:
    """What GraphModule has of hooks. Each is called as the change happens, and a copy has the same
    ones. AssertionError for a hook that cannot be called.

    Attributes:
      _replace_hooks: called with ``old=`` (a node), ``new=`` (a name) and ``user=``, the node that
        used the old.
      _deepcopy_hooks: called with a copy of the module.
    """

    _replace_hooks: list[Callable[..., object]]
    _create_node_hooks: list[Callable[[Any], object]]
    _erase_node_hooks: list[Callable[[Any], object]]
    _deepcopy_hooks: list[Callable[[Any], object]]

    def _start_hooks(self) -> None:
        self._replace_hooks, self._create_node_hooks = [], []
        self._erase_node_hooks, self._deepcopy_hooks = [], []

    @contextlib.contextmanager
    def _set_replace_hook(self, f: Callable[..., object]) -> Iterator[None]:
        """Register a hook on replacements for a `with` block."""
        if not callable(f):
            raise AssertionError("Replace hook must be a callable.")
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)

    def _register_replace_node_hook(self, f: Callable[..., object]) -> None:
        self._replace_hooks.append(_callable(f, "create_node"))

    def _unregister_replace_node_hook(self, f: Callable[..., object]) -> None:
        self._replace_hooks.remove(_callable(f, "create_node"))

    def _register_create_node_hook(self, f: Callable[[Any], object]) -> None:
        self._create_node_hooks.append(_callable(f, "create_node"))

    def _unregister_create_node_hook(self, f: Callable[[Any], object]) -> None:
        self._create_node_hooks.remove(_callable(f, "create_node"))

    def _register_erase_node_hook(self, f: Callable[[Any], object]) -> None:
        self._erase_node_hooks.append(_callable(f, "erase_node"))

    def _unregister_erase_node_hook(self, f: Callable[[Any], object]) -> None:
        self._erase_node_hooks.remove(_callable(f, "erase_node"))

    def _register_deepcopy_hook(self, f: Callable[[Any], object]) -> None:
        self._deepcopy_hooks.append(_callable(f, "deepcopy"))

    def _unregister_deepcopy_hook(self, f: Callable[[Any], object]) -> None:
        self._deepcopy_hooks.remove(_callable(f, "deepcopy"))


def _callable(f: Any, which: str) -> Any:
    if not callable(f):
        raise AssertionError(f"{which} hook must be a callable.")
    return f
