"""``torch.fx.experimental``: graphs of operators, and questions about shapes, which are plain
numbers here."""

import importlib as _importlib
from typing import Any as _Any

from torchlike.fx.experimental import symbolic_shapes as symbolic_shapes


def __getattr__(name: str) -> _Any:
    """Import ``proxy_tensor`` when it is first asked for."""
    if name == "proxy_tensor":
        return _importlib.import_module(f"{__name__}.proxy_tensor")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
