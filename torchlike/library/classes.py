"""``torch.classes``: classes that libraries register in C++, of which there are none here."""

import os
from typing import Any

#: The libraries loaded: none.
loaded_libraries: set[str] = set()


def load_library(path: str) -> None:
    """Raise NotImplementedError: a C++ library for PyTorch needs PyTorch. OSError where there is
    none."""
    if not os.path.exists(path):
        raise OSError(f"Could not load this library: {path}")
    raise NotImplementedError(
        f"torch.classes.load_library({path!r}): classes of C++ libraries need PyTorch itself. Use "
        "instead: a Python class, and torch.library.custom_op for operators"
    )


class _ClassNamespace:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(
            f"Tried to instantiate class '{self._name}.{name}', but it does not exist! Ensure that "
            "it is registered via torch::class_"
        )


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return _ClassNamespace(name)
