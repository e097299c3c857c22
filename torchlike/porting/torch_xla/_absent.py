"""What a module of torch_xla's says of names that it has not got yet, or that are not here."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from typing import Any


def absent(module: str) -> Callable[[str], Any]:
    """Return ``__getattr__`` for a module: its submodules, which ``import torch_xla`` reaches too;
    AttributeError for private names, which Python and libraries ask for, and NotImplementedError
    for the rest."""

    def missing(name: str) -> Any:
        own = f"torchlike.porting.{module}"
        if name.startswith("_"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        if hasattr(sys.modules[own], "__path__") and importlib.util.find_spec(f"{own}.{name}"):
            return importlib.import_module(f"{own}.{name}")
        raise NotImplementedError(
            f"{module}.{name} is not supported: torchlike runs torch_xla scripts by PyTorch's own "
            "names (torch.jit.jit or torch.compile for a step, torch.distributed for processes, "
            "torch.distributed.tensor for shardings)"
        )

    return missing
