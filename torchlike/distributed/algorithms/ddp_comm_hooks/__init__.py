"""Communication hooks of DistributedDataParallel."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable
from typing import Any

from torchlike.distributed.algorithms.ddp_comm_hooks import (
    debugging_hooks,
    default_hooks,
    post_localSGD_hook,
    powerSGD_hook,
)

__all__ = [
    "DDPCommHookType",
    "debugging_hooks",
    "default_hooks",
    "post_localSGD_hook",
    "powerSGD_hook",
    "register_ddp_comm_hook",
]


def _plain(hook: Callable[..., Any], model: Any, state: Any) -> None:
    model.register_comm_hook(state, hook)


def _power(hook: Callable[..., Any], rank: int, model: Any, state: Any) -> None:
    model.register_comm_hook(
        powerSGD_hook.PowerSGDState(state, matrix_approximation_rank=rank), hook
    )


class DDPCommHookType(enum.Enum):
    """The hooks by name: ``DDPCommHookType.NOOP.value(model=ddp, state=None)`` registers one."""

    ALLREDUCE = enum.member(functools.partial(_plain, default_hooks.allreduce_hook))
    FP16_COMPRESS = enum.member(functools.partial(_plain, default_hooks.fp16_compress_hook))
    BF16_COMPRESS = enum.member(functools.partial(_plain, default_hooks.bf16_compress_hook))
    POWER_SGD = enum.member(functools.partial(_power, powerSGD_hook.powerSGD_hook, 1))
    POWER_SGD_RANK2 = enum.member(functools.partial(_power, powerSGD_hook.powerSGD_hook, 2))
    BATCHED_POWER_SGD = enum.member(
        functools.partial(_power, powerSGD_hook.batched_powerSGD_hook, 1)
    )
    BATCHED_POWER_SGD_RANK2 = enum.member(
        functools.partial(_power, powerSGD_hook.batched_powerSGD_hook, 2)
    )
    NOOP = enum.member(functools.partial(_plain, debugging_hooks.noop_hook))


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Register a hook by its name. ``state`` is a process group, None for the world."""
    comm_hook_type.value(model=model, state=state)
