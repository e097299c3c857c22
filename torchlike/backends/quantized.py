"""``torch.backends.quantized``: which library PyTorch asks for products of quantized numbers."""

from __future__ import annotations

import sys
import types
from typing import Any

from torchlike._core.errors import warn_once

__all__ = ["engine", "supported_engines"]

_SUPPORTED = ("qnnpack", "onednn", "x86", "fbgemm")

engine: str
supported_engines: list[str]


class _Engines(types.ModuleType):
    """``engine`` is kept and changes nothing: XLA multiplies. What a PyTorch for x86 supports may
    be chosen; RuntimeError for others."""

    _chosen = "x86"

    @property
    def engine(self) -> str:
        return self._chosen

    @engine.setter
    def engine(self, value: Any) -> None:
        if value in ("none", "", None):
            raise RuntimeError("quantized engine NoQEngine is not supported")
        if value not in _SUPPORTED:
            raise RuntimeError(f"{value} is not a valid value for quantized engine")
        if value != self._chosen:
            warn_once(
                "torch.backends.quantized.engine changes nothing: XLA multiplies here",
                UserWarning,
                stacklevel=2,
            )
        self.__dict__["_chosen"] = value

    @property
    def supported_engines(self) -> list[str]:
        return list(_SUPPORTED)

    @supported_engines.setter
    def supported_engines(self, value: Any) -> None:
        raise RuntimeError("Assignment not supported")


sys.modules[__name__].__class__ = _Engines
