"""``torch.utils``: data loading, checkpointing, pytrees, tensorboard, hooks and other tools.

Imports `nn` and below. Begin with ``data/`` (docs/design/training.md) or ``checkpoint.py``; pytrees
are `torchlike._runtime.trees`, of which ``_pytree.py`` is PyTorch's place.
"""

from __future__ import annotations

from typing import Any

from torchlike._extensions.swap import swap_tensors
from torchlike._runtime.lazy import submodules as _submodules
from torchlike.utils import _pytree, checkpoint, data, deterministic, dlpack, hooks

__all__ = [
    "_pytree",
    "checkpoint",
    "data",
    "deterministic",
    "dlpack",
    "hooks",
    "set_module",
    "swap_tensors",
]

#: Imported when they are asked for: programs that measure, or report on a machine.
__getattr__ = _submodules(
    __name__, "benchmark", "collect_env", "flop_counter", "model_zoo", "module_tracker"
)


def set_module(obj: Any, mod: str) -> None:
    """Set the module that a class or function says it comes from. Raises TypeError for what is no
    text."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod
