"""Modules that are imported when something is first asked of them.

``import torchlike`` takes what JAX takes and a little more. SciPy, rich, ``jax.extend`` and
``jax.experimental.sparse`` would add half as much again, for what most programs never reach.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any


class LazyModule(ModuleType):
    """Stands for the module ``name``: ``linalg = LazyModule("scipy.linalg")``."""

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(importlib.import_module(self.__name__), attribute)
        setattr(self, attribute, value)  # found directly from now on
        return value
