"""Communication hooks of DistributedDataParallel."""

from __future__ import annotations

import enum
import functools
from typing import Any

from torchlike.distributed.algorithms.ddp_comm_hooks import debugging_hooks, default_hooks

__all__ = ["DDPCommHookType", "debugging_hooks", "default_hooks", "register_ddp_comm_hook"]


class DDPCommHookType(enum.Enum):
    """The hooks by name."""

    ALLREDUCE = functools.partial(default_hooks.allreduce_hook)
    FP16_COMPRESS = functools.partial(default_hooks.fp16_compress_hook)
    BF16_COMPRESS = functools.partial(default_hooks.bf16_compress_hook)
    NOOP = functools.partial(debugging_hooks.noop_hook)


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Register a hook by its name."""
    model.register_comm_hook(state, comm_hook_type.value)
