"""What is other while a program is traced: module calls, attributes, and functions in globals.

The names are those of PyTorch's tracer, since libraries with tracers of their own use them.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Collection
from typing import Any

from torchlike.fx.node import Argument
from torchlike.fx.proxy import Proxy
from torchlike.utils import _pytree as pytree

#: (id of a module's globals, a name in them) -> the globals: calls of it become nodes.
_wrapped_fns_to_patch: dict[tuple[int, str], dict[str, Any]] = {}
#: (class, name) of methods whose calls become nodes.
_wrapped_methods_to_patch: list[tuple[type, str]] = []


class _Patcher:
    """Attributes and globals that are others while a program is traced."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._done: set[tuple[int, str]] = set()

    def __enter__(self) -> _Patcher:
        return self

    def __exit__(self, *exc: object) -> None:
        for undo in reversed(self._undo):
            undo()

    def item(self, table: dict[str, Any], name: str, value: Any) -> None:
        """Patch a global of a module; one that did not exist is removed again at the end."""
        missing = object()
        before = table.get(name, missing)
        table[name] = value
        if before is missing:
            self._undo.append(lambda: table.pop(name))
        else:
            self._undo.append(lambda: table.__setitem__(name, before))

    def method(self, cls: type, name: str, value: Any) -> None:
        """Patch an attribute of a class."""
        inherited = name not in vars(cls)
        before = getattr(cls, name)
        setattr(cls, name, value)
        if inherited:
            self._undo.append(lambda: delattr(cls, name))
        else:
            self._undo.append(lambda: setattr(cls, name, before))

    def patch_method(self, cls: type, name: str, new_fn: Any, deduplicate: bool = True) -> None:
        """Patch a `method`, as PyTorch's tracer calls this: one that was patched is patched
        again."""
        self.method(cls, name, new_fn)

    def first_visit(self, table: dict[str, Any]) -> bool:
        """Return whether a module's globals have not been visited yet, and mark them as visited."""
        key = (id(table), "")
        if key in self._done:
            return False
        self._done.add(key)
        return True


def _proxy_in(args: Any, kwargs: Any) -> Proxy | None:
    found: list[Proxy] = []

    def look(a: Any) -> None:
        if isinstance(a, Proxy):
            found.append(a)

    pytree.tree_map(look, (args, kwargs))
    return found[0] if found else None


def _recording(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Argument:
        proxy = _proxy_in(args, kwargs)
        if proxy is None:
            return original(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", original, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    return wrapped


def _recording_method(cls: type, name: str) -> Callable[..., Any]:
    original = getattr(cls, name)

    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Argument:
        proxy = _proxy_in(args, kwargs)
        if proxy is None:
            return original(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return wrapped


def _patch_wrapped_functions(patches: _Patcher) -> None:
    """Have calls of what ``wrap`` named become nodes."""
    for (_, name), own in list(_wrapped_fns_to_patch.items()):
        original = own.get(name, getattr(builtins, name, None))
        if original is not None:
            patches.item(own, name, _recording(original))
    for cls, name in _wrapped_methods_to_patch:
        patches.method(cls, name, _recording_method(cls, name))


def _autowrap_check(
    patches: _Patcher, table: dict[str, Any], function_ids: Collection[int]
) -> None:
    """Have calls of these functions become nodes where a module's globals have them."""
    if not patches.first_visit(table):
        return
    for name, value in list(table.items()):
        if name.startswith("_") or not callable(value):
            continue
        if id(value) in function_ids:
            patches.item(table, name, _recording(value))
