"""Modules of settings, such as ``torch._dynamo.config``: attributes that exist, and ``patch``."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any


class ConfigModule(ModuleType):
    """A module whose settings can be read and set. AttributeError for any other name."""

    _settings: frozenset[str]
    _effects: Mapping[str, Callable[[Any], object]]
    _known_as: str | None

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("__") and name not in self._settings:
            raise AttributeError(f"{self._name()}.{name} does not exist")
        super().__setattr__(name, value)
        if name in self._effects:
            self._effects[name](value)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self._name()}.{name} does not exist")

    def _name(self) -> str:
        return self._known_as or self.__name__.replace("torchlike", "torch", 1)

    @contextlib.contextmanager
    def patch(
        self, changes: str | dict[str, Any] | None = None, value: Any = None, **named: Any
    ) -> Iterator[None]:
        """Change settings for as long as a ``with`` block or a decorated function runs: given as a
        name and a value, as a dictionary or by keyword."""
        given = {changes: value} if isinstance(changes, str) else changes or {}
        wanted = {**given, **named}
        before = {name: getattr(self, name) for name in wanted}
        try:
            for name, new in wanted.items():
                setattr(self, name, new)
            yield
        finally:
            for name, old in before.items():
                setattr(self, name, old)

    def get_config_copy(self) -> dict[str, Any]:
        """Return all settings with their present values."""
        return {name: getattr(self, name) for name in sorted(self._settings)}


def install_config_module(
    module: ModuleType | str,
    effects: Mapping[str, Callable[[Any], object]] | None = None,
    known_as: str | None = None,
) -> None:
    """Make a ConfigModule of the module (or of the module of this name); its public attributes
    that are no modules, classes or functions are the settings. ``effects`` are called with the
    new value of a setting. ``known_as`` is its name in errors, where that is not the module's."""
    if isinstance(module, str):
        module = sys.modules[module]
    names = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not isinstance(value, ModuleType)
        and not callable(value)
        and name != "annotations"
    ]
    module.__dict__["_settings"] = frozenset(names)
    module.__dict__["_effects"] = effects or {}
    module.__dict__["_known_as"] = known_as
    module.__class__ = ConfigModule
