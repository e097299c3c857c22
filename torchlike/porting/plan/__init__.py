"""``torchlike.plan`` and ``torchlike plan``: steps compiled for machines that are not here."""

from __future__ import annotations

from torchlike.porting.plan.meshes import device_mesh
from torchlike.porting.plan.planning import plan

__all__ = ["device_mesh", "plan"]
