"""``torch.backends.xnnpack``: XLA brings its own kernels."""

from __future__ import annotations

import sys
import types
from typing import Any

__all__ = ["enabled"]

enabled: bool


class _Engine(types.ModuleType):
    @property
    def enabled(self) -> bool:
        """False. RuntimeError for who assigns it, as in PyTorch."""
        return False

    @enabled.setter
    def enabled(self, value: Any) -> None:
        raise RuntimeError("Assignment not supported")


sys.modules[__name__].__class__ = _Engine
