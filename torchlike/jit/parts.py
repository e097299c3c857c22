"""A function that cannot be compiled whole, in parts: each module that it calls is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike import modes

#: Modules of one function that have programs of their own at most; the oldest is forgotten.
_MOST = 256


class Parts:
    """What compiles the modules called by a function that runs eagerly.

    A module is compiled at its second call (one made for a single call never is) by a
    ``JitFunction`` that falls back in its turn: what is in the way ends up alone. The library's own
    modules without others inside (``Linear``, ``ReLU``) stay eager: they are one op.
    """

    def __init__(self, whole: Any, compile: Callable[[Any], Any]) -> None:
        #: The function itself, where it is a module: not a part.
        self._whole = whole
        self._compile = compile
        #: Modules called so far, by their ids, with what calls them compiled from the second on.
        self._known: dict[int, tuple[Any, Any]] = {}

    def run(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function eagerly; modules that it calls ask ``takes``."""
        return _with(self, fn, args, kwargs)

    def takes(self, module: Any) -> bool:
        """Whether a module is to be called by ``call``."""
        if module is self._whole or not module._is_worth_compiling():
            return False
        if id(module) in self._known:
            return True
        if len(self._known) >= _MOST:
            del self._known[next(iter(self._known))]
        self._known[id(module)] = module, None
        return False

    def call(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The module's call, compiled."""
        _, compiled = self._known[id(module)]
        if compiled is None:
            compiled = self._compile(module)
            self._known[id(module)] = module, compiled
        return _with(None, compiled, args, kwargs)


def _with(
    parts: Parts | None, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    before, modes.current.parts = modes.current.parts, parts
    try:
        return fn(*args, **kwargs)
    finally:
        modes.current.parts = before
