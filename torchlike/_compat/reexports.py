"""Makes classes importable from the modules in which PyTorch has them.

Whole models in checkpoints name their classes by that place, and some scripts import from it.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def reexport(package: str, places: dict[str, tuple[Any, ...]]) -> None:
    """Make classes importable from the submodules of a package that PyTorch has them in.

    places: submodule of the package -> its classes. Those submodules that we lack are made. The
    classes say from then on that they come from there, so that pickles name PyTorch's place.
    """
    for submodule, classes in places.items():
        name = f"{package}.{submodule}"
        module = sys.modules.get(name)
        if module is None:
            module = sys.modules[name] = ModuleType(name, "A place PyTorch keeps classes in.")
            module.__spec__ = ModuleSpec(name, None)
            setattr(sys.modules[package], submodule, module)
        for cls in classes:
            setattr(module, cls.__name__, cls)
            cls.__module__ = name
