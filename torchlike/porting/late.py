"""Modules that are loaded once an alias is there, by whatever import of the package's."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _LateLoading(threading.local):
    """How many imports of the package's are under way in a thread, and what they have loaded."""

    def __init__(self) -> None:
        self.depth = 0
        self.names: list[str] = []


_loading = _LateLoading()


def watched(
    fullname: str,
    path: Sequence[str] | None,
    target: ModuleType | None,
    asking: Any,
    tell: Callable[[Mapping[str, ModuleType]], None],
) -> ModuleSpec | None:
    """Return the spec that the finders behind one find for a module, with a loader that tells of
    the modules once the outermost import has loaded them; None where there is no such module."""
    behind = sys.meta_path[sys.meta_path.index(asking) + 1 :]
    found = (finder.find_spec(fullname, path, target) for finder in behind)
    spec = next((spec for spec in found if spec is not None), None)
    execute = getattr(spec and spec.loader, "exec_module", None)
    if spec is None or execute is None:
        return spec

    def exec_module(module: ModuleType) -> None:
        _loading.depth += 1
        try:
            execute(module)
            _loading.names.append(fullname)
        finally:
            _loading.depth -= 1
            if not _loading.depth:
                names, _loading.names = _loading.names, []
                if asking in sys.meta_path:  # the alias may have been taken back
                    tell({name: sys.modules[name] for name in names if name in sys.modules})

    spec.loader.exec_module = exec_module  # type: ignore[method-assign,union-attr]
    return spec
