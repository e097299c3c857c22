"""Modules without the cost of their initialization."""

from __future__ import annotations

import inspect
from typing import Any

from torchlike.nn.modules.module import Module


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Make ``module_cls(*args, **kwargs)`` with parameters of arbitrary values.

    The module is made on the meta device, so no random numbers are drawn. RuntimeError for what is
    no module class, or takes no ``device``.
    """
    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **kwargs, device="meta").to_empty(device=device)
