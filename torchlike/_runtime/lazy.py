"""Modules that are imported when something is first asked of them.

``import torchlike`` takes what JAX takes and a little more. SciPy, rich, ``jax.extend`` and
``jax.experimental.sparse`` would add half as much again, for what most programs never reach.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


class LazyModule(ModuleType):
    """Stands for the module ``name``: ``linalg = LazyModule("scipy.linalg")``."""

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(importlib.import_module(self.__name__), attribute)
        setattr(self, attribute, value)  # found directly from now on
        return value


def submodules(package: str, *names: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package that imports these of its modules when somebody asks
    for them as attributes."""

    def __getattr__(name: str) -> Any:
        if name in names:
            return importlib.import_module(f"{package}.{name}")
        module = sys.modules[package]
        raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=module)

    return __getattr__
