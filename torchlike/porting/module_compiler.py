"""Compiles whole modules of a script that asks for nothing: each outermost call of a module."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from torchlike._jit.call.fallback import WHY


@dataclass
class ModuleCompiler:
    """Replaces ``module_class.__call__``; a module inside another is part of its program.

    A module that cannot be compiled, because its Python code needs a value, is left eager from then
    on, and ``left_eager`` says why: a script that runs must go on running.

    Attributes:
      errors: what the compiler raises for code that needs a value.
      save_random_state: gives a function that puts back the state of the random generators which
        compiling may move.
      call: makes a compiled call of a module: (module, call, the same eagerly, what to do where its
        graph has to be eager after all, arguments).
      runs_eagerly: whether calls are eager now, whatever module is called.
      called: the classes of the modules that were called by the script itself.
    """

    module_class: type
    compile: Callable[[Any], Callable[..., Any]]
    errors: tuple[type[Exception], ...]
    save_random_state: Callable[[], Callable[[], None]]
    call: Callable[..., Any] = field(default=lambda module, call, *more: call())
    runs_eagerly: Callable[[], bool] = field(default=lambda: False)
    left_eager: dict[str, str] = field(default_factory=dict)
    called: set[str] = field(default_factory=set)
    _compiled: WeakKeyDictionary[Any, Callable[..., Any]] = field(default_factory=WeakKeyDictionary)
    _thread: threading.local = field(default_factory=threading.local)

    def install(self) -> None:
        eager = self.module_class.__call__

        @functools.wraps(eager)
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            if getattr(self._thread, "inside", False) or self.runs_eagerly():
                return eager(module, *args, **kwargs)
            self._thread.inside = True
            try:
                return self._call(eager, module, args, kwargs)
            finally:
                self._thread.inside = False

        self.module_class.__call__ = call  # type: ignore[method-assign]

    def _call(
        self,
        eager: Callable[..., Any],
        module: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        compiled = self._compiled.get(module)
        if compiled is None:
            compiled = self._compiled[module] = self.compile(module)
            self.called.add(type(module).__name__)
        if compiled is module:
            return eager(module, *args, **kwargs)
        restore_random_state = self.save_random_state()

        def again() -> Any:
            self._thread.inside, before = True, getattr(self._thread, "inside", False)
            try:
                return eager(module, *args, **kwargs)
            finally:
                self._thread.inside = before

        def leave_eager() -> None:
            self._leave(module, WHY)

        try:
            return self.call(
                module, lambda: compiled(*args, **kwargs), again, leave_eager, (args, kwargs)
            )
        except self.errors as error:
            restore_random_state()
            self._leave(module, _first_line(error))
            return eager(module, *args, **kwargs)

    def _leave(self, module: Any, why: str) -> None:
        """Leave a module eager from now on."""
        self._compiled[module] = module
        self.left_eager.setdefault(type(module).__name__, why)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
