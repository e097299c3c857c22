"""`ModuleFallback` compiles the modules of a function that cannot be compiled whole."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from torchlike._core import modes, tape
from torchlike._jit.fallback import replay

#: Modules of one function that have programs of their own at most; the oldest is forgotten.
_MOST = 256
#: Stands for what calls a module that runs eagerly.
_EAGER = object()


class ModuleFallback:
    """What compiles the modules called by a function that runs eagerly.

    A module is compiled at its second call (one made for a single call never is) by a
    ``JitFunction`` that falls back in its turn: what is in the way ends up alone. The library's own
    modules without others inside (``Linear``, ``ReLU``) stay eager: they are one op.
    """

    def __init__(
        self, whole: Any, compile: Callable[[Any], Any], tell: Callable[[Any, str], None]
    ) -> None:
        """Begin with no modules seen. ``tell`` hears of modules that run eagerly after all, and
        why."""
        #: The function itself, where it is a module: not a part.
        self._whole = whole
        self._compile = compile
        self._tell = tell
        #: Modules called so far, by their ids; they live no longer for it.
        self._seen: dict[int, weakref.ref[Any]] = {}
        #: What calls them from the second time on, which holds them.
        self._compiled: dict[int, Any] = {}

    def run(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function eagerly; modules that it calls ask for ``compiled``."""
        return _with(self, fn, args, kwargs)

    def compiled(self, module: Any) -> Any:
        """Return the compiled module that is to be called (by ``call``) in the place of a module,
        or None for the module itself."""
        if module is self._whole or not module._is_worth_compiling():
            return None
        # A checkpoint compares what its two runs save: both are eager.
        if tape.saving.hooks or modes.current.backward_pass is not None:
            return None
        key = id(module)
        found = self._compiled.get(key)
        if found is _EAGER:
            return None
        if found is None:
            seen = self._seen.get(key)
            if seen is None or seen() is not module:
                _keep(self._seen, key, weakref.ref(module))
                return None
            found = self._compile(module)
            _keep(self._compiled, key, found)
        return found

    def call(self, compiled: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a compiled module: what it calls in its turn is part of it."""
        module = compiled._fn

        def leave_eager() -> None:
            _keep(self._compiled, id(module), _EAGER)
            self._tell(module, replay.WHY)

        return replay.replayable(
            module,
            lambda: _with(None, compiled, args, kwargs),
            lambda: module(*args, **kwargs),
            leave_eager,
            (args, kwargs),
        )


def _keep(table: dict[int, Any], key: int, value: Any) -> None:
    if len(table) >= _MOST:
        table.pop(next(iter(table)), None)
    table[key] = value


def _with(
    fallback: ModuleFallback | None,
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    before, modes.current.module_fallback = modes.current.module_fallback, fallback
    try:
        return fn(*args, **kwargs)
    finally:
        modes.current.module_fallback = before
