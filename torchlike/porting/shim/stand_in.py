"""What ``import torch`` runs where the shim is installed."""

from __future__ import annotations

import sys

from torchlike.porting import aliases, compiled, torch_alias
from torchlike.porting.allocator import tune_allocator


def take_the_name(name: str) -> None:
    """Put torchlike in the place of the module ``name``, which is being imported, and let every
    ``torch.x.y`` be found in it; ready the process as ``torchlike run`` does.

    Children need not be told: they find the shim as this process did.

    Raises:
        ValueError: ``TORCHLIKE_COMPILE`` is none of the modes there are.
    """
    shim = sys.modules.pop(name)
    tune_allocator()
    compiled.apply(compiled.mode_from_environment())
    torch_alias.alias_functorch()
    loader = aliases.install(is_installed=True).find_spec(name).loader  # type: ignore[union-attr]
    loader.exec_module(shim)  # type: ignore[union-attr]
