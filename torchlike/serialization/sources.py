"""The source of a module's class, which files before PyTorch 1.6 have beside its parameters."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

_OURS = __name__.partition(".")[0]


class SourceChangeWarning(Warning):
    """Tells that a class is not what it was when the file was saved."""


def class_of_file(cls: Any, file: Any = None, source: Any = None) -> Any:
    """Return the class that a file names with its source, and warn where the class that is here has
    another: a user's, for torchlike's own differ from PyTorch's anyway."""
    if file and source and getattr(cls, "__module__", "").partition(".")[0] != _OURS:
        try:
            now = inspect.getsource(cls)
        except (OSError, TypeError):
            warnings.warn(
                f"Couldn't retrieve source code for container of type {cls.__name__}. It won't be "
                "checked for correctness upon loading.",
                stacklevel=2,
            )
            return cls
        if now != source:
            warnings.warn(
                f"source code of class '{cls.__module__}.{cls.__qualname__}' has changed. The file "
                f"was saved with that of {file}; it is in the file, as text.",
                SourceChangeWarning,
                stacklevel=2,
            )
    return cls
