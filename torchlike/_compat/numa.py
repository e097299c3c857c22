"""``torch.numa.binding``: which processors a launched process is bound to. The operating system
chooses them here."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class AffinityMode(enum.StrEnum):
    """To what a process is bound."""

    NODE = "node"
    SOCKET = "socket"
    EXCLUSIVE = "exclusive"
    CORE_COMPLEX = "core-complex"


@dataclass(frozen=True)
class NumaOptions:
    """What a launcher is told of binding."""

    affinity_mode: AffinityMode
    should_fall_back_if_binding_fails: bool = False
