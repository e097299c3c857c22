"""What a module of torch_xla's says of names that are not here."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from typing import NoReturn


def absent(module: str) -> Callable[[str], NoReturn]:
    """Return ``__getattr__`` for a module: AttributeError for private names, which Python and
    libraries ask for, and NotImplementedError for the rest."""

    def missing(name: str) -> NoReturn:
        own = f"torchlike.porting.{module}"
        is_module = "__path__" in vars(sys.modules[own]) and importlib.util.find_spec(
            f"{own}.{name}"
        )
        if name.startswith("_") or is_module:  # of a module not imported yet, Python goes on to
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        raise NotImplementedError(
            f"{module}.{name} is not supported: torchlike runs torch_xla scripts by PyTorch's own "
            "names (torch.jit.jit or torch.compile for a step, torch.distributed for processes, "
            "torch.distributed.tensor for shardings)"
        )

    return missing
