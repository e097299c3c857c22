"""Modules whose attributes are flags, and ``disable_global_flags``, after which assigning one is a
mistake."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator
from typing import Any

_frozen = False


def disable_global_flags() -> None:
    """Freeze flags for the rest of the process: they are set in regions only
    (``torch.backends.cudnn.flags(…)``); assigning one is a RuntimeError."""
    global _frozen
    _frozen = True


def flags_frozen() -> bool:
    """Return whether ``disable_global_flags`` was called."""
    return _frozen


class FlagModule(types.ModuleType):
    """A module whose attributes named by ``_FLAGS`` are flags; ``_on_set(name, value)``, where the
    module has it, is called for those that are set."""

    def __setattr__(self, name: str, value: Any) -> None:
        if _frozen and name in vars(self)["_FLAGS"]:
            raise RuntimeError(
                f"not allowed to set torch{self.__name__.removeprefix('torchlike')} flags after "
                "disable_global_flags; please use flags() context manager instead"
            )
        super().__setattr__(name, value)
        if "_on_set" in vars(self):
            vars(self)["_on_set"](name, value)


@contextlib.contextmanager
def region(variables: dict[str, Any], values: dict[str, Any]) -> Iterator[None]:
    """Have a module's ``variables`` at these values in a ``with`` block."""
    before = {name: variables[name] for name in values}
    on_set = variables.get("_on_set", lambda name, value: None)
    try:
        for name, value in values.items():
            variables[name] = value
            on_set(name, value)
        yield
    finally:
        for name, value in before.items():
            variables[name] = value
            on_set(name, value)
