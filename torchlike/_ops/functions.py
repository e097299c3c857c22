"""The registered functions as attributes, for rooms that are written in the public API itself.

``functions.zeros_like`` is ``torchlike.zeros_like``; the functions of other namespaces are under
their names (``functions.linalg.qr``, ``functions.special.xlogy``, ``functions.nn_functional``).
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from torchlike import _ops as ops  # noqa: F401 - registers them
from torchlike._core.dispatch.registry import NAMESPACES

linalg: Any = SimpleNamespace(**NAMESPACES["linalg"])
special: Any = SimpleNamespace(**NAMESPACES["special"])
nn_functional: Any = SimpleNamespace(**NAMESPACES["nn.functional"])


def __getattr__(name: str) -> Any:
    try:
        found = NAMESPACES[""][name]
    except KeyError:
        raise AttributeError(f"torchlike has no function '{name}'") from None
    globals()[name] = found
    return found
