"""``torch.numa.binding``: which processors a launched process is bound to. The operating system
chooses them here."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class AffinityMode(enum.StrEnum):
    """Names what a process is bound to."""

    NODE = "node"
    SOCKET = "socket"
    EXCLUSIVE = "exclusive"
    CORE_COMPLEX = "core-complex"


@dataclass(frozen=True)
class NumaOptions:
    """Tells a launcher how to bind."""

    affinity_mode: AffinityMode
    should_fall_back_if_binding_fails: bool = False
